//! Decisions in Redis: what they cost the server, and how many a second there are, beside scripts that a user would take instead and
//! beside what the same client does at most. Needs `redis-server`, and for trypema, which asks for a newer one, Valkey.

pub mod contender;
mod cost;
mod lines;
mod peers;
pub mod rate;
pub mod server;
mod traffic;

use std::sync::Arc;

use tokio::runtime::Runtime;

use self::contender::{Apart, Contender, Together};
use self::cost::{TASKS, bytes, microseconds};
use self::peers::{ActixLimitation, Gcra, SortedSet};
use self::rate::{Caller, per_second};
use self::server::Server;
use self::traffic::{Cell, Phase};
use crate::measure::{alternate, in_turns, median};
use crate::row::{Row, Table, Unit};

/// How much is measured.
struct Extent {
    /// By how much there are fewer clients in a cell.
    part: usize,
    /// Calls of a round when they are counted by the second.
    calls: usize,
    rounds: usize,
}

/// The limits, each with the clients of a cell: as many as make no round long.
const LIMITS: [(u32, usize); 4] = [(5, 2_000), (100, 1_000), (1_000, 400), (10_000, 80)];

pub fn run(brief: bool, table: &Table) {
    let extent = match brief {
        true => Extent {
            part: 10,
            calls: 2_000,
            rounds: 2,
        },
        false => Extent {
            part: 1,
            calls: 40_000,
            rounds: 11,
        },
    };
    let runtime = Runtime::new().expect("there are threads");
    let mut server = Server::redis();
    costs(&extent, &runtime, &mut server, table);
    for (limit, _) in LIMITS {
        let name = format!("redis, sorted set, limit {limit}, bytes of a full key");
        table.add(&Row::new(name, Unit::Cost("B"), bytes(&runtime, &mut server, limit), 1));
    }
    let peers = [
        beside::<rate::Get>(Some(1.818)),
        beside::<rate::EmptyScript>(None),
        beside::<SortedSet>(None),
        beside::<Gcra>(None),
        beside::<ActixLimitation>(None),
    ];
    rates(&extent, &runtime, &mut Server::redis(), &peers, table);
    match Server::valkey() {
        Some(mut valkey) => {
            let peers = [beside::<rate::Trypema>(Some(0.4)), beside::<rate::Get>(None)];
            rates(&extent, &runtime, &mut valkey, &peers, table);
        }
        None => eprintln!("VALKEY_SERVER names no server: trypema is left out"),
    }
}

fn contender<C: Contender>(runtime: &Runtime, server: &mut Server, clients: usize) -> Arc<C> {
    Arc::new(runtime.block_on(C::new(server, clients)))
}

/// The server's time for a decision in every cell, alone and together.
fn costs(extent: &Extent, runtime: &Runtime, server: &mut Server, table: &Table) {
    let clients = LIMITS[0].1;
    let apart: Arc<Apart> = contender(runtime, server, clients);
    // On one thread all calls are there before the first returns.
    let one_thread = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let one_thread = one_thread.expect("it needs no thread");
    let together: Arc<Together> = contender(&one_thread, server, clients);
    let sorted_set: Arc<SortedSet> = contender(runtime, server, clients);
    let gcra: Arc<Gcra> = contender(runtime, server, clients);
    let actix: Arc<ActixLimitation> = contender(runtime, server, clients);
    let (mut alone_to_gcra, mut together_to_gcra) = (Vec::new(), Vec::new());
    for (limit, clients) in LIMITS {
        for phase in Phase::ALL {
            let clients = (clients / extent.part).max(20);
            let cell = Cell { limit, phase, clients };
            let server = std::cell::RefCell::new(&mut *server);
            let medians = in_turns(
                extent.rounds,
                &mut [
                    &mut || microseconds(runtime, *server.borrow_mut(), &apart, cell, TASKS),
                    &mut || microseconds(&one_thread, *server.borrow_mut(), &together, cell, clients),
                    &mut || microseconds(runtime, *server.borrow_mut(), &sorted_set, cell, TASKS),
                    &mut || microseconds(runtime, *server.borrow_mut(), &gcra, cell, TASKS),
                    &mut || microseconds(runtime, *server.borrow_mut(), &actix, cell, TASKS),
                ],
            );
            let [alone, together, sorted_set, gcra, actix] = medians[..] else {
                unreachable!("there are five")
            };
            let row = |peer: &str, how: &str, ours, theirs| {
                let name = format!("redis, {peer}, {cell}, {how}");
                Row::new(name, Unit::Cost("us"), (ours, theirs), extent.rounds)
            };
            let small = limit <= 100;
            table.add(
                &row(<SortedSet as Contender>::NAME, "one call each", alone, sorted_set).goal(if small {
                    0.7
                } else {
                    0.9
                }),
            );
            let by_sorted_set = row(<SortedSet as Contender>::NAME, "together", together, sorted_set);
            table.add(&if small { by_sorted_set.goal(0.4) } else { by_sorted_set });
            let by_gcra = row(<Gcra as Contender>::NAME, "one call each", alone, gcra);
            let together_by_gcra = row(<Gcra as Contender>::NAME, "together", together, gcra);
            if small {
                alone_to_gcra.push(by_gcra.ratio);
                together_to_gcra.push(together_by_gcra.ratio);
            }
            table.add(&if small { by_gcra.goal(1.1) } else { by_gcra });
            table.add(&together_by_gcra);
            table.add(&row(
                <ActixLimitation as Contender>::NAME,
                "one call each",
                alone,
                actix,
            ));
        }
    }
    for (ratios, how, goal) in [
        (alone_to_gcra, "one call each", 0.9),
        (together_to_gcra, "together", 0.45),
    ] {
        let name = format!(
            "redis, {}, limits 5 and 100, {how}, the median of these cells",
            <Gcra as Contender>::NAME
        );
        table.add(&Row::new(name, Unit::Cost("ratio"), (median(ratios), 1.0), extent.rounds).goal(goal));
    }
}

/// Measures ours beside a peer, and tells the row.
type Beside = Box<dyn Fn(&Extent, &Runtime, &mut Server, &Arc<rate::Ours>) -> Row>;

fn beside<P: Caller>(goal: Option<f64>) -> Beside {
    Box::new(move |extent, runtime, server, ours| {
        let peer = Arc::new(runtime.block_on(P::new(server)));
        let medians = alternate(
            extent.rounds,
            || per_second(runtime, ours, extent.calls),
            || per_second(runtime, &peer, extent.calls),
        );
        let name = format!("{}, {}, decisions a second of 64 tasks", server.name, P::NAME);
        let row = Row::new(name, Unit::Rate("1/s"), medians, extent.rounds);
        match goal {
            Some(goal) => row.goal(goal),
            None => row,
        }
    })
}

fn rates(extent: &Extent, runtime: &Runtime, server: &mut Server, peers: &[Beside], table: &Table) {
    let ours = Arc::new(runtime.block_on(rate::Ours::new(server)));
    for beside in peers {
        table.add(&beside(extent, runtime, server, &ours));
    }
}
