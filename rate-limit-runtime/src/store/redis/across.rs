//! Rules of one call whose counters lie in several slots of a cluster: each slot reserves in one atomic step, and if one refuses, what the
//! others have reserved is given back.

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::RedisStore;
use super::failure::runtime_ended;
use super::parted::is_parted;
use crate::algorithm;
use crate::error::StoreError;
use crate::store::verdict::{Decided, combine};
use crate::store::{Change, Charge, Settlement};
use crate::throttle::log_throttled;
use crate::verdict::{Hit, Hits, Verdict};

/// The places of things, those together that one call can have.
pub(super) fn apart<T>(things: &[T], together: impl Fn(&T, &T) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in 0..things.len() {
        let group = groups
            .iter_mut()
            .find(|group| together(&things[group[0]], &things[place]));
        match group {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

impl RedisStore {
    /// Decides charges in several slots. A call that is refused has given back what it reserved before it is told so, if the servers
    /// answer in time; meanwhile others may be refused by what it had reserved.
    pub(super) async fn acquire_across(
        self,
        charges: Vec<Charge>,
        groups: Vec<Vec<usize>>,
        end: Instant,
    ) -> Result<Verdict, StoreError> {
        let mut asked = JoinSet::new();
        for group in groups {
            let store = self.clone();
            let own: Vec<Charge> = group.iter().map(|place| charges[*place]).collect();
            asked.spawn(async move { (store.acquire_together(&own, end).await, group) });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            answers.push(answer.map_err(runtime_ended)?);
        }
        let all_fit = answers
            .iter()
            .all(|(verdict, _)| matches!(verdict, Ok(Verdict::Allowed { .. })));
        if !all_fit {
            self.give_back(&charges, &answers, end).await;
        }
        combined(charges.len(), answers)
    }

    async fn give_back(&self, charges: &[Charge], answers: &[Answer], end: Instant) {
        let mut settlements = Vec::new();
        for (verdict, group) in answers {
            let Ok(Verdict::Allowed { hits, .. }) = verdict else {
                continue;
            };
            for (place, hit) in group.iter().zip(hits).filter(|(_, hit)| **hit != Hit::NONE) {
                let Charge { key, policy, cost, .. } = charges[*place];
                settlements.push(Settlement::new(key, policy, Change::Refund { hit: *hit, cost }));
            }
        }
        let (store, method) = (self.clone(), charges[0].key.method().name());
        // Others may have been refused by what is given back now.
        let changing = self.0.denials.as_ref().map(|denials| denials.changing(&settlements));
        // It goes on if the time of the call is over, or its caller gone.
        let given_back = tokio::spawn(async move {
            let end = Instant::now() + store.0.deadline;
            let given_back = store.settle_until(settlements, end).await;
            drop(changing);
            if let Err(error) = given_back {
                log_throttled!(warn, method, %error, "a call that was refused stays charged by one of its rules");
            }
        });
        let _ = timeout_at(end, given_back).await;
    }
}

/// What one slot says, and the places of its charges.
type Answer = (Result<Verdict, StoreError>, Vec<usize>);

/// One verdict for the call, from the charge that each slot tells of.
fn combined(charges: usize, mut answers: Vec<Answer>) -> Result<Verdict, StoreError> {
    // A call may be decided again if nothing else failed, since something may have been kept then.
    let failed = |(verdict, _): &Answer| verdict.as_ref().is_err_and(|error| !is_parted(error));
    if let Some(failed) = answers.iter().position(failed) {
        return answers.swap_remove(failed).0;
    }
    // Counts neither as one that fits nor as one that refuses.
    let untold = Decided {
        answer: algorithm::Answer::Never,
        observe: true,
    };
    let (mut all, mut decided) = (Hits::from_elem(Hit::NONE, charges), vec![untold; charges]);
    for (verdict, group) in answers {
        let verdict = verdict?;
        let place = match &verdict {
            Verdict::Allowed { tightest, hits, .. } => {
                for (place, hit) in group.iter().zip(hits) {
                    all[*place] = *hit;
                }
                *tightest
            }
            Verdict::Denied { longest, .. } => *longest,
            Verdict::Impossible { which } => *which,
        };
        decided[group[place]] = Decided {
            answer: algorithm::Answer::of(&verdict),
            observe: false,
        };
    }
    let mut verdict = combine(&decided);
    if let Verdict::Allowed { hits, .. } = &mut verdict {
        *hits = all;
    }
    Ok(verdict)
}
