//! What a decision costs the server, of its processor and of its memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rate_limit::{Charge, Policy, Store as _};
use redis::Pipeline;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::contender::{Contender, key, store};
use super::peers::SortedSet;
use super::server::Server;
use super::traffic::{Cell, Phase};

/// Few enough for each of our stores that nothing waits to go out with others.
pub const TASKS: usize = 32;

/// The microseconds of the server's time that a decision takes, when each client of the cell makes one call.
pub fn microseconds<C: Contender>(
    runtime: &Runtime,
    server: &mut Server,
    contender: &Arc<C>,
    cell: Cell,
    tasks: usize,
) -> f64 {
    let (mut pipeline, now) = (Pipeline::new(), server.time());
    for client in 0..cell.clients {
        contender.place(server, &mut pipeline, &cell, client, now);
    }
    server.tell(&pipeline);
    let before = server.spent(C::COMMANDS);
    let admitted = runtime.block_on(drive(tasks, cell.clients, contender, move |contender, task, client| {
        let contender = Arc::clone(contender);
        async move { contender.decide(task, client, &cell).await }
    }));
    let meant = (0..cell.clients).filter(|client| cell.admits(*client)).count();
    assert_eq!(admitted, meant, "{}, {cell}", C::NAME);
    let after = server.spent(C::COMMANDS);
    if tasks == cell.clients && tasks >= 200 {
        let calls = (after.0 - before.0) as usize;
        assert!(
            calls * 20 <= tasks,
            "{tasks} decisions in {calls} calls are not together"
        );
    }
    (after.1 - before.1) / cell.clients as f64
}

/// Makes as many calls from these tasks, and tells how many were admitted.
pub async fn drive<T, F>(
    tasks: usize,
    calls: usize,
    of: &Arc<T>,
    call: impl Fn(&Arc<T>, usize, usize) -> F + Clone + Send + 'static,
) -> usize
where
    T: Send + Sync + 'static,
    F: Future<Output = bool> + Send,
{
    let next = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for task in 0..tasks.min(calls) {
        let (next, of, call) = (Arc::clone(&next), Arc::clone(of), call.clone());
        running.spawn(async move {
            let mut admitted = 0;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return admitted;
                }
                admitted += usize::from(call(&of, task, number).await);
            }
        });
    }
    running.join_all().await.into_iter().sum()
}

/// The bytes of a key once as many calls were admitted as are allowed: of ours, and of a sorted set.
pub fn bytes(runtime: &Runtime, server: &mut Server, limit: u32) -> (f64, f64) {
    let client = usize::MAX - limit as usize;
    let known = server.keys("rl1:*:{*}");
    let window = Duration::from_secs(3_600);
    let (ours, sorted_set) = runtime.block_on(async {
        let store = store(server).await;
        for _ in 0..limit {
            let charge = Charge::new(key(client), Policy::sliding_window(limit, window), 1);
            store.acquire(&[charge]).await.expect("it decides");
        }
        let of_ours = server.keys("rl1:*:{*}");
        let ours = of_ours.into_iter().find(|key| !known.contains(key));
        let sorted_set = SortedSet::new(server, 0).await;
        let cell = Cell {
            limit,
            phase: Phase::Refused,
            clients: 1,
        };
        let mut pipeline = Pipeline::new();
        let now = server.time();
        sorted_set.place(server, &mut pipeline, &cell, 0, now);
        server.tell(&pipeline);
        (ours.expect("it is kept"), SortedSet::key(0))
    });
    (server.bytes(&ours) as f64, server.bytes(&sorted_set) as f64)
}
