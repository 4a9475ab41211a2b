//! Bursts: how many events of a client come in a row.

use std::collections::BTreeMap;

use serde::Serialize;

/// How many bursts there are of each size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    sizes: BTreeMap<u64, u64>,
    total: u64,
}

/// The bursts of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Size {
    pub events: u64,
    pub bursts: u64,
    /// The part of all bursts that are of this size.
    pub share: f64,
    /// The part of all bursts that are of this size or smaller.
    pub coverage: f64,
}

impl Bursts {
    /// Events of a client that are at most `gap` apart are of one burst.
    pub fn of<'a>(timelines: impl Iterator<Item = &'a [u64]>, gap: u64) -> Self {
        let mut bursts = Self::default();
        for times in timelines {
            for burst in times.chunk_by(|one, next| next - one <= gap) {
                *bursts.sizes.entry(burst.len() as u64).or_default() += 1;
                bursts.total += 1;
            }
        }
        bursts
    }

    /// By size, the smallest first.
    pub fn sizes(&self) -> impl Iterator<Item = Size> {
        let whole = self.total as f64;
        self.sizes.iter().scan(0, move |smaller, (&events, &bursts)| {
            *smaller += bursts;
            Some(Size {
                events,
                bursts,
                share: bursts as f64 / whole,
                coverage: *smaller as f64 / whole,
            })
        })
    }

    /// The smallest size that covers this part of the bursts.
    pub fn covering(&self, share: f64) -> Option<Size> {
        // Against what binary fractions lose: 970 of 1,000 are 97 %, and so is what was written.
        self.sizes().find(|size| size.coverage >= share - 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(timelines: &[&[u64]], gap: u64) -> Vec<(u64, u64)> {
        let bursts = Bursts::of(timelines.iter().copied(), gap);
        bursts.sizes().map(|size| (size.events, size.bursts)).collect()
    }

    #[test]
    fn a_gap_as_long_as_allowed_is_within_a_burst() {
        assert_eq!(bursts(&[&[0, 60, 120, 181], &[500]], 60), [(1, 2), (3, 1)]);
        assert_eq!(bursts(&[&[7, 7, 7]], 0), [(3, 1)]);
        assert_eq!(bursts(&[], 60), []);
    }

    #[test]
    fn coverage_is_cumulative() {
        let timelines: [&[u64]; 4] = [&[0], &[0], &[0, 1], &[0, 1, 2]];
        let bursts = Bursts::of(timelines.into_iter(), 1);
        let sizes: Vec<_> = bursts.sizes().map(|size| (size.share, size.coverage)).collect();
        assert_eq!(sizes, [(0.5, 0.5), (0.25, 0.75), (0.25, 1.0)]);
        let covering = |share| bursts.covering(share).map(|size| size.events);
        assert_eq!([0.5, 0.51, 0.75, 0.76, 1.0].map(covering), [1, 2, 2, 3, 3].map(Some));
    }

    /// Whatever share it is, what covers just as much is enough.
    #[test]
    fn as_much_as_was_asked_for_is_enough() {
        for (bursts, written) in (1..10_000).map(|part| (part, format!("{}.{:02}", part / 100, part % 100))) {
            let sizes = BTreeMap::from([(1, bursts), (2, 10_000 - bursts)]);
            let whole = Bursts { sizes, total: 10_000 };
            let share = written.parse::<f64>().expect("a percentage") / 100.0;
            let covering = |share| whole.covering(share).map(|size| size.events);
            assert_eq!(
                (covering(share), covering(share + 1e-6)),
                (Some(1), Some(2)),
                "{written}"
            );
        }
    }
}
