//! A refusal as a response.

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};

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

/// The response that a value stands for.
pub fn into_response<T: IntoResponse>(answer: T) -> Response {
    answer.into_response()
}
