//! Ours and the peer's in turns, so that whatever else the machine does comes to both.

/// Measures both once without counting it, then `rounds` times each in turns. Tells the median of each.
pub fn alternate(rounds: usize, mut ours: impl FnMut() -> f64, mut peer: impl FnMut() -> f64) -> (f64, f64) {
    ours();
    peer();
    let (mut our, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // Neither is always the first.
        if round % 2 == 0 {
            our.push(ours());
            theirs.push(peer());
        } else {
            theirs.push(peer());
            our.push(ours());
        }
    }
    (median(our), median(theirs))
}

/// As [`alternate`], of any number. Tells the median of each.
pub fn in_turns(rounds: usize, contenders: &mut [&mut dyn FnMut() -> f64]) -> Vec<f64> {
    let mut values = vec![Vec::new(); contenders.len()];
    for contender in contenders.iter_mut() {
        contender();
    }
    for round in 0..rounds {
        for turn in 0..contenders.len() {
            // None is always the first.
            let place = (turn + round) % contenders.len();
            values[place].push(contenders[place]());
        }
    }
    values.into_iter().map(median).collect()
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => f64::NAN,
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_middle_two() {
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![10.0, 2.0, 1.0, 4.0]), 3.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn both_are_measured_in_turns_and_neither_is_always_the_first() {
        let order = RefCell::new(String::new());
        let measure = |who| {
            order.borrow_mut().push(who);
            order.borrow().len() as f64
        };
        let (ours, peer) = alternate(3, || measure('o'), || measure('p'));
        assert_eq!(order.into_inner(), "opoppoop");
        // Those of the first pair, 1 and 2, do not count.
        assert_eq!((ours, peer), (6.0, 5.0));
    }
}
