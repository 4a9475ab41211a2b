//! What a student sees once logged in.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rate_limit::{Client, Key, Method, Rule, limit_per_time};
use serde::Serialize;

use crate::App;
use crate::accounts::StudentId;
use crate::error::ApiError;
use crate::login;

/// The portal, for who is logged in.
pub struct Portal {
    student: StudentId,
    app: App,
}

/// Five a second for each account and function. The account is the ambient client, so no key is needed.
#[limit_per_time(5, "1s")]
impl Portal {
    async fn profile(&self) -> Result<Json<Profile>, ApiError> {
        Ok(Json(Profile {
            student_id: self.student.clone(),
        }))
    }

    async fn courses(&self) -> Result<Json<[&'static str; 2]>, ApiError> {
        Ok(Json(["Operating Systems", "Databases"]))
    }

    /// A transcript is dear to make: its own limit is nearer than that of the block.
    #[limit_per_time(1, "10s")]
    async fn transcript(&self) -> Result<String, ApiError> {
        Ok("Operating Systems: passed\nDatabases: passed\n".to_owned())
    }

    /// When somebody last tried this account's password, for a student who wonders who. It reads the log of the limit itself.
    #[limit_per_time(exempt)]
    async fn attempts(&self) -> Result<Json<Vec<u64>>, ApiError> {
        let Ok(client) = Client::of(&self.student) else {
            return Err(ApiError::NotLoggedIn);
        };
        let attempts = Rule::new(login::LOGIN, Key::new(Method::named(login::NAME), client));
        let times = self.app.limiter.inspect(attempts).await?;
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Ok(Json(times.into_iter().map(seconds).collect()))
    }
}

#[derive(Serialize)]
pub struct Profile {
    student_id: StudentId,
}

pub async fn profile(portal: Portal) -> Result<Json<Profile>, ApiError> {
    portal.profile().await
}

pub async fn courses(portal: Portal) -> Result<Json<[&'static str; 2]>, ApiError> {
    portal.courses().await
}

pub async fn transcript(portal: Portal) -> Result<String, ApiError> {
    portal.transcript().await
}

pub async fn attempts(portal: Portal) -> Result<Json<Vec<u64>>, ApiError> {
    portal.attempts().await
}

impl FromRequestParts<App> for Portal {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let student = app.accounts.logged_in(&parts.headers).ok_or(ApiError::NotLoggedIn)?;
        Ok(Self {
            student,
            app: app.clone(),
        })
    }
}
