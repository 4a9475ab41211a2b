//! One verdict from the answers to all charges of a call.

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
    let mut verdict = Verdict::Allowed {
        tightest: 0,
        remaining: u32::MAX,
        reset_after: 0,
        hits: Hits::new(),
    };
    for (place, Decided { answer, observe }) in decided.iter().enumerate() {
        match (*answer, &verdict) {
            (
                Answer::Fits {
                    remaining: less,
                    reset_after,
                    ..
                },
                Verdict::Allowed { remaining, .. },
            ) if less < *remaining => {
                verdict = Verdict::Allowed {
                    tightest: place,
                    remaining: less,
                    reset_after,
                    hits: Hits::new(),
                };
            }
            (Answer::Never, Verdict::Allowed { .. } | Verdict::Denied { .. }) if !observe => {
                verdict = Verdict::Impossible { which: place };
            }
            (
                Answer::Refused {
                    retry_after,
                    reset_after,
                },
                current,
            ) if !observe => {
                let longer = match current {
                    Verdict::Allowed { .. } => true,
                    Verdict::Denied {
                        retry_after: longest, ..
                    } => retry_after > *longest,
                    Verdict::Impossible { .. } => false,
                };
                if longer {
                    verdict = Verdict::Denied {
                        longest: place,
                        retry_after,
                        reset_after,
                    };
                }
            }
            _ => {}
        }
    }
    if let Verdict::Allowed {
        remaining: remaining @ u32::MAX,
        ..
    } = &mut verdict
    {
        // Nothing but charges that observe, none of which fits.
        *remaining = 0;
    }
    verdict
}
