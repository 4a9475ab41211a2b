//! The future of a body whose return type is opaque: it returns the value of the body, or a refusal.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, pending};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::rejection::Rejection;

thread_local! {
    /// The rejection for the innermost `Refusable` that is being polled on this thread.
    static REFUSED: Cell<Option<Rejection>> = const { Cell::new(None) };
}

/// A type that holds the value of a body or a refusal.
pub trait Answer<T> {
    /// Returns the answer of a body that ran.
    fn passed(value: T) -> Self;
    /// Returns the answer of one that did not.
    fn refused(rejection: Rejection) -> Self;
}

/// Hands a rejection to the enclosing `Refusable` and never completes: `Refusable` drops the body and returns the refusal.
pub async fn refuse(rejection: Rejection) -> Infallible {
    REFUSED.set(Some(rejection));
    pending().await
}

pin_project! {
    /// The answer of a body that may `refuse` itself.
    ///
    /// The check is within the body, which owns the arguments that the key is made of, and cannot return a value of the body's type.
    #[derive(Debug)]
    pub struct Refusable<F, A> {
        #[pin]
        body: Option<F>,
        answer: PhantomData<fn() -> A>,
    }
}

impl<F, A> Refusable<F, A> {
    pub(crate) const fn new(body: F) -> Self {
        Self {
            body: Some(body),
            answer: PhantomData,
        }
    }
}

impl<F: Future, A: Answer<F::Output>> Future for Refusable<F, A> {
    type Output = A;

    /// # Panics
    ///
    /// If polled after it has answered.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<A> {
        let mut body = self.project().body;
        let polled = {
            let _around = Around(REFUSED.take());
            let running = body
                .as_mut()
                .as_pin_mut()
                .expect("a body is polled no more once it has answered");
            match running.poll(context) {
                Poll::Ready(value) => Poll::Ready(A::passed(value)),
                Poll::Pending => REFUSED
                    .take()
                    .map_or(Poll::Pending, |rejection| Poll::Ready(A::refused(rejection))),
            }
        };
        if polled.is_ready() {
            body.set(None);
        }
        polled
    }
}

/// Restores the rejection of the enclosing `Refusable` when it is dropped, also after a panic.
struct Around(Option<Rejection>);

impl Drop for Around {
    fn drop(&mut self) {
        REFUSED.set(self.0.take());
    }
}
