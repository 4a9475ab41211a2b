//! How calls ended, and who decided them.

use rate_limit::{DecidedBy, Permit, Rejection};

#[derive(Debug, Default, PartialEq)]
pub struct Tally {
    /// Admitted by the store.
    pub admitted: usize,
    /// Refused by the store.
    pub refused: usize,
    /// Decided by the fallback of the process, in place of the store.
    pub by_fallback: usize,
    pub undecided: usize,
}

impl Tally {
    /// What is right if the store decides so many calls of one client and admits as many as the limit.
    pub fn by_store(calls: usize, limit: usize) -> Self {
        Self {
            admitted: limit,
            refused: calls - limit,
            ..Self::default()
        }
    }

    pub fn enter(&mut self, answer: &Result<Permit, Rejection>) {
        let (decision, of_the_store) = match answer {
            Ok(permit) => (permit.decision(), &mut self.admitted),
            Err(rejection) => (rejection.decision(), &mut self.refused),
        };
        let count = match decision.map(|decision| decision.decided_by) {
            Some(DecidedBy::Store) => of_the_store,
            Some(_) => &mut self.by_fallback,
            None => &mut self.undecided,
        };
        *count += 1;
    }
}
