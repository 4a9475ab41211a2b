//! The time of a log, cut into slots.

/// Slots of one width, aligned to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    start: u64,
    width: u64,
    count: usize,
}

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WIDTHS: [u64; 12] = [
    SECOND,
    5 * SECOND,
    15 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    DAY,
    7 * DAY,
    28 * DAY,
];

impl Slots {
    /// As many as a plot shows well.
    const MOST: u64 = 240;

    /// Slots from the first event to the last.
    pub fn between(first: u64, last: u64) -> Self {
        let count = |width: u64| last / width - first / width + 1;
        let width = WIDTHS.into_iter().find(|width| count(*width) <= Self::MOST);
        let width = width.unwrap_or_else(|| (last - first) / Self::MOST + 1);
        Self {
            start: first - first % width,
            width,
            count: (last / width - first / width + 1) as usize,
        }
    }

    pub const fn count(&self) -> usize {
        self.count
    }

    pub const fn width(&self) -> u64 {
        self.width
    }

    /// Which one a time is in that is none before the first event and none after the last.
    pub const fn of(&self, at: u64) -> usize {
        ((at - self.start) / self.width) as usize
    }

    /// When a slot begins.
    pub const fn begin(&self, slot: usize) -> u64 {
        self.start + slot as u64 * self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_no_more_than_a_plot_shows() {
        let hour = Slots::between(HOUR + 1, 2 * HOUR - 1);
        assert_eq!((hour.width, hour.start, hour.count), (15 * SECOND, HOUR, 240));
        let month = Slots::between(DAY + HOUR, 31 * DAY);
        assert_eq!((month.width, month.start, month.count), (6 * HOUR, DAY, 121));
        let one = Slots::between(DAY, DAY);
        assert_eq!((one.width, one.count, one.of(DAY)), (SECOND, 1, 0));
        for last in [DAY, 400 * DAY, 40_000 * DAY, u64::MAX / 2] {
            let slots = Slots::between(HOUR, last);
            assert!(slots.count as u64 <= Slots::MOST + 1);
            assert_eq!(slots.of(last), slots.count - 1);
            assert!(slots.begin(slots.of(last)) <= last && last < slots.begin(slots.count));
        }
    }
}
