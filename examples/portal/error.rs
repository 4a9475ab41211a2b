//! What a request may be answered with instead.

use argon2::password_hash;
use axum::http::StatusCode;
use axum::http::header::WWW_AUTHENTICATE;
use axum::response::{IntoResponse, Response};
use rate_limit::{Rejection, StoreError};

pub enum ApiError {
    WrongPassword,
    NotLoggedIn,
    Taken,
    TooMany(Rejection),
    Internal(&'static str, String),
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        Self::TooMany(rejection)
    }
}

impl From<password_hash::Error> for ApiError {
    fn from(error: password_hash::Error) -> Self {
        match error {
            password_hash::Error::PasswordInvalid => Self::WrongPassword,
            error => Self::Internal("a password could not be checked", error.to_string()),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::Internal("the store does not answer", error.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        match self {
            Self::WrongPassword => (StatusCode::UNAUTHORIZED, "wrong student number or password").into_response(),
            Self::NotLoggedIn => {
                (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], "log in first").into_response()
            }
            Self::Taken => (StatusCode::CONFLICT, "this student number is registered").into_response(),
            Self::TooMany(rejection) => rejection.into_response(),
            Self::Internal(what, error) => {
                tracing::error!(error, "{what}");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
