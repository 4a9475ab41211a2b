//! The algorithms, pure: a state and a time in, a changed state and an answer out. No clock, no store.
//!
//! Each decides first and charges after, so that several can be decided before one is charged.

pub(crate) mod fixed_window;
pub(crate) mod sliding_window;
pub(crate) mod token_bucket;

/// Whether a charge fits. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It fits, and this is how it stands once it is recorded.
    Fits { remaining: u32, reset_after: u64 },
    /// It does not fit now.
    Refused { retry_after: u64, reset_after: u64 },
    /// It will never fit.
    Never,
}

impl Answer {
    /// Refuses for no less than this, if it refuses.
    pub(crate) fn lasts(&mut self, blocked: u64) {
        if let Self::Refused {
            retry_after,
            reset_after,
        } = self
        {
            *retry_after = blocked.max(*retry_after);
            *reset_after = blocked.max(*reset_after);
        }
    }
}
