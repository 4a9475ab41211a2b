//! What each client needs so that he is never refused.

/// The capacity of the smallest bucket with this refill that admits all events of a client.
pub fn capacity(times: &[u64], refill: u64) -> u64 {
    // How much the bucket lacks, as time, as in a bucket that has no bottom.
    let (mut missing, mut most) = (0_u64, 0);
    let mut before = times.first().copied().unwrap_or(0);
    for &at in times {
        missing = missing.saturating_sub(at - before) + refill;
        most = most.max(missing);
        before = at;
    }
    most.div_ceil(refill)
}

/// The most events of a client in any stretch of time as long as the window.
pub fn count(times: &[u64], window: u64) -> u64 {
    let mut oldest = 0;
    let mut most = 0;
    for (newest, &at) in times.iter().enumerate() {
        // An event has left the window once it is as old as it is long.
        while times[oldest] + window <= at {
            oldest += 1;
        }
        most = most.max(newest + 1 - oldest);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use rate_limit::{Policy, Simulation, Verdict};

    use super::*;

    fn admits_all(policy: Policy, times: &[u64]) -> bool {
        let mut client = Simulation::new([policy]);
        times
            .iter()
            .all(|at| matches!(client.ask(*at), Verdict::Allowed { .. }))
    }

    proptest! {
        /// The numbers are the smallest by which the algorithms themselves admit everything.
        #[test]
        fn a_client_needs_this_much_and_no_less(mut times in prop::collection::vec(1..500_u64, 1..40), span in 1..60_u64) {
            times.sort_unstable();
            times.iter_mut().for_each(|at| *at *= 1_000);
            let span = Duration::from_millis(span);
            let micros = span.as_micros() as u64;
            let bucket = |capacity: u64| Policy::token_bucket(capacity as u32, span);
            let needed = capacity(&times, micros);
            prop_assert!(admits_all(bucket(needed), &times));
            prop_assert!(needed == 1 || !admits_all(bucket(needed - 1), &times));
            let window = |count: u64| Policy::sliding_window(count as u32, span);
            let needed = count(&times, micros);
            prop_assert!(admits_all(window(needed), &times));
            prop_assert!(needed == 1 || !admits_all(window(needed - 1), &times));
        }
    }
}
