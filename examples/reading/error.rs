//! Why a request failed.

use std::error::Error;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use rate_limit::{Rejection, RejectionKind, StoreError, StoreErrorKind};

#[derive(Debug)]
pub enum ReadError {
    /// No token could be asked for.
    Rejected(Rejection),
    /// Another transaction was in the way.
    Aborted(Box<dyn Error + Send + Sync>),
    /// The database does not answer, or not in time.
    Unavailable(Box<dyn Error + Send + Sync>),
    Failed(Box<dyn Error + Send + Sync>),
}

impl ReadError {
    /// Whether the transaction can be run again, from its start.
    pub fn is_aborted(&self) -> bool {
        match self {
            Self::Rejected(rejection) => rejection.kind() == RejectionKind::Aborted,
            Self::Aborted(_) => true,
            Self::Unavailable(_) | Self::Failed(_) => false,
        }
    }
}

impl From<sqlx::Error> for ReadError {
    fn from(error: sqlx::Error) -> Self {
        let Some(told) = error.as_database_error() else {
            return Self::Unavailable(error.into());
        };
        match told.code().as_deref() {
            // A serialization failure or a deadlock, in PostgreSQL and in MariaDB.
            Some("40001" | "40P01") => Self::Aborted(error.into()),
            // Another process writes to the file of SQLite.
            Some("5") => Self::Unavailable(error.into()),
            _ => Self::Failed(error.into()),
        }
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            StoreErrorKind::Aborted => Self::Aborted(error.into()),
            _ if error.is_transient() => Self::Unavailable(error.into()),
            _ => Self::Failed(error.into()),
        }
    }
}

impl IntoResponse for ReadError {
    fn into_response(self) -> Response {
        match self {
            // 503 as well, if the database is to blame.
            Self::Rejected(rejection) => rejection.into_response(),
            Self::Aborted(error) | Self::Unavailable(error) => {
                tracing::warn!(error, "the database is not to be had for a request");
                (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response()
            }
            Self::Failed(error) => {
                tracing::error!(error, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
