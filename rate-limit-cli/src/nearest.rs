//! Which of the known names somebody meant.

/// The name most like this one, unless none is like it.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Below it two names have little in common.
    const LIKE: f64 = 0.7;
    known
        .map(|known| (likeness(name, known), known))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

/// How much two names have in common, from 0 to 1.
pub fn likeness(name: &str, known: &str) -> f64 {
    strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_is_meant_if_any() {
        let known = || ["client_ip", "time", "status"].into_iter();
        assert_eq!(nearest("client", known()), Some("client_ip"));
        assert_eq!(nearest("Tiem", known()), Some("time"));
        assert_eq!(nearest("member", known()), None);
        assert_eq!(nearest("time", std::iter::empty()), None);
    }
}
