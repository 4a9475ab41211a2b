//! What a store answers.

/// The id of an admitted hit: when it was admitted, on the store's clock. Later hits of a key have higher ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit(u64);

impl Hit {
    /// Below each microsecond there is room for this many bits of order.
    const ORDER_BITS: u32 = 14;

    /// Stands for the latest hit of a key, whichever that is: a reset up to it forgets them all.
    pub const LATEST: Self = Self(u64::MAX);

    /// The id of a store that gives out its own, higher for a later hit.
    #[must_use]
    pub const fn from_raw(id: u64) -> Self {
        Self(id)
    }

    /// The number that [`from_raw`](Self::from_raw) was given.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The first id of a microsecond.
    pub(crate) const fn at(micros: u64) -> Self {
        Self(micros << Self::ORDER_BITS)
    }

    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The microsecond of an id that [`at`](Self::at) and [`next`](Self::next) made.
    pub(crate) const fn time(self) -> u64 {
        self.0 >> Self::ORDER_BITS
    }
}

/// A store's answer to one charge. Times are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The charge fits and was recorded.
    Allowed {
        /// The hit that was recorded.
        hit: Hit,
        /// How many more calls would be admitted now.
        remaining: u32,
        /// Microseconds until the limit is whole again if nothing more is admitted.
        reset_after: u64,
    },
    /// The charge does not fit now. Nothing was recorded.
    Denied {
        /// Microseconds until this same charge would be admitted.
        retry_after: u64,
        /// Microseconds until the limit is whole again.
        reset_after: u64,
    },
    /// The charge is above the limit and will never fit. Nothing was recorded.
    Impossible,
}
