//! What a store answers.

use smallvec::SmallVec;

/// The id of an admitted hit: when it was admitted, on the store's clock. Later hits of a key have higher ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit(u64);

impl Hit {
    /// Below each microsecond there is room for this many bits of order. The others last until the year 2112.
    const ORDER_BITS: u32 = 12;

    /// Stands for no hit.
    pub const NONE: Self = Self(0);

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

/// The hits of one decision, in the order of its charges.
pub type Hits = SmallVec<[Hit; 3]>;

/// A store's answer to the charges of one call. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// All charges fit, but for those that only observe, and were recorded.
    Allowed {
        /// The place of the charge that leaves the least; of equals, that whose limit takes the longest to be whole again.
        tightest: usize,
        /// How many more calls it would admit now.
        remaining: u32,
        /// Microseconds until its limit is whole again if nothing more is admitted.
        reset_after: u64,
        /// The hit of each charge; [`Hit::NONE`] for one that only observes and did not fit.
        hits: Hits,
    },
    /// A charge does not fit now. Nothing was recorded.
    Denied {
        /// The place of the charge that takes the longest to fit.
        longest: usize,
        /// The weight of a call that its limit would admit now; 0 if it admits none.
        remaining: u32,
        /// Microseconds until it would fit.
        retry_after: u64,
        /// Microseconds until its limit is whole again.
        reset_after: u64,
    },
    /// A charge is above its limit and will never fit. Nothing was recorded.
    Impossible {
        /// Its place.
        which: usize,
    },
}
