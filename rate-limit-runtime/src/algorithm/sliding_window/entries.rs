//! The entries of a log, oldest first: in place while they are few, so that a decision looks into one piece of memory.

use std::collections::VecDeque;

use crate::verdict::Hit;

/// How many entries lie in place.
const FEW: usize = 5;

/// How many there is room for at first when they are more.
const FIRST_MANY: usize = 16;

/// A row of hits that never decreases.
#[derive(Debug)]
pub(super) enum Entries {
    Few {
        length: u8,
        hits: [Hit; FEW],
    },
    /// It does not go back: whoever needs the room once will again, and is then not kept waiting for memory.
    Many(VecDeque<Hit>),
}

impl Default for Entries {
    fn default() -> Self {
        Self::Few {
            length: 0,
            hits: [Hit::NONE; FEW],
        }
    }
}

impl Entries {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few { length, .. } => usize::from(*length),
            Self::Many(hits) => hits.len(),
        }
    }

    /// The one in this place, the oldest being 0.
    #[inline]
    pub(super) fn at(&self, place: usize) -> Hit {
        match self {
            Self::Few { hits, .. } => hits[place],
            Self::Many(hits) => hits[place],
        }
    }

    /// How many there are from the oldest on for which this holds: for each that it holds for, it holds for all before. Steps double
    /// from the old end, where as a rule little is found, then halve.
    #[inline]
    pub(super) fn count_while(&self, holds: impl Fn(Hit) -> bool) -> usize {
        if self.len() == 0 || !holds(self.at(0)) {
            return 0;
        }
        self.count_many_while(holds)
    }

    #[inline(never)]
    fn count_many_while(&self, holds: impl Fn(Hit) -> bool) -> usize {
        let (mut low, mut step) = (1, 1);
        while low + step <= self.len() && holds(self.at(low + step - 1)) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.len() + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if holds(self.at(middle - 1)) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    pub(super) fn push(&mut self, hit: Hit, times: u32) {
        match self {
            Self::Many(hits) if times == 1 => hits.push_back(hit),
            Self::Few { length, hits } if times == 1 && usize::from(*length) < FEW => {
                hits[usize::from(*length)] = hit;
                *length += 1;
            }
            _ => self.push_many(hit, times),
        }
    }

    #[cold]
    fn push_many(&mut self, hit: Hit, times: u32) {
        if let Self::Few { length, hits } = self {
            let held = usize::from(*length);
            if let Some(free) = hits.get_mut(held..held + times as usize) {
                free.fill(hit);
                *length += times as u8;
                return;
            }
            let mut many = VecDeque::with_capacity(FIRST_MANY.max(held + times as usize));
            many.extend(&hits[..held]);
            *self = Self::Many(many);
        }
        if let Self::Many(hits) = self {
            hits.extend((0..times).map(|_| hit));
        }
    }

    #[inline]
    pub(super) fn remove_oldest(&mut self, count: usize) {
        if count > 0 {
            self.remove(0, count);
        }
    }

    /// Removes those from one place up to another.
    pub(super) fn remove(&mut self, from: usize, to: usize) {
        match self {
            Self::Few { length, hits } => {
                hits.copy_within(to..usize::from(*length), from);
                *length -= (to - from) as u8;
            }
            Self::Many(hits) => drop(hits.drain(from..to)),
        }
    }

    /// Makes all from a place on this hit.
    pub(super) fn fill_from(&mut self, from: usize, hit: Hit) {
        for place in from..self.len() {
            match self {
                Self::Few { hits, .. } => hits[place] = hit,
                Self::Many(hits) => hits[place] = hit,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever lies in place does as a plain row does.
    #[test]
    fn few_and_many_are_one_row() {
        let hit = Hit::from_raw;
        for fill in 0..40_u64 {
            let (mut entries, mut row) = (Entries::default(), Vec::new());
            for next in 1..=fill {
                entries.push(hit(next), 1);
                row.push(hit(next));
            }
            entries.push(hit(fill + 1), (fill % 4) as u32);
            row.extend((0..fill % 4).map(|_| hit(fill + 1)));
            for bound in 0..=fill + 2 {
                assert_eq!(
                    entries.count_while(|entry| entry <= hit(bound)),
                    row.partition_point(|entry| *entry <= hit(bound)),
                    "{fill}, {bound}"
                );
            }
            let (from, to) = (row.len() / 3, row.len() / 2);
            entries.remove(from, to);
            row.drain(from..to);
            entries.remove_oldest(row.len().min(1));
            row.drain(..row.len().min(1));
            entries.fill_from(row.len() / 2, hit(100));
            let half = row.len() / 2;
            row[half..].fill(hit(100));
            let held: Vec<_> = (0..entries.len()).map(|place| entries.at(place)).collect();
            assert_eq!(held, row, "{fill}");
        }
    }
}
