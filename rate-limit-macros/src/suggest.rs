//! "Did you mean": the known word that is nearest to a mistyped one.

/// The nearest of `known`, unless all are far off.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|known| (distance(word, known), *known))
        .min()
        .filter(|(distance, known)| *distance <= known.len().max(3) / 3)
        .map(|(_, known)| known)
}

/// `a`, `b` or `c`, in backticks.
pub(crate) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The edit distance of Levenshtein, with a swap of neighbours as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_a_far_one_is_not() {
        let known = ["count", "window", "key", "reset_on_success"];
        assert_eq!(nearest("cuont", &known), Some("count"));
        assert_eq!(nearest("widnow", &known), Some("window"));
        assert_eq!(nearest("reset_on_sucess", &known), Some("reset_on_success"));
        assert_eq!(nearest("banana", &known), None);
    }
}
