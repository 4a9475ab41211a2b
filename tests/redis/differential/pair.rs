//! Both stores by one clock, asked the same.

use rate_limit::{
    Change, Charge, Hit, Hits, ManualClock, MemoryStore, RedisStore, Reply, Settlement, Store as _, StoreError, Verdict,
};

use super::counter::Counter;
use crate::common::PATIENT;
use crate::support::RedisServer;

pub(super) struct Pair {
    redis: RedisStore,
    memory: MemoryStore,
    pub(super) clock: ManualClock,
}

/// A hit in both stores, and what it weighed.
#[derive(Clone, Copy)]
pub(super) struct Recorded {
    pub(super) charge: Charge,
    redis: Hit,
    memory: Hit,
}

async fn answered<T: Unpin>(reply: Reply<Result<T, StoreError>>) -> T {
    reply.await.expect("the store answers")
}

/// What both must say alike. Ids are each store's own.
fn without_ids(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    if let Verdict::Allowed { hits, .. } = &mut verdict {
        hits.clear();
    }
    verdict
}

fn hits(verdict: Verdict) -> Hits {
    match verdict {
        Verdict::Allowed { hits, .. } => hits,
        _ => Hits::new(),
    }
}

impl Pair {
    pub(super) async fn over(server: &RedisServer) -> Self {
        let clock = ManualClock::new();
        // Far from 1970, so that times have as many digits as today's.
        clock.advance(std::time::Duration::from_secs(1_753_000_000));
        let redis = RedisStore::builder(&server.url()).clock(&clock).deadline(PATIENT);
        Self {
            redis: redis.connect().await.expect("the server takes us"),
            memory: MemoryStore::builder().clock(&clock).build(),
            clock,
        }
    }

    /// The verdict of both, and what they recorded.
    pub(super) async fn acquire(&self, step: &str, charges: &[Charge]) -> (Verdict, Vec<Recorded>) {
        let redis = answered(self.redis.acquire(charges)).await;
        let memory = answered(self.memory.acquire(charges)).await;
        let verdict = without_ids(&redis);
        assert_eq!(verdict, without_ids(&memory), "{step}: Redis, then memory: {charges:?}");
        let mut recorded = Vec::new();
        for (charge, (redis, memory)) in charges.iter().zip(hits(redis).into_iter().zip(hits(memory))) {
            assert_eq!(redis == Hit::NONE, memory == Hit::NONE, "{step}: {charge:?}");
            if redis != Hit::NONE {
                recorded.push(Recorded {
                    charge: *charge,
                    redis,
                    memory,
                });
            }
        }
        (verdict, recorded)
    }

    pub(super) async fn peek(&self, step: &str, charge: Charge) {
        let redis = answered(self.redis.peek(charge)).await;
        let memory = answered(self.memory.peek(charge)).await;
        assert_eq!(
            without_ids(&redis),
            without_ids(&memory),
            "{step}: Redis, then memory, at a peek: {charge:?}"
        );
    }

    pub(super) async fn reset(&self, recorded: &[Recorded]) {
        self.settle(recorded, |_, upto| Change::Reset { upto }).await;
    }

    pub(super) async fn refund(&self, recorded: &[Recorded]) {
        self.settle(recorded, |charge, hit| Change::Refund { hit, cost: charge.cost })
            .await;
    }

    pub(super) async fn clear(&self, counter: &mut Counter) {
        let cleared = [Settlement::new(counter.key, counter.last, Change::Clear)];
        answered(self.redis.settle(&cleared)).await;
        answered(self.memory.settle(&cleared)).await;
        (counter.stale, counter.trimmed) = (false, true);
    }

    /// How a counter stands in memory: microseconds until it is whole.
    pub(super) async fn whole_in(&self, counter: &Counter) -> u64 {
        match answered(self.memory.peek(counter.look())).await {
            Verdict::Allowed { reset_after, .. } | Verdict::Denied { reset_after, .. } => reset_after,
            other => unreachable!("no policy here admits nothing: {other:?}"),
        }
    }

    async fn settle(&self, recorded: &[Recorded], change: impl Fn(Charge, Hit) -> Change) {
        let settlements = |hit: fn(&Recorded) -> Hit| -> Vec<_> {
            let each = |of: &Recorded| Settlement::new(of.charge.key, of.charge.policy, change(of.charge, hit(of)));
            recorded.iter().map(each).collect()
        };
        answered(self.redis.settle(&settlements(|of| of.redis))).await;
        answered(self.memory.settle(&settlements(|of| of.memory))).await;
    }
}
