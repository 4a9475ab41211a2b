//! A refusal as a response.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};

use crate::private::{Answer, Refusable};
use crate::rejection::{FromRejection, Rejection};

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.to_response().map(Body::from)
    }
}

/// For handlers that return `Result<_, Response>`.
impl From<Rejection> for Response {
    fn from(rejection: Rejection) -> Self {
        rejection.into_response()
    }
}

#[diagnostic::do_not_recommend]
impl FromRejection for Response {
    fn from_rejection(rejection: Rejection) -> Self {
        rejection.into_response()
    }
}

/// The answer of a handler that returns `impl IntoResponse`.
#[derive(Debug)]
pub enum Either<T> {
    /// The body ran.
    Passed(T),
    /// It did not.
    Refused(Rejection),
}

impl<T: IntoResponse> IntoResponse for Either<T> {
    fn into_response(self) -> Response {
        match self {
            Self::Passed(answer) => answer.into_response(),
            Self::Refused(rejection) => rejection.into_response(),
        }
    }
}

impl<T> Answer<T> for Either<T> {
    fn passed(value: T) -> Self {
        Self::Passed(value)
    }

    fn refused(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}

impl<T: IntoResponse> Answer<T> for Response {
    fn passed(value: T) -> Self {
        value.into_response()
    }

    fn refused(rejection: Rejection) -> Self {
        rejection.into_response()
    }
}

/// Returns the answer of a handler that returns `impl IntoResponse`.
pub fn either<F: Future<Output: IntoResponse>>(body: F) -> Refusable<F, Either<F::Output>> {
    Refusable::new(body)
}

/// Returns the response that the value of such a handler stands for, for one that is settled.
pub fn response<F: Future<Output: IntoResponse>>(body: F) -> Refusable<F, Response> {
    Refusable::new(body)
}
