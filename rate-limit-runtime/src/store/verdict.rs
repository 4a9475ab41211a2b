//! One verdict from the answers to all charges of a call.

use std::cmp::Reverse;

use crate::algorithm::Answer;
use crate::verdict::{Hits, Verdict};

/// A charge that was decided and not yet recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    pub(super) answer: Answer,
    pub(super) observe: bool,
}

/// Refused if one that does not only observe is refused. The hits of an admitted call are left to be recorded.
pub(super) fn combine(decided: &[Decided]) -> Verdict {
    let places = || decided.iter().enumerate();
    let binding = || places().filter(|(_, decided)| !decided.observe);
    if let Some((which, _)) = binding().find(|(_, decided)| decided.answer == Answer::Never) {
        return Verdict::Impossible { which };
    }
    let refused = binding().filter_map(|(place, decided)| match decided.answer {
        Answer::Refused {
            remaining,
            retry_after,
            reset_after,
        } => Some((retry_after, reset_after, Reverse(place), remaining)),
        _ => None,
    });
    if let Some((retry_after, reset_after, Reverse(longest), remaining)) = refused.max() {
        return Verdict::Denied {
            longest,
            remaining,
            retry_after,
            reset_after,
        };
    }
    let fitting = places().filter_map(|(place, decided)| match decided.answer {
        Answer::Fits { remaining, reset_after } => Some((remaining, Reverse(reset_after), place)),
        _ => None,
    });
    // None fits where all only observe and would refuse.
    let (remaining, Reverse(reset_after), tightest) = fitting.min().unwrap_or_default();
    Verdict::Allowed {
        tightest,
        remaining,
        reset_after,
        hits: Hits::new(),
    }
}
