//! An admitted call.

use std::fmt;

use smallvec::SmallVec;

use crate::decision::{DecidedBy, Decision};
use crate::error::StoreError;
#[cfg(feature = "_sql")]
use crate::error::StoreErrorKind;
use crate::limiter::Limiter;
use crate::store::{Change, Charge, Reply, Settlement, Store};
use crate::verdict::Hit;

/// A call that was admitted, and may be settled once its result is known.
///
/// Dropping it settles nothing: the call stays charged.
pub struct Permit {
    decision: Option<Decision>,
    admitted: SmallVec<[Admitted; 2]>,
    charged_in: ChargedIn,
    limiter: Limiter,
}

/// A charge of the call, and the hit that was recorded for it.
#[derive(Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) charge: Charge,
    pub(crate) hit: Hit,
    /// The one that the fallback recorded of it, if the store decided and the fallback is to know.
    pub(crate) mirrored: Hit,
}

/// What settles a hit of a charge.
fn settlement(how: Settle, charge: &Charge, hit: Hit) -> Settlement {
    let change = match how {
        Settle::Reset => Change::Reset { upto: hit },
        Settle::Refund => Change::Refund { hit, cost: charge.cost },
    };
    Settlement::new(charge.key, charge.policy, change)
}

/// Where the charges of a call lie, and are settled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChargedIn {
    Store,
    Fallback,
    /// The caller's.
    #[cfg(feature = "_sql")]
    Transaction,
}

impl ChargedIn {
    pub(crate) const fn decided_by(self) -> DecidedBy {
        match self {
            Self::Fallback => DecidedBy::Fallback,
            Self::Store => DecidedBy::Store,
            #[cfg(feature = "_sql")]
            Self::Transaction => DecidedBy::Store,
        }
    }
}

/// How a rule settles a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settle {
    Reset,
    Refund,
}

impl Permit {
    pub(crate) fn new(
        limiter: Limiter,
        decision: Decision,
        admitted: SmallVec<[Admitted; 2]>,
        charged_in: ChargedIn,
    ) -> Self {
        Self {
            decision: Some(decision),
            admitted,
            charged_in,
            limiter,
        }
    }

    /// Admitted unseen: there was no rule to ask, or the store did not decide.
    pub(crate) fn unseen(limiter: Limiter) -> Self {
        Self {
            decision: None,
            admitted: SmallVec::new(),
            charged_in: ChargedIn::Store,
            limiter,
        }
    }

    /// What was decided, by the rule that leaves the least. `None` if there was no rule to ask, or the store did not decide
    /// and the rule admits calls then.
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
        self.settle(|_| Some(Settle::Reset)).await
    }

    /// Takes back this call's own charge, and leaves those before and after it.
    ///
    /// # Errors
    ///
    /// As for [`reset`](Self::reset).
    pub async fn refund(self) -> Result<(), StoreError> {
        self.settle(|_| Some(Settle::Refund)).await
    }

    /// Settles each rule by its place among those that were asked. What waits for the reply holds neither the permit nor the
    /// settlements.
    pub(crate) fn settle(&self, how: impl Fn(usize) -> Option<Settle>) -> Reply<Result<(), StoreError>> {
        let mut settlements: SmallVec<[Settlement; 2]> = SmallVec::new();
        for (place, admitted) in self.admitted.iter().enumerate() {
            let Some(how) = how(place) else { continue };
            if admitted.hit != Hit::NONE || self.in_transaction() {
                settlements.push(settlement(how, &admitted.charge, admitted.hit));
            }
            // At once, and whether or not the store hears of it: what it counts then is for the time in which the store does not.
            if admitted.mirrored != Hit::NONE {
                let settlement = settlement(how, &admitted.charge, admitted.mirrored);
                self.limiter.fallback().change(&settlement);
            }
        }
        if settlements.is_empty() {
            return Reply::ready(Ok(()));
        }
        match self.charged_in {
            ChargedIn::Store => self.limiter.store().settle(&settlements),
            ChargedIn::Fallback => self.limiter.fallback().settle(&settlements),
            #[cfg(feature = "_sql")]
            ChargedIn::Transaction => Reply::ready(Err(StoreError::new(
                StoreErrorKind::Misconfigured,
                "a token that was taken in a transaction is given back by rolling it back",
            ))),
        }
    }

    const fn in_transaction(&self) -> bool {
        #[cfg(feature = "_sql")]
        return matches!(self.charged_in, ChargedIn::Transaction);
        #[cfg(not(feature = "_sql"))]
        false
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
