//! Gaps: the time from one event of a client to his next.

/// All gaps, the shortest first, in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Gaps(Vec<u64>);

impl Gaps {
    pub fn of<'a>(timelines: impl Iterator<Item = &'a [u64]>) -> Self {
        let mut gaps: Vec<u64> = timelines
            .flat_map(|times| times.windows(2).map(|pair| pair[1] - pair[0]))
            .collect();
        gaps.sort_unstable();
        Self(gaps)
    }

    pub const fn count(&self) -> usize {
        self.0.len()
    }

    /// The percentile by nearest rank: the shortest gap such that `percent` of a hundred gaps are no longer. `None` if there are no gaps.
    pub fn percentile(&self, percent: u32) -> Option<u64> {
        nearest_rank(&self.0, f64::from(percent) / 100.0)
    }

    /// The part of the gaps that are shorter.
    pub fn shorter_than(&self, gap: u64) -> f64 {
        self.0.partition_point(|one| *one < gap) as f64 / self.0.len() as f64
    }
}

/// The least of sorted values such that this part of them are no greater. `None` if there are none.
pub fn nearest_rank(sorted: &[u64], share: f64) -> Option<u64> {
    // Against what binary fractions add: 0.07 of 100 is the 7th, and not the 8th.
    let rank = (share * sorted.len() as f64 - 1e-9).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let gaps = Gaps::of([&[0, 50, 20 + 50, 40 + 70, 35 + 110, 15 + 145][..]].into_iter());
        let percentiles = [5, 20, 30, 40, 50, 100].map(|percent| gaps.percentile(percent));
        assert_eq!(
            percentiles,
            [15, 15, 20, 20, 35, 50].map(Some),
            "of 15, 20, 35, 40 and 50"
        );
        assert_eq!(Gaps::of([&[7][..]].into_iter()).percentile(50), None);
        let hundred = Gaps((1..=100).collect());
        for percent in 1..=100 {
            assert_eq!(hundred.percentile(percent), Some(u64::from(percent)));
        }
        assert_eq!(hundred.shorter_than(26), 0.25);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_shortest_that_enough_are_no_longer_than(
            times in prop::collection::vec(prop::collection::vec(0..1_000_u64, 1..20), 1..20),
            percent in 1..=100_u32,
        ) {
            let timelines: Vec<Vec<u64>> = times.into_iter().map(|mut times| { times.sort_unstable(); times }).collect();
            let gaps: Vec<u64> = timelines.iter().flat_map(|times| (1..times.len()).map(|n| times[n] - times[n - 1])).collect();
            let enough = |gap: &&u64| gaps.iter().filter(|one| one <= gap).count() * 100 >= percent as usize * gaps.len();
            let found = Gaps::of(timelines.iter().map(Vec::as_slice)).percentile(percent);
            prop_assert_eq!(found, gaps.iter().filter(enough).min().copied());
        }
    }
}
