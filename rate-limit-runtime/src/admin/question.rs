//! Whom a look-up or a release is about.

use axum_core::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::StatusCode;
use serde::Deserialize;

use super::problem::Problem;
use crate::key::{Client, KeyError};
use crate::limiter::Limiter;

/// A client, by the parts of his key as they are written or by the hash of one who is refused now; and a function, or all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    parts: Option<Vec<String>>,
    client: Option<String>,
    pub(super) function: Option<String>,
}

impl Question {
    const MOST_BYTES: usize = 16 * 1024;

    pub(super) async fn read(body: Body) -> Result<Self, Problem> {
        let Ok(body) = axum::body::to_bytes(body, Self::MOST_BYTES).await else {
            return Err(Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is larger than 16 KiB, or broke off",
            ));
        };
        // What is wrong is not told by the error of the reader: it would repeat what was written.
        let question = serde_json::from_slice(&body).ok();
        let question = question.filter(|question: &Self| question.parts.is_some() != question.client.is_some());
        question.ok_or_else(|| {
            let detail = "the body is neither `{\"parts\": [\"..\"]}` nor `{\"client\": \"HASH\"}`, each with `\"function\": \"..\"` \
                          or without";
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
        })
    }

    /// All whom it may be about.
    pub(super) fn clients(&self, limiter: &Limiter) -> Result<Vec<Client>, Problem> {
        let parts = match (&self.parts, &self.client) {
            (Some(parts), _) => parts.as_slice(),
            (None, Some(wanted)) => return refused(limiter, wanted).map(|client| vec![client]),
            (None, None) => &[],
        };
        Client::as_written(parts).map_err(|error| match error {
            KeyError::Secret => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
            _ => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "a part of the id is empty: fill it in, or take it away",
            ),
        })
    }
}

/// Who is refused now and has this hash.
fn refused(limiter: &Limiter, wanted: &str) -> Result<Client, Problem> {
    let watch = limiter.watched();
    let mut refused = watch
        .refused
        .at(watch.now())
        .into_iter()
        .map(|refusal| refusal.client());
    refused.find(|client| hash(*client) == wanted).ok_or_else(|| {
        let detail = "this client is not refused any more: look it up by its id";
        Problem::new(StatusCode::NOT_FOUND, detail)
    })
}

/// A client as it stands in the keys of a store.
pub(super) fn hash(client: Client) -> String {
    BASE64.encode(client.to_bytes())
}
