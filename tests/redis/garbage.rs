//! Values cut short, and with bytes of chance in them: an answer or the error that names them, and in that case no write.

use std::time::Duration;

use rate_limit::{Charge, Hit, ManualClock, Policy, RedisStore, Settlement, Store as _, StoreError};

use crate::common::{MINUTE, PATIENT, key};
use crate::probe::Probe;
use crate::support::{Random, RedisServer};

const NOW: u64 = 1_753_000_000_000_000;

struct Judged {
    store: RedisStore,
    probe: Probe,
    clock: ManualClock,
    named: u32,
}

impl Judged {
    /// Everything that a store is asked. What fails names the value, and leaves it as it was.
    async fn all(&mut self, counter: &str, value: &[u8], policy: Policy) {
        let shown = || format!("{policy}: {}", value.escape_ascii());
        let charge = |cost| Charge::new(key("a"), policy, cost);
        let settle = |change| Settlement::new(key("a"), policy, change);
        let upto = rate_limit::Change::Reset {
            upto: Hit::from_raw(NOW),
        };
        let refund = rate_limit::Change::Refund {
            hit: Hit::from_raw(NOW),
            cost: 1,
        };
        for asked in 0..8 {
            self.probe.set(counter, value).await;
            let answer: Result<(), StoreError> = match asked {
                0 => self.store.peek(charge(1)).await.map(drop),
                1..4 => self.store.acquire(&[charge(asked - 1)]).await.map(drop),
                4 => {
                    // All at once, so that most are decided together.
                    let replies: Vec<_> = (0..8).map(|_| self.store.acquire(&[charge(1)])).collect();
                    let mut last = Ok(());
                    for reply in replies {
                        let answer = reply.await.map(drop);
                        last = if last.is_err() { last } else { answer };
                    }
                    last
                }
                5 => self.store.settle(&[settle(upto)]).await,
                6 => self.store.settle(&[settle(refund)]).await,
                _ => self.store.inspect(key("a"), policy).await.map(drop),
            };
            if let Err(error) = answer {
                let told = error.to_string();
                assert!(told.contains("give the store a prefix"), "{asked}: {told}: {}", shown());
                assert_eq!(self.probe.value(counter).await, value, "{asked}: {}", shown());
                self.named += 1;
            }
        }
    }
}

/// A value of a few hits by each policy, whole, cut at each byte, and with one to three bytes of chance.
#[tokio::test]
async fn f_01_values_cut_short_or_of_chance_are_named_or_judged() {
    let server = RedisServer::start();
    let clock = ManualClock::new();
    clock.advance(Duration::from_micros(NOW - clock.now()));
    let store = RedisStore::builder(&server.url()).clock(&clock).deadline(PATIENT);
    let mut judged = Judged {
        store: store.connect().await.expect("the server takes us"),
        probe: Probe::of(&server).await,
        clock,
        named: 0,
    };
    let mut random = Random(11);
    let policies = [
        [Policy::sliding_window(5, MINUTE), Policy::sliding_window(3, 2 * MINUTE)],
        [Policy::sliding_window(130, MINUTE), Policy::sliding_window(5, MINUTE)],
        [Policy::token_bucket(5, MINUTE), Policy::token_bucket(3, MINUTE / 7)],
        [Policy::fixed_window(5, MINUTE), Policy::fixed_window(9, 7 * MINUTE)],
        [
            Policy::sliding_window(2, MINUTE).block(2 * MINUTE),
            Policy::sliding_window(3, MINUTE),
        ],
        [
            Policy::sliding_window(130, MINUTE).block(MINUTE),
            Policy::sliding_window(130, MINUTE),
        ],
        [
            Policy::token_bucket(2, MINUTE).block(MINUTE),
            Policy::token_bucket(2, MINUTE),
        ],
        [
            Policy::fixed_window(2, 7 * MINUTE).block(MINUTE),
            Policy::fixed_window(5, MINUTE),
        ],
    ];
    for pair in policies {
        let _: () = judged.probe.ask("FLUSHALL").await;
        for policy in [pair[0], pair[1], pair[0]] {
            let charge = Charge::new(key("a"), policy, 1);
            judged.store.acquire(&[charge]).await.expect("it is decided");
            judged.clock.advance(Duration::from_millis(3));
        }
        let counter = judged.probe.key().await;
        let whole = judged.probe.value(&counter).await;
        for cut in 0..whole.len() {
            judged.all(&counter, &whole[..cut], pair[cut % 2]).await;
        }
        for round in 0..60 {
            let mut value = whole.clone();
            for _ in 0..=random.below(3) {
                let at = 1 + random.below(value.len() as u64 - 1) as usize;
                value[at] = random.below(256) as u8;
            }
            judged.all(&counter, &value, pair[round % 2]).await;
        }
    }
    assert!(judged.named > 200, "{}", judged.named);
}
