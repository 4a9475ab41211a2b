//! What is tried on a log.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use rate_limit::{Algorithm, Policies, Policy};

use crate::failure::{Code, Failure};

/// Policies that hold together, by the name that the report has for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    pub policies: Vec<Policy>,
}

/// As it is given on the command line: `5 in 10m`, or several with ` + ` between them.
impl FromStr for Candidate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let policies: Vec<Policy> = text.split('+').map(str::parse).collect::<Result<_, _>>()?;
        if policies.len() > rate_limit::Rule::MAX {
            return Err(format!(
                "a call is decided by {} policies at most",
                rate_limit::Rule::MAX
            ));
        }
        Ok(Self {
            name: written(&policies),
            policies,
        })
    }
}

fn written(policies: &[Policy]) -> String {
    let policies: Vec<String> = policies.iter().map(Policy::to_string).collect();
    policies.join(" + ")
}

impl Candidate {
    /// Those of a file: of each function one, with all its rules, `NAME`, `NAME#2` and so on.
    pub fn from_file(path: &Path) -> Result<Vec<Self>, Failure> {
        let mut functions: BTreeMap<String, Vec<(String, Policy)>> = BTreeMap::new();
        for (entry, policy) in read(path)?.iter() {
            let function = match entry.rsplit_once('#') {
                Some((function, place)) if place.parse::<u8>().is_ok() => function,
                _ => entry,
            };
            let rules = functions.entry(function.to_owned()).or_default();
            rules.push((entry.to_owned(), policy));
        }
        let candidate = |(name, rules): (String, Vec<(String, Policy)>)| Self {
            name,
            policies: rules.into_iter().map(|(_, policy)| policy).collect(),
        };
        Ok(functions.into_iter().map(candidate).collect())
    }

    /// The same with one number of one policy somewhat lower or higher.
    pub fn neighbours(&self) -> Vec<Self> {
        let mut neighbours = Vec::new();
        for (place, policy) in self.policies.iter().enumerate() {
            for neighbour in neighbours_of(*policy) {
                let mut policies = self.policies.clone();
                policies[place] = neighbour;
                neighbours.push(Self {
                    name: written(&policies),
                    policies,
                });
            }
        }
        neighbours
    }
}

/// One call fewer and more, or a tenth of many; then a fifth of the time less, and a quarter more.
fn neighbours_of(policy: Policy) -> impl Iterator<Item = Policy> {
    let (count, step) = (policy.count(), (policy.count() / 10).max(1));
    let span = match policy.algorithm() {
        Algorithm::TokenBucket => policy.window() / count,
        _ => policy.window(),
    };
    [
        (count - step, span),
        (count.saturating_add(step), span),
        (count, readable(span * 4 / 5)),
        (count, readable(span * 5 / 4)),
    ]
    .into_iter()
    .filter(move |numbers| numbers.0 > 0 && *numbers != (count, span))
    .filter_map(move |(count, span)| {
        let other = match policy.algorithm() {
            Algorithm::TokenBucket => Policy::try_token_bucket(count, span),
            Algorithm::FixedWindow => Policy::try_fixed_window(count, span),
            _ => Policy::try_sliding_window(count, span),
        };
        match policy.block_time() {
            Some(block) => other.ok()?.try_block(block).ok(),
            None => other.ok(),
        }
    })
}

/// To whole seconds, unless it is a few.
fn readable(span: Duration) -> Duration {
    match span.as_secs() {
        0..10 => span,
        _ => Duration::from_secs(span.as_millis().div_ceil(1_000) as u64),
    }
}

/// The policies in a file, TOML by its name, else YAML, which JSON is too.
fn read(path: &Path) -> Result<Policies, Failure> {
    let wrong = |what: String| Failure::new(Code::Input, format!("{}: {what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let policies: Result<Policies, String> = if path.extension().is_some_and(|extension| extension == "toml") {
        toml::from_str(&text).map_err(|error| error.message().to_owned())
    } else {
        serde_saphyr::from_str(&text).map_err(|error: serde_saphyr::Error| error.without_snippet().to_string())
    };
    let policies = policies.map_err(wrong)?;
    if policies.is_empty() {
        return Err(wrong(
            "there are no policies in it: write for example `login: { count: 5, window: 10m }`".to_owned(),
        ));
    }
    Ok(policies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(text: &str) -> Candidate {
        text.parse().expect("policies")
    }

    #[test]
    fn several_policies_hold_together() {
        let both = candidate("5 in 1m+100 in 1d");
        assert_eq!(both.name, "5 in 1m + 100 in 1d");
        assert_eq!(both.policies.len(), 2);
        assert!(
            Candidate::from_str("5 in 1m + ")
                .expect_err("half of it")
                .starts_with("` ` is no policy")
        );
        let nine = ["5 in 1m"; 9].join("+");
        assert_eq!(
            Candidate::from_str(&nine),
            Err("a call is decided by 8 policies at most".to_owned())
        );
    }

    #[test]
    fn neighbours_differ_by_one_number_each() {
        let names = |text| -> Vec<String> { candidate(text).neighbours().into_iter().map(|one| one.name).collect() };
        assert_eq!(
            names("3 and one more each 50s"),
            [
                "2 and one more each 50s",
                "4 and one more each 50s",
                "3 and one more each 40s",
                "3 and one more each 1m3s"
            ]
        );
        assert_eq!(names("1 in 1m"), ["2 in 1m", "1 in 48s", "1 in 1m15s"]);
        assert_eq!(
            names("100 in each 1h, then blocked for 1d")[..2],
            [
                "90 in each 1h, then blocked for 1d",
                "110 in each 1h, then blocked for 1d"
            ]
        );
        assert_eq!(names("5 in 1m + 100 in 1d").len(), 8);
        assert_eq!(names("5 in 1m + 100 in 1d")[4], "5 in 1m + 90 in 1d");
    }

    #[test]
    fn rules_of_one_function_are_one_candidate() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("it can be written");
            path
        };
        let yaml = write(
            "policies.yaml",
            "login: { count: 5, window: 1m }\nlogin#2: { count: 100, window: 1d }\nread: { capacity: 3, refill: 50s }",
        );
        let names = |path: &Path| -> Vec<String> {
            let candidates = Candidate::from_file(path).expect("policies");
            candidates
                .iter()
                .map(|one| format!("{}: {}", one.name, written(&one.policies)))
                .collect()
        };
        assert_eq!(
            names(&yaml),
            ["login: 5 in 1m + 100 in 1d", "read: 3 and one more each 50s"]
        );
        let toml = write("policies.toml", "[login]\ncount = 5\nwindow = \"1m\"\n");
        assert_eq!(names(&toml), ["login: 5 in 1m"]);
        let wrong = |path: &Path| Candidate::from_file(path).expect_err("it is wrong").to_string();
        for (name, text, told) in [
            ("a.toml", "[login]\ncount = 5\n", "login.window: is missing"),
            ("a.yaml", "login: { count: 5 }", "login.window: is missing"),
            ("a.json", "{}", "there are no policies in it"),
            ("b.yaml", "login: 5", "login: a policy is a map of its numbers"),
        ] {
            let told_now = wrong(&write(name, text));
            assert!(told_now.contains(told), "{told_now}");
        }
        assert!(wrong(&folder.path().join("none.yaml")).contains("none.yaml: cannot be read"));
    }
}
