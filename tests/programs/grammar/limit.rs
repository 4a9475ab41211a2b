//! The arguments of the attribute, and what they mean for a call.

use super::Grammar;
use super::answer::Answer;
use super::parameter::{Binding, Kind};
use crate::rule::{Rule, Settle};

/// The attributes of one function, the outermost first.
pub struct Limits {
    pub attributes: Vec<String>,
    /// The attribute of the trait, where that has the numbers.
    pub of_trait: Option<String>,
    pub rules: Vec<Rule>,
    pub skip_if: bool,
    pub deny_if: bool,
    /// The bindings that the arguments use.
    pub used: Vec<String>,
}

impl Limits {
    pub fn settle(&self) -> bool {
        self.rules.iter().any(|rule| rule.settle != Settle::Never)
    }
}

/// What an attribute may use of its function.
#[derive(Clone, Copy)]
pub struct Reach<'a> {
    /// The bindings that a key may use.
    pub bindings: &'a [Binding],
    /// How many attributes may be stacked.
    pub stacked: u64,
    /// `true` if the rule takes its numbers from the trait of the `impl`.
    pub inherits: bool,
    /// The number that `name` is made of.
    pub number: u64,
}

pub fn limits(g: &mut Grammar, answer: &Answer, reach: Reach<'_>) -> Limits {
    let mut limits = Limits {
        attributes: Vec::new(),
        of_trait: None,
        rules: Vec::new(),
        skip_if: false,
        deny_if: false,
        used: Vec::new(),
    };
    let stacked = if g.one_in(4) {
        1 + g.random.below(reach.stacked)
    } else {
        1
    };
    let mut all = Vec::new();
    for _ in 0..stacked {
        let (numbers, mut rule) = numbers(g);
        let mut arguments = options(g, answer, reach, &mut rule, &mut limits.used);
        match reach.inherits {
            true => limits.of_trait = Some(format!("#[limit_per_time({})]", numbers.join(", "))),
            false => arguments = [numbers, arguments].concat(),
        }
        // The first refuses in any case, so that there is a refusal to compare.
        rule.observes = !all.is_empty() && g.one_in(5);
        if rule.observes {
            arguments.push("observe".to_owned());
        }
        all.push(arguments);
        limits.rules.push(rule);
    }
    if stacked == 1 && g.one_in(8) {
        limits.skip_if = true;
        all[0].push("skip_if = skips()".to_owned());
    }
    let settles = limits.settle();
    let mut once = Vec::new();
    if g.one_in(8) {
        limits.deny_if = true;
        once.push("deny_if = denies()".to_owned());
    }
    let (on_limit, asked) = answer.on_limit();
    if asked || (!on_limit.is_empty() && g.one_in(10)) {
        once.push(format!("on_limit = {}", g.one_of(on_limit)));
    }
    let judged = limits.rules.iter().all(|rule| rule.settle != Settle::Never);
    if settles && judged && answer.is_send() && g.one_in(4) {
        once.push(
            g.one_of(&["success = |out| input() < 100 && good(out)", "success = good"])
                .to_owned(),
        );
    }
    if !settles && g.one_in(10) {
        once.push("permit = _permit".to_owned());
    }
    if g.one_in(10) {
        once.push("limiter = limiter()".to_owned());
    }
    if g.one_in(10) {
        once.push(format!("name = \"case {}\"", reach.number));
    }
    if g.one_in(12) {
        once.push(g.one_of(&["crate = rate_limit", "crate = ::rate_limit"]).to_owned());
    }
    for argument in once {
        let at = g.random.below(stacked) as usize;
        all[at].push(argument);
    }
    for arguments in all {
        let path = g.one_of(&[
            "limit_per_time",
            "limit_per_time",
            "rate_limit::limit_per_time",
            "::rate_limit::limit_per_time",
        ]);
        let comma = if g.one_in(10) { "," } else { "" };
        limits
            .attributes
            .push(format!("#[{path}({}{comma})]", arguments.join(", ")));
    }
    limits
}

/// Returns the arguments that say how many calls are admitted.
fn numbers(g: &mut Grammar) -> (Vec<String>, Rule) {
    let cost = if g.one_in(6) { 2 } else { 1 };
    let rule = Rule {
        count: cost + g.random.below(u64::from(4 - cost)) as u32,
        cost,
        settle: Settle::Never,
        observes: false,
    };
    let constant = ["", "ONE", "TWO", "THREE"][rule.count as usize];
    let (count, hour) = match g.one_in(4) {
        true => (constant.to_owned(), g.one_of(&["HOUR", "Duration::from_secs(3_601)"])),
        false => (rule.count.to_string(), "\"1h\""),
    };
    let arguments = match g.random.below(6) {
        0 | 1 => vec![count, hour.to_owned()],
        2 | 3 => vec![format!("count = {count}"), format!("window = {hour}")],
        4 => vec![
            format!("window = {hour}"),
            "algorithm = fixed_window".to_owned(),
            format!("count = {count}"),
        ],
        _ => vec![
            "algorithm = token_bucket".to_owned(),
            format!("capacity = {count}"),
            format!("refill = {hour}"),
        ],
    };
    (arguments, rule)
}

/// Returns the other arguments of one limit.
fn options(g: &mut Grammar, answer: &Answer, reach: Reach<'_>, rule: &mut Rule, used: &mut Vec<String>) -> Vec<String> {
    let mut arguments = vec![format!("key = {}", key(g, reach, used))];
    if rule.cost == 2 {
        arguments.push(g.one_of(&["cost = 2", "cost = TWO", "cost = ONE + 1"]).to_owned());
    }
    let (settle, argument) = match g.random.below(8) {
        0 | 1 => (Settle::ResetOnSuccess, "reset_on_success"),
        2 => (Settle::RefundOnSuccess, "refund_on_success"),
        3 if answer.is_send() => (Settle::RefundOnError, "refund_on_error"),
        _ => (Settle::Never, ""),
    };
    rule.settle = settle;
    if settle != Settle::Never {
        arguments.push(argument.to_owned());
    }
    if g.one_in(10) {
        let modes = [
            "on_store_error = open",
            "on_store_error = closed",
            "on_store_error = local",
        ];
        arguments.push(g.one_of(&modes).to_owned());
    }
    arguments
}

fn key(g: &mut Grammar, reach: Reach<'_>, used: &mut Vec<String>) -> String {
    let parts = 1 + g.random.below(3);
    let mut keys = Vec::new();
    for _ in 0..parts {
        keys.push(part(g, reach, used));
    }
    match keys.as_slice() {
        [one] if g.one_in(2) => one.clone(),
        [one] => format!("({one},)"),
        [first, rest @ ..] if g.one_in(4) => format!("(({first}, {}), 1)", rest.join(", ")),
        all => format!("({})", all.join(", ")),
    }
}

fn part(g: &mut Grammar, reach: Reach<'_>, used: &mut Vec<String>) -> String {
    let usable: Vec<&Binding> = reach
        .bindings
        .iter()
        .filter(|b| !b.is_ignored() && b.kind != Kind::Function)
        .collect();
    if usable.is_empty() || g.one_in(6) {
        return g
            .one_of(&["\"everybody\"", "7", "ONE", "\"a\".to_owned() + \"b\"", "'c'"])
            .to_owned();
    }
    let binding = usable[g.random.below(usable.len() as u64) as usize];
    let keys = binding.keys();
    used.push(binding.name.clone());
    keys[g.random.below(keys.len() as u64) as usize].clone()
}
