//! Whether a call succeeded, told from the type of what it returned.

use std::marker::PhantomData;
use std::ops::ControlFlow;

use http::{Response, StatusCode};

/// A value that carries an HTTP status.
pub trait HasStatus {
    /// The status.
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

/// Picks one of the four traits below by the type `R`, through the number of references that a method call
/// takes to reach it: `(&&&outcome).__split(value)` takes the first that applies, a `Result` with a status inside
/// before a status before a `Result` before anything.
#[derive(Debug)]
pub struct Outcome<R>(PhantomData<fn() -> R>);

impl<R> Outcome<R> {
    /// The outcome of a value of this type.
    pub const fn of(_value: &R) -> Self {
        Self(PhantomData)
    }
}

/// What is kept of a success while it is settled. Of a `Result` that is the `Ok` value alone, so that an error
/// type that is not `Send` costs the future nothing.
pub trait Kept<R> {
    /// The value as it was returned.
    fn restore(self) -> R;
}

/// A value kept whole.
#[derive(Debug)]
pub struct Whole<R>(R);

impl<R> Kept<R> for Whole<R> {
    fn restore(self) -> R {
        self.0
    }
}

/// The value of an `Ok`.
#[derive(Debug)]
pub struct OkValue<T>(T);

impl<T, E> Kept<Result<T, E>> for OkValue<T> {
    fn restore(self) -> Result<T, E> {
        Ok(self.0)
    }
}

/// A `Result` whose `Ok` carries a status.
pub trait ResultWithStatus<T, E> {
    /// Whether it is a success.
    fn __is_success(&self, value: &Result<T, E>) -> bool;
    /// Goes on with a success, breaks off with all else.
    fn __split(&self, value: Result<T, E>) -> ControlFlow<Result<T, E>, OkValue<T>>;
}

impl<T: HasStatus, E> ResultWithStatus<T, E> for &&Outcome<Result<T, E>> {
    fn __is_success(&self, value: &Result<T, E>) -> bool {
        value.as_ref().is_ok_and(|value| is_success(value.status()))
    }

    fn __split(&self, value: Result<T, E>) -> ControlFlow<Result<T, E>, OkValue<T>> {
        match value {
            Ok(value) if is_success(value.status()) => ControlFlow::Continue(OkValue(value)),
            value => ControlFlow::Break(value),
        }
    }
}

/// A value that carries a status.
pub trait WithStatus<R> {
    /// Whether it is a success.
    fn __is_success(&self, value: &R) -> bool;
    /// Goes on with a success, breaks off with all else.
    fn __split(&self, value: R) -> ControlFlow<R, Whole<R>>;
}

impl<R: HasStatus> WithStatus<R> for &Outcome<R> {
    fn __is_success(&self, value: &R) -> bool {
        is_success(value.status())
    }

    fn __split(&self, value: R) -> ControlFlow<R, Whole<R>> {
        if is_success(value.status()) {
            ControlFlow::Continue(Whole(value))
        } else {
            ControlFlow::Break(value)
        }
    }
}

/// A `Result`.
pub trait AnyResult<T, E> {
    /// Whether it is a success.
    fn __is_success(&self, value: &Result<T, E>) -> bool;
    /// Goes on with a success, breaks off with all else.
    fn __split(&self, value: Result<T, E>) -> ControlFlow<Result<T, E>, OkValue<T>>;
}

impl<T, E> AnyResult<T, E> for &Outcome<Result<T, E>> {
    fn __is_success(&self, value: &Result<T, E>) -> bool {
        value.is_ok()
    }

    fn __split(&self, value: Result<T, E>) -> ControlFlow<Result<T, E>, OkValue<T>> {
        match value {
            Ok(value) => ControlFlow::Continue(OkValue(value)),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }
}

/// Any other value: always a success.
pub trait AnyValue<R> {
    /// Whether it is a success.
    fn __is_success(&self, value: &R) -> bool;
    /// Goes on with the value.
    fn __split(&self, value: R) -> ControlFlow<R, Whole<R>>;
}

impl<R> AnyValue<R> for Outcome<R> {
    fn __is_success(&self, _: &R) -> bool {
        true
    }

    fn __split(&self, value: R) -> ControlFlow<R, Whole<R>> {
        ControlFlow::Continue(Whole(value))
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

/// Whether a value is a success by the function's own `success = |out| ..`.
pub fn is_success_by<R>(value: &R, success: impl SuccessBy<R>) -> bool {
    success(value)
}

/// By the function's own `success = |out| ..`. The value is kept whole: an `Err` may be a success here. What a call that was not
/// admitted returns is none, and is not asked about.
pub fn split_by<R>(admitted: bool, value: R, success: impl SuccessBy<R>) -> ControlFlow<R, Whole<R>> {
    if admitted && success(&value) {
        ControlFlow::Continue(Whole(value))
    } else {
        ControlFlow::Break(value)
    }
}
