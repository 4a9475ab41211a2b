//! What is known of the calls that one limiter has decided in this process.

use std::time::Duration;

use super::refused::Refused;
use super::tally::Tallies;
use crate::clock::Clock;
use crate::key::Client;
use crate::method::Method;
use crate::observe::Decided;
use crate::rejection::RejectionKind;

/// Notes each call, without allocating but for the first of a function.
pub(crate) struct Watch {
    clock: Clock,
    start: u64,
    pub(super) tallies: Tallies,
    pub(super) refused: Refused,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self::by(Clock::system())
    }

    fn by(clock: Clock) -> Self {
        Self {
            start: clock.now(),
            clock,
            tallies: Tallies::new(),
            refused: Refused::new(),
        }
    }

    /// A call was decided.
    pub(crate) fn note(&self, decided: &Decided<'_>) {
        let now = self.now();
        if let Some(tally) = self.tallies.of(decided.method) {
            tally.note(Self::second(now), decided);
        }
        match decided.refused {
            None => {
                for rule in decided.rules {
                    self.refused.admitted(&rule.charge().key);
                }
            }
            Some(RejectionKind::Limited) => {
                let wait = decided.decision.and_then(|decision| decision.retry_after);
                if let (Some(rule), Some(wait)) = (decided.rules.get(decided.place), wait) {
                    let until = now.saturating_add(wait);
                    self.refused.note(rule.charge().key, rule.policy, now, until);
                }
            }
            Some(_) => {}
        }
    }

    pub(crate) fn forget(&self, client: Client, method: Option<&Method>) {
        self.refused.forget(client, method);
    }

    /// Since it began.
    pub(super) fn now(&self) -> Duration {
        Duration::from_micros(self.clock.now().saturating_sub(self.start))
    }

    /// Which second this is in, the first being 1.
    pub(super) const fn second(now: Duration) -> u32 {
        now.as_secs() as u32 + 1
    }
}

#[cfg(all(test, feature = "test-util"))]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    /// What a page shows in one second was counted in one, whatever the wall clock and the processors' counters do.
    #[test]
    fn f_32_seconds_are_those_of_the_clock_that_decides() {
        let clock = ManualClock::new();
        let watch = Watch::by(Clock::Manual(clock.clone()));
        let second = || Watch::second(watch.now());
        assert_eq!(second(), 1);
        clock.advance(Duration::from_millis(4_999));
        clock.step_wall_clock(Duration::from_secs(3_600));
        assert_eq!(second(), 5);
        clock.advance(Duration::from_millis(1));
        assert_eq!(second(), 6);
        clock.step_back(Duration::from_secs(60));
        assert_eq!(second(), 1, "it does not go round");
    }
}
