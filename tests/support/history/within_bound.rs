//! No window holds more than it may.

use super::call::{Call, DecidedBy, Window};
use super::checks::Checks;
use super::finding::Finding;

/// Longer stretches than so many windows are made of shorter ones, nearly always.
const WINDOWS: u64 = 3;

/// All calls that were sent and answered between two times are charged between them, and a stretch of time that is
/// covered by `n` windows holds `n` times the count at most. `admitted` is in the order of sending.
pub(super) fn first_excess(checks: &Checks, window: Window, admitted: &[&Call]) -> Option<Finding> {
    for (place, first) in admitted.iter().enumerate() {
        let since = first.sent_at;
        let end = since + WINDOWS * window.length;
        let from_here = admitted[place..].iter().take_while(|call| call.sent_at < end);
        let mut inside: Vec<&Call> = from_here.copied().filter(|call| call.replied_at < end).collect();
        inside.sort_by_key(|call| call.replied_at);
        let mut sum = 0;
        for last in inside {
            sum += u64::from(last.cost);
            let bound = bound(checks, window, last, since);
            if sum > bound {
                return Some(Finding::OverAdmission {
                    last: last.clone(),
                    since,
                    admitted: sum,
                    bound,
                });
            }
        }
    }
    None
}

fn bound(checks: &Checks, window: Window, last: &Call, since: u64) -> u64 {
    let until = last.replied_at;
    let windows = (until - since + checks.slack) / window.length + 1;
    let mut bound = u64::from(window.count) * windows;
    if last.by == DecidedBy::Store {
        for disturbance in &checks.disturbances {
            if disturbance.from <= until && since <= disturbance.until {
                bound += u64::from(disturbance.extra);
            }
        }
    }
    bound
}
