//! How a counter stands, told.

use std::cmp::Reverse;
use std::fmt;

use rate_limit::{Decision, StoredCounter, StoredRule};
use serde::Serialize;

use super::function::algorithm;
use super::left::Left;

/// A counter and its rule. Nothing tells more of the client than its hash, as it stands in keys.
#[derive(Debug, Serialize)]
pub(super) struct Counter {
    /// The name of the function, if it is known.
    pub(super) method: Option<String>,
    /// The hash of the rule, as it stands in keys.
    id: String,
    pub(super) client: String,
    algorithm: Option<&'static str>,
    pub(super) policy: Option<String>,
    #[serde(flatten)]
    pub(super) standing: Option<Standing>,
}

/// What a call that weighs 1 would be told.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    allowed: bool,
    blocked: bool,
    limit: u32,
    used: u32,
    remaining: u32,
    retry_after_seconds: Option<f64>,
    reset_after_seconds: f64,
    #[serde(skip)]
    pub(super) decision: Decision,
}

impl Counter {
    pub(super) fn new(counter: StoredCounter, rules: &[StoredRule]) -> Self {
        let rule = rules.iter().find(|rule| rule.id == counter.rule);
        let blocked = counter.blocked;
        Self {
            method: rule.map(|rule| rule.function.clone()),
            id: counter.rule,
            client: counter.client,
            algorithm: rule.map(|rule| algorithm(rule.algorithm)),
            policy: rule.and_then(|rule| rule.policy).map(|policy| policy.to_string()),
            standing: counter.decision.map(|decision| Standing {
                allowed: decision.allowed,
                blocked,
                limit: decision.limit(),
                used: decision.limit().saturating_sub(decision.remaining),
                remaining: decision.remaining,
                retry_after_seconds: decision.retry_after.map(|after| after.as_secs_f64()),
                reset_after_seconds: decision.reset_after.as_secs_f64(),
                decision,
            }),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.method.as_deref().unwrap_or(&self.id)
    }

    /// Who is refused is first, then who has used the most of the limit.
    pub(super) fn order(&self) -> impl Ord + use<> {
        let rank = self.standing.as_ref().map(|standing| {
            let share = u64::from(standing.used) * 1_000_000 / u64::from(standing.limit.max(1));
            (!standing.allowed, standing.decision.retry_after, share)
        });
        (Reverse(rank), self.id.clone(), self.client.clone())
    }

    /// Whether it is the same one, told again.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.id == other.id && self.client == other.client
    }
}

impl Standing {
    pub(super) const fn refuses(&self) -> bool {
        !self.allowed
    }

    pub(super) fn used(&self) -> String {
        format!("{}/{}", self.used, self.limit)
    }

    pub(super) fn refused_for(&self) -> String {
        let blocked = if self.blocked { ", blocked" } else { "" };
        match (self.allowed, self.decision.retry_after) {
            (true, _) => String::new(),
            (false, Some(after)) => format!("{}{blocked}", Left(after)),
            (false, None) => format!("good{blocked}"),
        }
    }
}

/// As `refused for 9m 58s, 0 of 5 left, whole again in 9m 58s`.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.allowed {
            f.write_str("allowed")?;
        } else {
            write!(f, "refused for {}", self.refused_for())?;
        }
        write!(f, ", {} of {} left", self.remaining, self.limit)?;
        if !self.decision.reset_after.is_zero() {
            write!(f, ", whole again in {}", Left(self.decision.reset_after))?;
        }
        Ok(())
    }
}
