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
            retry_after,
            reset_after,
        } => Some((retry_after, reset_after, place)),
        _ => None,
    });
    if let Some((retry_after, reset_after, longest)) = refused.max_by_key(|(wait, _, place)| (*wait, Reverse(*place))) {
        return Verdict::Denied {
            longest,
            retry_after,
            reset_after,
        };
    }
    let fitting = places().filter_map(|(place, decided)| match decided.answer {
        Answer::Fits { remaining, reset_after } => Some((remaining, reset_after, place)),
        _ => None,
    });
    // None fits where all only observe and would refuse.
    let tightest = fitting.min_by_key(|(remaining, _, place)| (*remaining, *place));
    let (remaining, reset_after, tightest) = tightest.unwrap_or_default();
    Verdict::Allowed {
        tightest,
        remaining,
        reset_after,
        hits: Hits::new(),
    }
}
