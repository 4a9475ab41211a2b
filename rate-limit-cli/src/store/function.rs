//! Which function an operator means.

use std::collections::BTreeSet;

use rate_limit::{Algorithm, Client, Key, Method, Policy, Rule, StoredRule};

use super::Store;
use crate::failure::{Code, Failure};
use crate::nearest::likeness;

/// The rules of the function by this name, or by a name that ends in `::` and this one; judged by this policy, if one is given.
pub(super) async fn rules_of(store: &Store, name: &str, policy: Option<Policy>) -> Result<Vec<StoredRule>, Failure> {
    let mut rules = store.rules().await?;
    if rules.is_empty() && matches!(store, Store::Sql(_)) {
        // There are no names, but rows there may be.
        let rule = |place| StoredRule::new(name, Algorithm::TokenBucket, place);
        rules = (0..Rule::MAX as u8).map(rule).collect();
    }
    let names: BTreeSet<String> = rules.iter().map(|rule| rule.function.clone()).collect();
    let function = meant(store, name, &names)?;
    rules.retain(|rule| rule.function == function);
    if let Some(policy) = policy {
        rules.retain(|rule| rule.algorithm == policy.algorithm());
        if rules.is_empty() {
            return Err(Failure::new(
                Code::Unknown,
                format!("`{function}` has no counters of a {}", algorithm(policy.algorithm())),
            ));
        }
        // Where the numbers tell which counter it is, no others judge it.
        for rule in rules.iter_mut().filter(|rule| !rule.by_numbers) {
            rule.policy = Some(policy);
        }
    }
    Ok(rules)
}

/// The whole name.
fn meant(store: &Store, name: &str, names: &BTreeSet<String>) -> Result<String, Failure> {
    if names.contains(name) {
        return Ok(name.to_owned());
    }
    let ends_so = |known: &&String| known.strip_suffix(name).is_some_and(|path| path.ends_with("::"));
    let ending: Vec<&String> = names.iter().filter(ends_so).collect();
    let told = match ending[..] {
        [one] => return Ok(one.clone()),
        [] if names.is_empty() => format!(
            "there is no function `{name}`, nor any other: see whether --prefix is right; {}",
            store.how_to_name()
        ),
        [] => format!("there is no function `{name}`, but {}", listed(name, names)),
        _ => format!(
            "`{name}` is several functions, {}: give the whole name",
            listed(name, names)
        ),
    };
    Err(Failure::new(Code::Unknown, told))
}

/// The nearest first.
fn listed(name: &str, names: &BTreeSet<String>) -> String {
    const MOST: usize = 10;
    let alike = |known: &String| {
        let last = known.rsplit("::").next().unwrap_or(known);
        likeness(name, known).max(likeness(name, last))
    };
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_by(|one, other| alike(other).total_cmp(&alike(one)));
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = match names.len().checked_sub(MOST) {
        Some(more @ 1..) => format!(" and {more} more"),
        _ => String::new(),
    };
    shown.join(", ") + &more
}

/// Its method. The name stays for as long as the process, which asks for a few.
pub(super) fn method(function: &str) -> Method {
    Method::named(function.to_owned().leak())
}

/// The rule for a client, if its policy is known.
pub(super) fn rule_for(rule: &StoredRule, client: Client) -> Option<Rule> {
    let of = Rule::new(rule.policy?, Key::new(method(&rule.function), client)).place(rule.place);
    Some(if rule.by_numbers { of.by_numbers() } else { of })
}

pub(super) const fn algorithm(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::SlidingWindow => "sliding window",
        Algorithm::FixedWindow => "fixed window",
        Algorithm::TokenBucket => "token bucket",
        _ => "algorithm of a later version",
    }
}
