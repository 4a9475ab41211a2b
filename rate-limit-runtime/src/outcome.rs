//! Whether a call succeeded, told from the type of what it returned.

use std::future::Future;
use std::marker::PhantomData;

use http::{Response, StatusCode};

use crate::private::{Settled, settle};

/// A value that carries an HTTP status.
pub trait HasStatus {
    /// Returns the status.
    fn status(&self) -> StatusCode;
}

impl HasStatus for StatusCode {
    fn status(&self) -> StatusCode {
        *self
    }
}

impl<B> HasStatus for Response<B> {
    fn status(&self) -> StatusCode {
        Response::status(self)
    }
}

macro_rules! tuples_with_a_status {
    ($(($($part:ident)*))*) => {$(
        impl<$($part),*> HasStatus for (StatusCode, $($part,)*) {
            fn status(&self) -> StatusCode {
                self.0
            }
        }
    )*};
}
tuples_with_a_status!(()(A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F));

fn is_success(status: StatusCode) -> bool {
    status.as_u16() < 400
}

/// Picks one of the four traits below by the type `R`, through the number of references that a method call takes to reach it:
/// `(&&&outcome).__settled(body)` takes the first that applies, a `Result` with a status inside before a status before a `Result`
/// before anything.
#[derive(Debug)]
pub struct Outcome<R>(PhantomData<fn() -> R>);

impl<R> Outcome<R> {
    /// Returns the outcome of this body.
    pub const fn of<F: Future<Output = R>>(_body: &F) -> Self {
        Self(PhantomData)
    }
}

/// Tells a success from the value of a body.
pub trait Judge<R> {
    /// Returns `true` for a success.
    fn judge(self, value: &R) -> bool;
}

/// Holds what a value consists of while the call is settled. Of a `Result` that is the `Ok` value alone, so that an error type that is
/// not `Send` costs the future nothing.
pub trait Kept<R>: Sized {
    /// Takes the value apart, or returns it if there is nothing to hold.
    ///
    /// # Errors
    ///
    /// The value.
    fn keep(value: R) -> Result<Self, R>;
    /// Returns the value as it was returned.
    fn restore(self) -> R;
}

/// A value kept whole.
#[derive(Debug)]
pub struct Whole<R>(R);

impl<R> Kept<R> for Whole<R> {
    fn keep(value: R) -> Result<Self, R> {
        Ok(Self(value))
    }

    fn restore(self) -> R {
        self.0
    }
}

/// The value of an `Ok`.
#[derive(Debug)]
pub struct OkValue<T>(T);

impl<T, E> Kept<Result<T, E>> for OkValue<T> {
    fn keep(value: Result<T, E>) -> Result<Self, Result<T, E>> {
        match value {
            Ok(value) => Ok(Self(value)),
            failure => Err(failure),
        }
    }

    fn restore(self) -> Result<T, E> {
        Ok(self.0)
    }
}

/// A `Result` whose `Ok` carries a status: a success is an `Ok` with one below 400.
pub trait ResultWithStatus<T: HasStatus, E> {
    /// Settles a success.
    fn __settled<F: Future<Output = Result<T, E>>>(&self, body: F) -> Settled<F, ByStatusOfOk, OkValue<T>> {
        settle(body, ByStatusOfOk)
    }

    /// Settles every value.
    fn __settled_always<F: Future<Output = Result<T, E>>>(
        &self,
        body: F,
    ) -> Settled<F, ByStatusOfOk, Whole<Result<T, E>>> {
        settle(body, ByStatusOfOk)
    }
}
impl<T: HasStatus, E> ResultWithStatus<T, E> for &&Outcome<Result<T, E>> {}

/// Judges a `Result` by the status of its `Ok`.
#[derive(Debug)]
pub struct ByStatusOfOk;

impl<T: HasStatus, E> Judge<Result<T, E>> for ByStatusOfOk {
    fn judge(self, value: &Result<T, E>) -> bool {
        value.as_ref().is_ok_and(|value| is_success(value.status()))
    }
}

/// A value that carries a status: a success has one below 400.
pub trait WithStatus<R: HasStatus> {
    /// Settles a success.
    fn __settled<F: Future<Output = R>>(&self, body: F) -> Settled<F, ByStatus, Whole<R>> {
        settle(body, ByStatus)
    }

    /// Settles every value.
    fn __settled_always<F: Future<Output = R>>(&self, body: F) -> Settled<F, ByStatus, Whole<R>> {
        settle(body, ByStatus)
    }
}
impl<R: HasStatus> WithStatus<R> for &Outcome<R> {}

/// Judges a value by its status.
#[derive(Debug)]
pub struct ByStatus;

impl<R: HasStatus> Judge<R> for ByStatus {
    fn judge(self, value: &R) -> bool {
        is_success(value.status())
    }
}

/// A `Result`: a success is an `Ok`.
pub trait AnyResult<T, E> {
    /// Settles a success.
    fn __settled<F: Future<Output = Result<T, E>>>(&self, body: F) -> Settled<F, ByResult, OkValue<T>> {
        settle(body, ByResult)
    }

    /// Settles every value.
    fn __settled_always<F: Future<Output = Result<T, E>>>(&self, body: F) -> Settled<F, ByResult, Whole<Result<T, E>>> {
        settle(body, ByResult)
    }
}
impl<T, E> AnyResult<T, E> for &Outcome<Result<T, E>> {}

/// Judges a `Result`.
#[derive(Debug)]
pub struct ByResult;

impl<T, E> Judge<Result<T, E>> for ByResult {
    fn judge(self, value: &Result<T, E>) -> bool {
        value.is_ok()
    }
}

/// Any other value: always a success.
pub trait AnyValue<R> {
    /// Settles a success.
    fn __settled<F: Future<Output = R>>(&self, body: F) -> Settled<F, Always, Whole<R>> {
        settle(body, Always)
    }

    /// Settles every value.
    fn __settled_always<F: Future<Output = R>>(&self, body: F) -> Settled<F, Always, Whole<R>> {
        settle(body, Always)
    }
}
impl<R> AnyValue<R> for Outcome<R> {}

/// Finds every value a success.
#[derive(Debug)]
pub struct Always;

impl<R> Judge<R> for Always {
    fn judge(self, _: &R) -> bool {
        true
    }
}

/// A function that tells whether a return value is a success.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be `success`",
    label = "this is not a closure from `&{R}` to `bool`",
    note = "write `success = |out| condition`, where `out` is the return value, of type `&{R}`"
)]
pub trait SuccessBy<R>: FnOnce(&R) -> bool {}

#[diagnostic::do_not_recommend]
impl<R, F: FnOnce(&R) -> bool> SuccessBy<R> for F {}

/// Judges a value by the function's own `success = |out| ..`.
#[derive(Debug)]
pub struct By<S>(S);

impl<R, S: SuccessBy<R>> Judge<R> for By<S> {
    fn judge(self, value: &R) -> bool {
        self.0(value)
    }
}

/// Settles a body by the function's own `success = |out| ..`. What it returns is named: of an opaque type the compiler could not always tell
/// that it is `Send`. The value is kept whole: an `Err` may be a success here. What a call that
/// was not admitted returns is none, and is not asked about.
pub fn settled_by<F: Future, S: SuccessBy<F::Output>>(body: F, success: S) -> Settled<F, By<S>, Whole<F::Output>> {
    settle(body, By(success))
}
