//! Policies by name, from configuration.

use std::cmp::Ordering;

use crate::method::Method;
use crate::policy::Policy;

/// Numbers from configuration, by name.
///
/// A limiter that has some ([`LimiterBuilder::policies`](crate::LimiterBuilder::policies)) looks up in them
///
/// * the policy of every function or layer that asks for one by name, `policy = "read-count"` or
///   [`Numbers::Named`](crate::Numbers::Named),
/// * every other annotated function or layer, by its own name: the full path, as [`Method::name`] tells it, or what `name = ".."` or the
///   layer says. An entry takes the place of all numbers in the attribute, of `block` too. That of its second limit is `NAME#2`, of its third
///   `NAME#3`, and so on.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Limiter, Policies, Policy};
///
/// let policies = Policies::new()
///     .with("read-count", Policy::token_bucket(3, Duration::from_secs(50)))
///     .with("my_service::login", Policy::sliding_window(3, Duration::from_secs(600)));
/// assert_eq!(policies.get("read-count").map(|policy| policy.count()), Some(3));
///
/// let limiter = Limiter::builder().policies(policies).build()?;
/// // Later, when the configuration changed:
/// limiter.set_policies(Policies::new().with("read-count", Policy::token_bucket(10, Duration::from_secs(25))))?;
/// # Ok::<(), rate_limit_runtime::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// By name, each once.
    entries: Vec<(Box<str>, Policy)>,
}

impl Policies {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// With one more. It takes the place of one by the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<Box<str>>, policy: Policy) -> Self {
        let name = name.into();
        match self.place(&name, "") {
            Ok(place) => self.entries[place].1 = policy,
            Err(place) => self.entries.insert(place, (name, policy)),
        }
        self
    }

    /// The policy by this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Policy> {
        self.place(name, "").ok().map(|place| self.entries[place].1)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Policy)> {
        self.entries.iter().map(|(name, policy)| (&**name, *policy))
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What holds in place of the numbers of a function's own, for its rule in this place.
    pub(crate) fn of(&self, method: &Method, place: u8) -> Option<Policy> {
        let place = self.place(method.name(), suffix(place)).ok()?;
        Some(self.entries[place].1)
    }

    /// Where the entry by a name in two parts is, or would be: the whole name need not be put together.
    fn place(&self, name: &str, suffix: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(known, _)| order(known, name, suffix))
    }
}

impl<N: Into<Box<str>>> FromIterator<(N, Policy)> for Policies {
    fn from_iter<I: IntoIterator<Item = (N, Policy)>>(entries: I) -> Self {
        let with = |policies: Self, (name, policy): (N, Policy)| policies.with(name, policy);
        entries.into_iter().fold(Self::new(), with)
    }
}

/// What the name of a function is followed by to name a rule of it, by its place.
pub(crate) fn suffix(place: u8) -> &'static str {
    const SUFFIXES: [&str; 8] = ["", "#2", "#3", "#4", "#5", "#6", "#7", "#8"];
    SUFFIXES[usize::from(place)]
}

/// As `known.cmp(name + suffix)`.
fn order(known: &str, name: &str, suffix: &str) -> Ordering {
    match known.as_bytes().split_at_checked(name.len()) {
        Some((head, tail)) => head.cmp(name.as_bytes()).then_with(|| tail.cmp(suffix.as_bytes())),
        None => known.as_bytes().cmp(name.as_bytes()),
    }
}

/// The nearest of `known`, unless all are far off.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (distance(word, known), known))
        .min()
        .filter(|(distance, known)| *distance <= known.len().max(3) / 3)
        .map(|(_, known)| known)
}

/// The edit distance of Levenshtein.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn policy(count: u32) -> Policy {
        Policy::sliding_window(count, Duration::from_secs(60))
    }

    #[test]
    fn each_name_is_there_once_and_the_last_policy_holds() {
        let policies = Policies::new()
            .with("b", policy(1))
            .with("a", policy(2))
            .with("b", policy(3));
        let entries: Vec<_> = policies.iter().collect();
        assert_eq!(entries, [("a", policy(2)), ("b", policy(3))]);
        assert_eq!(policies.get("b"), Some(policy(3)));
        assert_eq!(policies.get("c"), None);
        assert_eq!(Policies::from_iter([("b", policy(3)), ("a", policy(2))]), policies);
    }

    #[test]
    fn the_second_rule_of_a_function_has_an_entry_of_its_own() {
        let names = ["m::a", "m::a#2", "m::a#3", "m::ab", "m::b", "m"];
        let policies: Policies = names.into_iter().zip((1..).map(policy)).collect();
        let count = |name, place| policies.of(&Method::named(name), place).map(|policy| policy.count());
        assert_eq!(
            [0, 1, 2, 3].map(|place| count("m::a", place)),
            [Some(1), Some(2), Some(3), None]
        );
        assert_eq!([0, 1].map(|place| count("m::ab", place)), [Some(4), None]);
        assert_eq!([0, 1].map(|place| count("m::b", place)), [Some(5), None]);
        assert_eq!([0, 1].map(|place| count("m", place)), [Some(6), None]);
        assert_eq!(count("n", 0), None);
        assert_eq!(count("m:", 0), None);
    }

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let known = || ["read-count", "login"].into_iter();
        assert_eq!(nearest("read-cuont", known()), Some("read-count"));
        assert_eq!(nearest("logins", known()), Some("login"));
        assert_eq!(nearest("export", known()), None);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
