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
use crate::method::Site;
use crate::outcome::{Judge, Kept};
use crate::permit::{Permit, Settle};
use crate::registry::SettleOn;
use crate::rejection::Rejection;
use crate::store::Reply;

thread_local! {
    /// The call of the innermost [`Settled`] that is polled on this thread, from its check to the end of that poll.
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

/// Checks a call of one rule, which the [`Settled`] around it settles.
pub fn settled(site: &'static Site, key: &mut KeyHasher) -> Checked {
    let mut call = Call::new(site);
    call.rule(key);
    call.settled()
}

impl Call<'_> {
    /// Decides the call as [`permit`](Self::permit) does, for the [`Settled`] around it.
    pub fn settled(&self) -> Checked {
        let call = Settling {
            site: self.site(),
            how: self.settle_on().collect(),
            permit: self.permit(),
        };
        CALL.with_borrow_mut(|place| *place = Some(call));
        Checked
    }
}

/// Waits until the call of the [`Settled`] around it is decided.
#[derive(Debug)]
#[must_use]
pub struct Checked;

impl Future for Checked {
    type Output = Result<(), Rejection>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        CALL.with_borrow_mut(|call| {
            // It is only polled within a `Settled`, which has the call of an earlier poll in place again.
            let Some(call) = call else { return Poll::Pending };
            call.permit.poll_in_place(context).map(|permit| match permit {
                Some(Err(rejection)) => Err(*rejection),
                _ => Ok(()),
            })
        })
    }
}

pin_project! {
    /// A body whose call is settled by its value.
    ///
    /// The check is within the body, which owns the arguments that the key is made of, and gives its call to this future through
    /// [`CALL`]: a place that both borrow would make the future of the function hold its arguments once more.
    #[project = SettledProjection]
    #[derive(Debug)]
    pub enum Settled<F, J, K> {
        /// The body is checked, or runs.
        Running {
            #[pin]
            body: F,
            judge: Option<J>,
            call: Option<Settling>,
        },
        /// The body is gone.
        Settling {
            kept: Option<K>,
            settlement: Settlement,
        },
    }
}

impl<F, J, K> Settled<F, J, K> {
    pub(crate) const fn new(body: F, judge: J) -> Self {
        Self::Running {
            body,
            judge: Some(judge),
            call: None,
        }
    }
}

impl<F: Future, J: Judge<F::Output>, K: Kept<F::Output>> Future for Settled<F, J, K> {
    type Output = F::Output;

    /// # Panics
    ///
    /// If polled after it has answered.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if let SettledProjection::Running { body, judge, call } = self.as_mut().project() {
            let value = ready!(poll_around(body, call, context));
            let judge = judge.take().expect("a value is judged once");
            let settled = match call.take() {
                Some(call) => call.settle(|| judge.judge(&value)),
                None => None,
            };
            let Some(settlement) = settled else { return Poll::Ready(value) };
            let kept = match K::keep(value) {
                Ok(kept) => Some(kept),
                Err(value) => return Poll::Ready(value),
            };
            self.set(Self::Settling { kept, settlement });
        }
        match self.project() {
            SettledProjection::Settling { kept, settlement } => {
                ready!(settlement.poll(context));
                Poll::Ready(kept.take().expect("a value is returned once").restore())
            }
            SettledProjection::Running { .. } => unreachable!("it has just been left"),
        }
    }
}

/// Polls a body with its call in the place where its check looks for it, and puts back whose place it is.
fn poll_around<F: Future>(
    body: Pin<&mut F>,
    call: &mut Option<Settling>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    // The check of a call that was decided in an earlier poll is over.
    if call.as_ref().is_some_and(|call| call.permit.answer().is_some()) {
        return body.poll(context);
    }
    let around = Around {
        outer: CALL.take(),
        call,
    };
    CALL.set(around.call.take());
    body.poll(context)
}

/// Takes the call back, and puts in its place that of the call around it: after a panic too.
struct Around<'a> {
    outer: Option<Settling>,
    call: &'a mut Option<Settling>,
}

impl Drop for Around<'_> {
    fn drop(&mut self) {
        *self.call = CALL.replace(self.outer.take());
    }
}

impl Settling {
    /// Settles the call by what it ended with, if it was admitted and a rule asks for it. What goes wrong never reaches the caller.
    fn settle(&self, is_success: impl FnOnce() -> bool) -> Option<Settlement> {
        let permit = self.permit.answer()?.as_ref().ok()?;
        let success = is_success();
        let how = |place: usize| self.how.get(place).copied().flatten()?.after(success);
        let unsettled = unsettled((0..self.how.len()).filter_map(how))?;
        Some(Settlement {
            reply: permit.settle(how),
            site: self.site,
            limiter: permit.limiter().clone(),
            unsettled,
        })
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

/// Returns what is not done, if the store does not hear of these; `None` for none.
fn unsettled(mut all: impl Iterator<Item = Settle>) -> Option<Unsettled> {
    let first = all.next()?;
    Some(match all.all(|next| next == first) {
        true if first == Settle::Reset => Unsettled::Reset,
        true => Unsettled::Refund,
        false => Unsettled::Both,
    })
}

/// What is waited for once a value is known.
#[derive(Debug)]
struct Settlement {
    reply: Reply<Result<(), StoreError>>,
    site: &'static Site,
    limiter: Limiter,
    unsettled: Unsettled,
}

impl Settlement {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Err(error) = ready!(Pin::new(&mut self.reply).poll(context)) {
            self.limiter.note_unsettled(self.site.method(), self.unsettled, &error);
        }
        Poll::Ready(())
    }
}
