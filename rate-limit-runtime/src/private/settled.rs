//! A body that is settled once its value is known.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use smallvec::SmallVec;

use super::call::Call;
use crate::error::StoreError;
use crate::key::KeyHasher;
use crate::limiter::{Limiter, Unsettled};
use crate::outcome::{Judge, Kept};
use crate::permit::{Permit, Settle};
use crate::registry::{SettleOn, Site};
use crate::rejection::Rejection;
use crate::store::Reply;

thread_local! {
    /// The call of the innermost `Settled` that is being polled on this thread, from its check to the end of that poll.
    static CALL: RefCell<Option<Settling>> = const { RefCell::new(None) };
}

/// A call that is to be settled. What the store answered lies here from the check to the settlement, so that the future of the
/// function has room for it once.
#[derive(Debug)]
struct Settling {
    site: &'static Site,
    permit: Reply<Result<Permit, Rejection>>,
    how: SmallVec<[Option<SettleOn>; 4]>,
}

/// Checks a call of one rule, which the `Settled` around it settles.
pub fn settled(site: &'static Site, key: &mut KeyHasher) -> Checked {
    let mut call = Call::new(site);
    call.rule(key);
    call.settled()
}

impl Call<'_> {
    /// Decides the call as [`permit`](Self::permit) does, for the `Settled` around it.
    pub fn settled(&self) -> Checked {
        let call = Settling {
            site: self.site(),
            how: self.settle_on().collect(),
            permit: self.permit(),
        };
        CALL.set(Some(call));
        Checked
    }
}

/// Waits until the call of the `Settled` around it is decided.
#[derive(Debug)]
#[must_use]
pub struct Checked;

impl Future for Checked {
    type Output = Result<(), Rejection>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // It is only polled within a `Settled`, which has the call of an earlier poll in place again. It is taken out, since a store may
        // make such calls itself.
        let Some(mut call) = CALL.take() else {
            return Poll::Pending;
        };
        let decided = call.permit.poll_in_place(context).map(|permit| match permit {
            Some(Err(rejection)) => Err(*rejection),
            _ => Ok(()),
        });
        CALL.set(Some(call));
        decided
    }
}

pin_project! {
    /// A body whose call is settled by its value.
    ///
    /// The check is within the body, which owns the arguments that the key is made of, and gives its call to this future through
    /// `CALL`: a place that both borrow would make the future of the function hold its arguments once more.
    #[derive(Debug)]
    pub struct Settled<F, J, K> {
        #[pin]
        body: F,
        value: Value<J, K>,
    }
}

/// The settlement of a body by its value. It is not generic over the body, so that functions of one return type share its code.
#[derive(Debug)]
struct Value<J, K> {
    judge: Option<J>,
    call: Stage,
    kept: Option<K>,
}

/// The stage of a call.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would allocate for each call")]
enum Stage {
    /// The call is being decided, or its body runs.
    Called(Option<Settling>),
    /// The body has returned; the settlement is under way.
    Settled(Settlement),
}

/// Returns a future that runs `body` and settles its call.
pub(crate) const fn settle<F, J, K>(body: F, judge: J) -> Settled<F, J, K> {
    Settled {
        body,
        value: Value {
            judge: Some(judge),
            call: Stage::Called(None),
            kept: None,
        },
    }
}

impl<F: Future, J: Judge<F::Output>, K: Kept<F::Output>> Future for Settled<F, J, K> {
    type Output = F::Output;

    /// # Panics
    ///
    /// If polled after it has answered.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if this.value.kept.is_some() {
            return this.value.poll_settled(context);
        }
        let around = this.value.call.enter();
        let polled = this.body.poll(context);
        drop(around);
        this.value.settle(polled, context)
    }
}

