//! The line by which readings of a source become times, which threads read without a lock.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::sources::Sources;

/// How long one anchor serves, in nanoseconds. So an error of the rate of 16 millionths becomes 1.6
/// microseconds.
pub(super) const PERIOD: u64 = 100_000_000;

/// How many microseconds pass with one tick of a source, in parts of 2^44.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate(u64);

impl Rate {
    const BITS: u32 = 44;
    /// That of the kernel's clock, which ticks in nanoseconds.
    pub(super) const KERNEL: Self = Self((1 << Self::BITS) / 1_000);

    /// Returns the rate of a source that made so many ticks in so many nanoseconds, or `None` for
    /// one that does not tell microseconds apart.
    pub(super) fn measured(nanos: u64, ticks: u64) -> Option<Self> {
        let rate = (u128::from(nanos) << Self::BITS).checked_div(u128::from(ticks) * 1_000)?;
        let rate = u64::try_from(rate).ok()?;
        (1..=1 << Self::BITS).contains(&rate).then_some(Self(rate))
    }

    /// Returns the nanoseconds of any number of ticks.
    pub(super) fn nanos(self, ticks: u64) -> u64 {
        let nanos = (u128::from(ticks) * u128::from(self.0) * 1_000) >> Self::BITS;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// Returns how many ticks pass in so many nanoseconds.
    fn ticks(self, nanos: u64) -> u64 {
        let ticks = (u128::from(nanos) << Self::BITS) / (u128::from(self.0) * 1_000);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Returns a slower rate, by which a clock that is `ahead` is right again after a period.
    pub(super) fn slowed(self, ahead: u64) -> Self {
        let less = u128::from(self.0) * u128::from(ahead) / u128::from(PERIOD);
        Self(self.0.saturating_sub(less as u64).max(1))
    }
}

/// A reading of a source, the time at it, and the rate from there on, for a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    /// Whether the source is the processor's counter, and not the kernel's clock.
    is_counter: bool,
    /// What the source showed when `micros` began.
    ticks: u64,
    micros: u64,
    rate: Rate,
}

impl Anchor {
    /// Creates an anchor at a time in nanoseconds. `counter` has the counter at that time and its
    /// rate; without it the anchor is of the kernel's clock, which showed `monotonic`. A clock that
    /// is `ahead` in nanoseconds is slowed.
    pub(super) fn new(nanos: u64, counter: Option<(u64, Rate)>, monotonic: u64, ahead: u64) -> Self {
        let (ticks, rate) = counter.unwrap_or((monotonic, Rate::KERNEL));
        let rate = rate.slowed(ahead);
        Self {
            is_counter: counter.is_some(),
            // One tick more, so that rounding puts the time forward and not back.
            ticks: ticks.wrapping_sub(rate.ticks(nanos % 1_000) + 1),
            micros: nanos / 1_000,
            rate,
        }
    }

    pub(super) const fn is_counter(&self) -> bool {
        self.is_counter
    }

    pub(super) const fn micros(&self) -> u64 {
        self.micros
    }

    /// Returns the latest time, in nanoseconds, that readers may have been told by this anchor
    /// until its source shows `ticks`. `None` if that tells nothing of them: it is before the
    /// anchor, or so long after it that this is a pause or another processor.
    pub(super) fn told(&self, ticks: u64) -> Option<u64> {
        let passed = self.rate.nanos(ticks.wrapping_sub(self.ticks));
        (passed < 2 * PERIOD).then(|| self.micros * 1_000 + passed.min(PERIOD) + 1)
    }
}

/// The current anchor, and the one before, whose room the next one takes. No reader waits.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Anchors {
    slots: [Slot; 2],
    /// Grows with each anchor; its last bit tells where the current one lies.
    generation: AtomicU64,
}

#[derive(Debug, Default)]
struct Slot {
    ticks: AtomicU64,
    micros: AtomicU64,
    rate: AtomicU64,
    /// For how many ticks of the counter it serves; 0 if its source is the kernel's clock.
    serves: AtomicU64,
}

impl Anchors {
    pub(super) fn new(anchor: &Anchor) -> Self {
        let anchors = Self {
            slots: Default::default(),
            generation: AtomicU64::new(0),
        };
        anchors.set(anchor);
        anchors
    }

    /// Reads the counter. Returns the time in microseconds, or `None` if the source is the kernel's
    /// clock, if another anchor is due, or if it has just come.
    #[inline]
    pub(super) fn by_counter(&self, sources: &impl Sources) -> Option<u64> {
        let ticks = sources.ticks()?;
        let generation = self.generation.load(Ordering::Acquire);
        let slot = self.slot(generation);
        // On a processor whose counter is behind, this is far beyond what the anchor serves for.
        let ticks = ticks.wrapping_sub(slot.ticks.load(Ordering::Relaxed));
        if ticks >= slot.serves.load(Ordering::Relaxed) {
            return None;
        }
        self.of_one_anchor(generation, slot.micros_after(ticks))
    }

    /// As [`by_counter`](Self::by_counter), of the kernel's clock.
    pub(super) fn by_kernel(&self, sources: &impl Sources) -> Option<u64> {
        let generation = self.generation.load(Ordering::Acquire);
        let slot = self.slot(generation);
        let ticks = sources.monotonic().wrapping_sub(slot.ticks.load(Ordering::Relaxed));
        if slot.serves.load(Ordering::Relaxed) > 0 || ticks >= PERIOD {
            return None;
        }
        self.of_one_anchor(generation, slot.micros_after(ticks))
    }

    /// Returns a time if all words that it was made from are of one anchor, and its source was read
    /// before the next one came.
    #[inline]
    fn of_one_anchor(&self, generation: u64, micros: u64) -> Option<u64> {
        fence(Ordering::Acquire);
        (self.generation.load(Ordering::Relaxed) == generation).then_some(micros)
    }

    /// Sets the next anchor. One thread does so at a time.
    pub(super) fn set(&self, anchor: &Anchor) {
        let serves = if anchor.is_counter {
            anchor.rate.ticks(PERIOD)
        } else {
            0
        };
        let next = self.generation.load(Ordering::Relaxed) + 1;
        let slot = self.slot(next);
        // A reader who is still at the anchor before the current one finds the generation changed.
        fence(Ordering::Release);
        slot.ticks.store(anchor.ticks, Ordering::Relaxed);
        slot.micros.store(anchor.micros, Ordering::Relaxed);
        slot.rate.store(anchor.rate.0, Ordering::Relaxed);
        slot.serves.store(serves, Ordering::Relaxed);
        self.generation.store(next, Ordering::Release);
    }

    #[inline]
    fn slot(&self, generation: u64) -> &Slot {
        &self.slots[generation as usize & 1]
    }
}

impl Slot {
    /// Returns the time after so many ticks. In a period there are less than 2^17 microseconds, so
    /// this does not overflow.
    #[inline]
    fn micros_after(&self, ticks: u64) -> u64 {
        let passed = ticks.wrapping_mul(self.rate.load(Ordering::Relaxed)) >> Rate::BITS;
        self.micros.load(Ordering::Relaxed) + passed
    }
}
