//! Decisions in memory: an annotated call, its key hashed, beside what peers do with a key that is there.

mod contender;
mod traffic;

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use self::contender::{Contender, Governor, LeakyBucket, Ours, Trypema};
use self::traffic::{Clients, Outcome, Traffic};
use crate::measure::{alternate, median};
use crate::row::{Row, Table, Unit};

const LIMITS: [u32; 3] = [5, 100, 10_000];

/// How much is measured.
struct Extent {
    calls: usize,
    rounds: usize,
}

pub fn run(brief: bool, table: &Table) {
    let extent = match brief {
        true => Extent {
            calls: 2_000,
            rounds: 3,
        },
        false => Extent {
            calls: 200_000,
            rounds: 11,
        },
    };
    cells::<Governor>(&extent, 1.0, Some(0.8), table);
    cells::<Trypema>(&extent, 0.5, None, table);
    for outcome in [Outcome::Admitted, Outcome::Refused] {
        for threads in [1, 2] {
            let traffic = Traffic::new(Clients::One, 10_000, outcome, extent.calls);
            table.add(&cell::<LeakyBucket>(&traffic, threads, &extent));
        }
    }
}

/// Every cell beside one peer, each with a goal, and then their median.
fn cells<P: Contender>(extent: &Extent, goal: f64, of_the_median: Option<f64>, table: &Table) {
    let mut ratios = Vec::new();
    for clients in [Clients::One, Clients::Uniform, Clients::Zipf] {
        for limit in LIMITS {
            for outcome in [Outcome::Admitted, Outcome::Refused, Outcome::Mixed] {
                let traffic = Traffic::new(clients, limit, outcome, extent.calls);
                for threads in [1, 2] {
                    let row = cell::<P>(&traffic, threads, extent).goal(goal);
                    ratios.push(row.ratio);
                    table.add(&row);
                }
            }
        }
    }
    let median = median(ratios);
    let row = Row::new(
        format!("embedded, {}, the median of these cells", P::NAME),
        Unit::Cost("ratio"),
        (median, 1.0),
        extent.rounds,
    );
    table.add(&match of_the_median {
        Some(goal) => row.goal(goal),
        None => row,
    });
}

fn cell<P: Contender>(traffic: &Traffic, threads: usize, extent: &Extent) -> Row {
    let medians = alternate(
        extent.rounds,
        || nanoseconds::<Ours>(traffic, threads),
        || nanoseconds::<P>(traffic, threads),
    );
    let threads = if threads == 1 { "1 thread" } else { "2 threads" };
    let name = format!("embedded, {}, {traffic}, {threads}", P::NAME);
    Row::new(name, Unit::Cost("ns"), medians, extent.rounds)
}

/// What a decision takes, from the first to the last of all threads.
fn nanoseconds<C: Contender>(traffic: &Traffic, threads: usize) -> f64 {
    let contender = C::new(traffic.limit, traffic.clients());
    traffic.prepare(|client, calls| contender.spend(client, calls));
    let parts = traffic.split(threads);
    let start = Barrier::new(threads);
    let times: Vec<(Instant, Instant, usize)> = thread::scope(|scope| {
        let run = |part| {
            let (contender, start) = (&contender, &start);
            scope.spawn(move || {
                start.wait();
                let begin = Instant::now();
                let admitted = black_box(contender.decide(part));
                (begin, Instant::now(), admitted)
            })
        };
        let running: Vec<_> = parts.iter().map(|part| run(&part[..])).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("it does not panic"))
            .collect()
    });
    let admitted: usize = times.iter().map(|(_, _, admitted)| admitted).sum();
    traffic.check(admitted, C::NAME);
    let begin = times.iter().map(|(begin, ..)| *begin).min().expect("there are threads");
    let end = times.iter().map(|(_, end, _)| *end).max().expect("there are threads");
    (end - begin).as_nanos() as f64 / traffic.calls.len() as f64
}
