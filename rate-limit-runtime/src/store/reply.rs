//! An answer that may be there already.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The answer of a store: a future that is boxed only if there is something to wait for.
#[must_use = "a reply tells its answer when it is awaited"]
pub struct Reply<T>(State<T>);

enum State<T> {
    Ready(Option<T>),
    Pending(Pending<T>),
}

impl<T> Reply<T> {
    /// The answer is there.
    #[inline]
    pub const fn ready(answer: T) -> Self {
        Self(State::Ready(Some(answer)))
    }

    /// The answer is to be waited for.
    pub fn pending(answer: impl Future<Output = T> + Send + 'static) -> Self {
        Self(State::Pending(Box::pin(answer)))
    }

    /// Goes on with the answer, at once if it is there.
    pub(crate) fn map<U: 'static>(self, next: impl FnOnce(T) -> U + Send + 'static) -> Reply<U>
    where
        T: 'static,
    {
        match self.0 {
            State::Ready(Some(answer)) => Reply::ready(next(answer)),
            State::Ready(None) => Reply(State::Ready(None)),
            State::Pending(answer) => Reply::pending(async move { next(answer.await) }),
        }
    }
}

impl<T> Reply<T> {
    /// Waits for the answer and leaves it where it is: nothing else has to have room for it.
    pub(crate) fn poll_in_place(&mut self, context: &mut Context<'_>) -> Poll<Option<&T>> {
        if let State::Pending(answer) = &mut self.0 {
            match answer.as_mut().poll(context) {
                Poll::Ready(answer) => self.0 = State::Ready(Some(answer)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(self.answer())
    }

    /// The answer, if it is there.
    pub(crate) const fn answer(&self) -> Option<&T> {
        match &self.0 {
            State::Ready(answer) => answer.as_ref(),
            State::Pending(_) => None,
        }
    }
}

impl<T: Unpin> Future for Reply<T> {
    type Output = T;

    /// # Panics
    ///
    /// If polled after it has answered.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            State::Ready(answer) => Poll::Ready(answer.take().expect("a reply is polled no more once it has answered")),
            State::Pending(answer) => answer.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Ready(_) => "Reply(ready)",
            State::Pending(_) => "Reply(pending)",
        })
    }
}
