//! Each refusal has its reason: the window was full.

use super::call::{Answer, Call, DecidedBy, Window};
use super::checks::Checks;
use super::finding::Finding;

/// A charge that may have been counted from a time on, and no longer than to another.
struct Counted {
    from: u64,
    until: u64,
    cost: u64,
}

/// Looks for a moment of the call at which enough charges can have been in the window. `calls` is in the order of
/// sending.
pub(super) fn first_without_reason(checks: &Checks, window: Window, calls: &[&Call]) -> Option<Finding> {
    let counted = |call: &&&Call, until: u64| Counted {
        from: call.sent_at.saturating_sub(checks.slack),
        until: until + window.length + checks.slack,
        cost: call.cost.into(),
    };
    let in_the_store: Vec<Counted> = calls
        .iter()
        .filter_map(|call| Some(counted(&call, checks.charged_until(call)?)))
        .collect();
    let admitted = calls.iter().filter(|call| call.answer == Answer::Admitted);
    let anywhere: Vec<Counted> = admitted.map(|call| counted(&call, call.replied_at)).collect();
    for refused in calls {
        if !matches!(refused.answer, Answer::Refused { .. }) {
            continue;
        }
        let charges = match refused.by {
            DecidedBy::Store => &in_the_store,
            // A process may know of what others did, but of nothing that did not happen.
            DecidedBy::Fallback => &anywhere,
        };
        let charged = most_at_once(charges, refused);
        if charged + u64::from(refused.cost) <= u64::from(window.count) {
            return Some(Finding::Unjustified {
                refused: (*refused).clone(),
                charged,
            });
        }
    }
    None
}

/// The most that can be counted at one moment of the call. It grows only where a charge begins to count.
fn most_at_once(charges: &[Counted], call: &Call) -> u64 {
    let during: Vec<&Counted> = charges
        .iter()
        .filter(|charge| charge.from <= call.replied_at && call.sent_at < charge.until)
        .collect();
    let begins = during.iter().map(|charge| charge.from.max(call.sent_at));
    let at = |moment: u64| {
        let counted = during
            .iter()
            .filter(|charge| charge.from <= moment && moment < charge.until);
        counted.map(|charge| charge.cost).sum()
    };
    begins.map(at).max().unwrap_or(0)
}
