//! An admitted call.

use std::fmt;

use crate::decision::Decision;
use crate::error::StoreError;
use crate::key::Key;
use crate::limiter::Limiter;
use crate::store::Store;
use crate::verdict::Hit;

/// A call that was admitted, and may be settled once its result is known.
///
/// Dropping it settles nothing: the call stays charged.
pub struct Permit {
    decision: Option<Decision>,
    admitted: Option<Admitted>,
    limiter: Limiter,
}

/// Where the hit was recorded.
#[derive(Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) key: Key,
    pub(crate) hit: Hit,
    pub(crate) by: DecidedBy,
}

#[derive(Clone, Copy)]
pub(crate) enum DecidedBy {
    Store,
    Fallback,
}

impl Permit {
    pub(crate) const fn new(limiter: Limiter, decision: Decision, admitted: Admitted) -> Self {
        Self {
            decision: Some(decision),
            admitted: Some(admitted),
            limiter,
        }
    }

    /// Admitted unseen, because the store did not decide.
    pub(crate) const fn unseen(limiter: Limiter) -> Self {
        Self {
            decision: None,
            admitted: None,
            limiter,
        }
    }

    /// What the store decided. `None` if it did not, and the rule admits calls then.
    #[must_use]
    pub const fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// Forgets the hits admitted up to and including this call's own. An attempt that came later stays counted,
    /// so that a success that took long cannot wipe out failures that came meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store could not be told. It is not told again: that the record was not cleared is
    /// on the safe side.
    pub async fn reset(self) -> Result<(), StoreError> {
        let Some(Admitted { key, hit, by }) = self.admitted else {
            return Ok(());
        };
        let reply = match by {
            DecidedBy::Store => self.limiter.store().reset(key, hit),
            DecidedBy::Fallback => self.limiter.fallback().reset(key, hit),
        };
        reply.await
    }

    pub(crate) const fn limiter(&self) -> &Limiter {
        &self.limiter
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("decision", &self.decision)
            .finish_non_exhaustive()
    }
}
