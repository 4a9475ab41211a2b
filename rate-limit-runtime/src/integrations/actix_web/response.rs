//! A refusal as a response.

use actix_web::body::{BoxBody, EitherBody};
use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};

use super::headers;
use crate::outcome::HasStatus;
use crate::private::{Answer, Refusable};
use crate::rejection::{FromRejection, Rejection};

/// So that a handler may return `Result<_, actix_web::Error>`.
impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status().as_u16()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let (parts, body) = self.to_response().into_parts();
        let mut response = HttpResponse::new(self.status_code()).set_body(BoxBody::new(body));
        headers::insert(&parts.headers, response.headers_mut());
        response
    }
}

impl From<Rejection> for HttpResponse {
    fn from(rejection: Rejection) -> Self {
        rejection.error_response()
    }
}

#[diagnostic::do_not_recommend]
impl FromRejection for HttpResponse {
    fn from_rejection(rejection: Rejection) -> Self {
        rejection.error_response()
    }
}

impl<B> HasStatus for HttpResponse<B> {
    fn status(&self) -> http::StatusCode {
        http::StatusCode::from_u16(HttpResponse::status(self).as_u16())
            .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The answer of a handler that returns `impl Responder`.
#[derive(Debug)]
pub enum Either<T> {
    /// The body ran.
    Passed(T),
    /// It did not.
    Refused(Rejection),
}

impl<T: Responder> Responder for Either<T> {
    type Body = EitherBody<T::Body>;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse<Self::Body> {
        match self {
            Self::Passed(answer) => answer.respond_to(request).map_into_left_body(),
            Self::Refused(rejection) => rejection.error_response().map_into_right_body(),
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

/// Returns the answer of a handler that returns `impl Responder`.
pub fn either_responder<F: Future<Output: Responder>>(body: F) -> Refusable<F, Either<F::Output>> {
    Refusable::new(body)
}
