//! An annotated axum handler beside the plain one, and beside the plain one behind tower_governor.
//!
//! Servers and load are tasks of one thread, so that a rate is what one core does, whether or not a second one is free. On a machine busy
//! with other work two equal servers then differed by up to 2 % in three runs, and by up to 4 % in four with a runtime of two threads: a
//! ratio nearer to its goal than that tells nothing there. `wrk`, tried in nine rounds, gave no steadier ratios.

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
    let runtime = Builder::new_current_thread().enable_io().build();
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
