//! Who waits for as long as he was told is admitted, unless another one takes the place.

use super::call::{Answer, Call, DecidedBy};
use super::checks::Checks;
use super::finding::Finding;

/// `calls` is in the order of sending.
pub(super) fn first_broken(checks: &Checks, calls: &[&Call]) -> Option<Finding> {
    // Until when the store may have charged any call that was sent up to here.
    let mut latest = 0;
    let charged: Vec<(u64, u64)> = calls
        .iter()
        .filter_map(|call| {
            latest = latest.max(checks.charged_until(call)?);
            Some((call.sent_at, latest))
        })
        .collect();
    let refusals: Vec<(&Call, u64)> = calls.iter().filter_map(|call| Some((*call, told(call)?))).collect();
    for (place, (refused, _)) in refusals.iter().enumerate() {
        // Others that may have been charged before this one was decided were so until then at the latest.
        let before = charged.partition_point(|(sent_at, _)| *sent_at <= refused.replied_at);
        let quiet_since = before.checked_sub(1).map_or(0, |last| charged[last].1);
        let since_then = refusals[..place].iter().rev();
        let broken = since_then
            .take_while(|(earlier, _)| earlier.sent_at > quiet_since)
            .find(|(earlier, wait)| {
                let due = earlier.replied_at + wait + checks.slack;
                due <= refused.sent_at && refused.cost <= earlier.cost && !outdated(checks, earlier, refused)
            });
        if let Some((told, _)) = broken {
            return Some(Finding::BrokenHint {
                told: (*told).clone(),
                refused: (*refused).clone(),
            });
        }
    }
    None
}

/// Whether the store may have lost what it kept after it had told of the earlier refusal. A process that has heard of one repeats it for as
/// long as it would have lasted, and does not know of those who were admitted in its place since.
fn outdated(checks: &Checks, earlier: &Call, refused: &Call) -> bool {
    let reaches = |from: u64, until: u64| from <= refused.sent_at && earlier.sent_at <= until + earlier.window.length;
    checks.disturbances.iter().any(|lost| reaches(lost.from, lost.until))
}

fn told(call: &Call) -> Option<u64> {
    match (call.answer, call.by) {
        (Answer::Refused { retry_after }, DecidedBy::Store) => Some(retry_after),
        _ => None,
    }
}
