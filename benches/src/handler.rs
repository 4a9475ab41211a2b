//! An annotated axum handler beside the plain one, and beside the plain one behind tower_governor.
//!
//! The load comes from tasks beside the servers, on the two threads of one runtime. Two servers that were the same differed by 0.3 %
//! so, in 21 rounds of a fifth of a second; by 2 % with a thread for the load alone, and by 1 % with `wrk`, whose ratios were no other.

mod load;
mod route;

use tokio::runtime::{Builder, Runtime};

use self::load::{Server, nanoseconds};
use crate::measure::alternate;
use crate::row::{Row, Table, Unit};

/// How much is measured.
struct Extent {
    /// Over each connection.
    requests: u64,
    /// Without connections.
    calls: u64,
    rounds: usize,
}

pub fn run(brief: bool, table: &Table) {
    let extent = match brief {
        true => Extent {
            requests: 50,
            calls: 1_000,
            rounds: 3,
        },
        false => Extent {
            requests: 250,
            calls: 5_000,
            rounds: 151,
        },
    };
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_io().build();
    let runtime = runtime.expect("a runtime starts");
    over_http(&extent, &runtime, table);
    in_process(&extent, &runtime, table);
}

fn over_http(extent: &Extent, runtime: &Runtime, table: &Table) {
    let routes = [route::annotated(), route::plain(), route::tower_governor()];
    let [annotated, plain, governor] = routes.map(|route| Server::start(route, runtime));
    let rate = |server: &Server| server.rate(extent.requests, runtime);
    // At least 0.95 of the plain handler's.
    for (peer, name, goal) in [(&plain, "plain", 1.0526), (&governor, "tower_governor", 1.0)] {
        let medians = alternate(extent.rounds, || rate(&annotated), || rate(peer));
        let name = format!("handler, {name}, over HTTP");
        table.add(&Row::new(name, Unit::Rate("req/s"), medians, extent.rounds).goal(goal));
    }
}

/// From the router on: without what any server does, which is most of the work.
fn in_process(extent: &Extent, runtime: &Runtime, table: &Table) {
    let annotated = route::annotated();
    for (peer, name) in [(route::plain(), "plain"), (route::tower_governor(), "tower_governor")] {
        let medians = alternate(
            extent.rounds,
            || nanoseconds(&annotated, extent.calls, runtime),
            || nanoseconds(&peer, extent.calls, runtime),
        );
        let name = format!("handler, {name}, from the router on");
        table.add(&Row::new(name, Unit::Cost("ns"), medians, extent.rounds));
    }
}
