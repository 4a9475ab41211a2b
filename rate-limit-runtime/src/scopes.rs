//! Whether anything is set for the part of the program that runs: a call for which nothing is asks once, and not for each.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

thread_local! {
    /// How many scopes are entered on this thread, one within the other.
    static ENTERED: Cell<usize> = const { Cell::new(0) };
}

/// Whether this runs within a [`Scope`].
#[inline]
pub(crate) fn any() -> bool {
    ENTERED.get() > 0
}

pin_project! {
    /// A future that sets something.
    pub(crate) struct Scope<F> {
        #[pin]
        future: F,
    }
}

impl<F> Scope<F> {
    pub(crate) const fn new(future: F) -> Self {
        Self { future }
    }
}

impl<F: Future> Future for Scope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = Entered::new();
        self.project().future.poll(context)
    }
}

struct Entered;

impl Entered {
    fn new() -> Self {
        ENTERED.set(ENTERED.get() + 1);
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.set(ENTERED.get() - 1);
    }
}