impl<J, K> Value<J, K> {
    /// Settles the call if the body has ended.
    fn settle<R>(&mut self, polled: Poll<R>, context: &mut Context<'_>) -> Poll<R>
    where
        J: Judge<R>,
        K: Kept<R>,
    {
        let value = ready!(polled);
        // What a call that was not admitted returns is not asked about.
        if !self.call.is_admitted() {
            return Poll::Ready(value);
        }
        let success = self.judge.take().is_some_and(|judge| judge.judge(&value));
        if !self.call.settle(success) {
            return Poll::Ready(value);
        }
        match K::keep(value) {
            Ok(kept) => self.kept = Some(kept),
            Err(value) => return Poll::Ready(value),
        }
        self.poll_settled(context)
    }

    /// Waits for the settlement and returns the value.
    fn poll_settled<R>(&mut self, context: &mut Context<'_>) -> Poll<R>
    where
        K: Kept<R>,
    {
        ready!(self.call.poll_settled(context));
        let kept = self
            .kept
            .take()
            .expect("a future is polled no more once it has answered");
        Poll::Ready(kept.restore())
    }
}

/// Returns the call to its `Settled` and restores the enclosing call when it is dropped, also after a panic.
struct Around<'a> {
    outer: Option<Settling>,
    call: &'a mut Option<Settling>,
}

impl Drop for Around<'_> {
    fn drop(&mut self) {
        *self.call = CALL.replace(self.outer.take());
    }
}

impl Stage {
    /// Puts the call where the check in the body looks for it, until what is returned is dropped.
    fn enter(&mut self) -> Option<Around<'_>> {
        match self {
            // The check of a call that was decided in an earlier poll is over.
            Self::Called(Some(call)) if call.permit.answer().is_some() => None,
            Self::Called(call) => {
                let outer = CALL.replace(call.take());
                Some(Around { outer, call })
            }
            Self::Settled(_) => None,
        }
    }

    fn permit(&self) -> Option<&Permit> {
        match self {
            Self::Called(Some(call)) => call.permit.answer()?.as_ref().ok(),
            _ => None,
        }
    }

    fn is_admitted(&self) -> bool {
        self.permit().is_some()
    }

    /// Settles the call by what it ended with. Returns `false` if no rule asks for it.
    fn settle(&mut self, success: bool) -> bool {
        let (Self::Called(Some(call)), Some(permit)) = (&*self, self.permit()) else {
            return false;
        };
        let how = |place: usize| call.how.get(place).copied().flatten()?.after(success);
        let Some(unsettled) = unsettled((0..call.how.len()).filter_map(how)) else {
            return false;
        };
        *self = Self::Settled(Settlement {
            reply: permit.settle(how),
            site: call.site,
            limiter: permit.limiter().clone(),
            unsettled,
        });
        true
    }

    /// Waits for the settlement. An error is logged and does not reach the caller.
    fn poll_settled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Self::Settled(settlement) = self
            && let Err(error) = ready!(Pin::new(&mut settlement.reply).poll(context))
        {
            let site = settlement.site;
            settlement
                .limiter
                .note_unsettled(site.method(), settlement.unsettled, &error);
        }
        Poll::Ready(())
    }
}

impl SettleOn {
    /// Returns how a rule settles a call that ended so.
    const fn after(self, success: bool) -> Option<Settle> {
        match (self, success) {
            (Self::ResetOnSuccess, true) => Some(Settle::Reset),
            (Self::RefundOnSuccess, true) | (Self::RefundOnError, false) => Some(Settle::Refund),
            _ => None,
        }
    }
}

/// Returns the kind of these settlements, for the log line if the store fails; `None` if there are none.
fn unsettled(mut all: impl Iterator<Item = Settle>) -> Option<Unsettled> {
    let first = all.next()?;
    Some(match all.all(|next| next == first) {
        true if first == Settle::Reset => Unsettled::Reset,
        true => Unsettled::Refund,
        false => Unsettled::Both,
    })
}

/// A settlement that was sent to the store.
#[derive(Debug)]
struct Settlement {
    reply: Reply<Result<(), StoreError>>,
    site: &'static Site,
    limiter: Limiter,
    unsettled: Unsettled,
}
