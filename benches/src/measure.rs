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

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => f64::NAN,
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}
