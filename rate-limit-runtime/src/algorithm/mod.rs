//! The algorithms, pure: a state and a time in, a changed state and an answer out. No clock, no store.
//!
//! Each decides first and charges after, so that several can be decided before one is charged.

pub(crate) mod fixed_window;
pub(crate) mod sliding_window;
pub(crate) mod token_bucket;

use crate::verdict::Verdict;

/// Whether a charge fits. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It fits, and this is how it stands once it is recorded.
    Fits { remaining: u32, reset_after: u64 },
    /// It does not fit now. A lighter one that weighs `remaining` would.
    Refused {
        remaining: u32,
        retry_after: u64,
        reset_after: u64,
    },
    /// It will never fit.
    Never,
}

impl Answer {
    /// The answer to the charge that a verdict tells of.
    pub(crate) const fn of(verdict: &Verdict) -> Self {
        match *verdict {
            Verdict::Allowed {
                remaining, reset_after, ..
            } => Self::Fits { remaining, reset_after },
            Verdict::Denied {
                remaining,
                retry_after,
                reset_after,
                ..
            } => Self::Refused {
                remaining,
                retry_after,
                reset_after,
            },
            Verdict::Impossible { .. } => Self::Never,
        }
    }

    /// Extends a refusal to the end of a block that lasts for `left` more.
    pub(crate) fn extend_refusal(&mut self, left: u64) {
        if let Self::Refused {
            remaining,
            retry_after,
            reset_after,
        } = self
            && left > 0
        {
            *remaining = 0;
            *retry_after = left.max(*retry_after);
            *reset_after = left.max(*reset_after);
        }
    }
}
