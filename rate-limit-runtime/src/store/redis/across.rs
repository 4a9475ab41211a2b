//! Rules of one call whose counters lie in several slots of a cluster: each slot reserves in one atomic step, and if one refuses, what the
//! others have reserved is given back.

use std::time::Duration;

use redis::Cmd;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::batch::Charges;
use super::failure::Failure;
use super::{RedisStore, read_verdict};
use crate::algorithm;
use crate::error::StoreError;
use crate::store::runtime::jittered;
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

/// How long what was reserved is tried to be given back, while the server cannot be reached.
const GIVE_BACK: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

impl RedisStore {
    /// Decides charges in several slots. A call that is refused has given back what it reserved before it is told so, if the servers
    /// answer in time; meanwhile others may be refused by what it had reserved. So where one of its charges is `doubtful`, all are looked at
    /// first, and nothing is reserved for a call that is refused by then.
    ///
    /// It runs as a task of its own: what it reserved is given back also if its caller is gone.
    pub(super) async fn acquire_across(
        self,
        charges: Charges,
        groups: Vec<Vec<usize>>,
        doubtful: bool,
        end: Instant,
    ) -> Result<Verdict, Failure> {
        let mut answers = Vec::new();
        let mut left = groups;
        if doubtful {
            let (refusing, fitting) = self.look(&charges, left, end).await?;
            // They are asked, since a block begins with the first call that is refused.
            answers = self.reserve(&charges, refusing, end).await?;
            if answers.iter().all(is_admitted) {
                left = fitting.into_iter().map(|(_, group)| group).collect();
            } else {
                answers.extend(fitting);
                left = Vec::new();
            }
        }
        answers.extend(self.reserve(&charges, left, end).await?);
        if !answers.iter().all(is_admitted) {
            self.give_back(&charges, &answers, end).await;
        }
        combined(charges.len(), answers)
    }

    /// Returns the groups that would refuse the call now, and those that would not, with their answers.
    async fn look(
        &self,
        charges: &[Charge],
        groups: Vec<Vec<usize>>,
        end: Instant,
    ) -> Result<(Vec<Vec<usize>>, Vec<Answer>), Failure> {
        let looks = self.ask_each(
            charges,
            groups,
            |store, own| store.0.server.scripts().peek(&store.0.prefix, own),
            end,
        );
        let (mut refusing, mut fitting) = (Vec::new(), Vec::new());
        for (verdict, group) in looks.await? {
            let mut verdict = verdict?;
            if let Verdict::Allowed { hits, .. } = &mut verdict {
                // Nothing was charged that could be given back.
                hits.fill(Hit::NONE);
                fitting.push((Ok(verdict), group));
            } else {
                refusing.push(group);
            }
        }
        Ok((refusing, fitting))
    }

    async fn reserve(&self, charges: &[Charge], groups: Vec<Vec<usize>>, end: Instant) -> Result<Vec<Answer>, Failure> {
        let acquire = |store: &Self, own: &[Charge]| store.0.server.scripts().acquire(&store.0.prefix, own);
        self.ask_each(charges, groups, acquire, end).await
    }

    /// Asks for each group in its slot, all at the same time.
    async fn ask_each(
        &self,
        charges: &[Charge],
        groups: Vec<Vec<usize>>,
        call: impl Fn(&Self, &[Charge]) -> Cmd,
        end: Instant,
    ) -> Result<Vec<Answer>, Failure> {
        let mut asked = JoinSet::new();
        for group in groups {
            let own: Vec<Charge> = group.iter().map(|place| charges[*place]).collect();
            let (store, cmd) = (self.clone(), call(self, &own));
            let client = own[0].key.client();
            asked.spawn(async move { (store.ask_until(client, cmd, read_verdict, end).await, group) });
        }
        let mut answers = Vec::new();
        while let Some(answer) = asked.join_next().await {
            answers.push(answer?);
        }
        Ok(answers)
    }

    /// Gives back what each group has reserved. Goes on when the time of the call is over.
    async fn give_back(&self, charges: &[Charge], answers: &[Answer], end: Instant) {
        let mut given_back = Vec::new();
        for (verdict, group) in answers {
            let Ok(Verdict::Allowed { hits, .. }) = verdict else {
                continue;
            };
            for (place, hit) in group.iter().zip(hits).filter(|(_, hit)| **hit != Hit::NONE) {
                let Charge { key, policy, cost, .. } = charges[*place];
                let refund = Settlement::new(key, policy, Change::Refund { hit: *hit, cost });
                given_back.push(self.0.background.finish(self.clone().refund(refund)));
            }
        }
        for given_back in given_back {
            let _ = timeout_at(end, given_back).await;
        }
    }

    async fn refund(self, refund: Settlement) {
        let refund = [refund];
        // Others may have been refused by what is given back now.
        let _changing = self.0.denials.as_ref().map(|denials| denials.changing(&refund));
        let last = Instant::now() + GIVE_BACK;
        let mut refunded = self.settle_slot(&refund, self.end()).await;
        // What was not sent is sent once the server can be reached.
        while refunded.as_ref().is_err_and(Failure::is_unsent) && Instant::now() < last {
            sleep(jittered(PAUSE)).await;
            refunded = self.settle_slot(&refund, self.end()).await;
        }
        if let Err(error) = refunded {
            let (method, error) = (refund[0].key.method().name(), StoreError::from(error));
            log_throttled!(warn, method, %error, "a call that was refused stays charged by one of its rules");
        }
    }
}

fn is_admitted((verdict, _): &Answer) -> bool {
    matches!(verdict, Ok(Verdict::Allowed { .. }))
}

/// What one slot says, and the places of its charges.
type Answer = (Result<Verdict, Failure>, Vec<usize>);

/// One verdict for the call, from the charge that each slot tells of.
fn combined(charges: usize, mut answers: Vec<Answer>) -> Result<Verdict, Failure> {
    // A call may be decided again if nothing else failed, since something may have been kept then.
    let failed = |(verdict, _): &Answer| verdict.as_ref().is_err_and(|error| !error.is_try_again());
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
