//! Who reads.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use rate_limit::{KeyHasher, ToKey};
use serde::Deserialize;

/// Up to 64 bytes of text.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct MemberId(String);

impl MemberId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for MemberId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        match id.len() {
            _ if id.trim().is_empty() => Err("the id of a member is not blank"),
            65.. => Err("the id of a member is at most 64 bytes long"),
            _ if id.contains('\0') => Err("the id of a member is text"),
            _ => Ok(Self(id)),
        }
    }
}

impl ToKey for MemberId {
    fn to_key(&self, hasher: &mut KeyHasher) {
        self.0.to_key(hasher);
    }
}

/// Whom the gateway in front of this service names in `X-Member-Id`.
impl<S: Sync> FromRequestParts<S> for MemberId {
    type Rejection = (StatusCode, String);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let mut ids = parts.headers.get_all("x-member-id").iter();
        let id = match (ids.next(), ids.next()) {
            (Some(id), None) => String::from_utf8(id.as_bytes().to_vec()).map_err(|_| "the id of a member is UTF-8"),
            (Some(_), Some(_)) => Err("there is more than one"),
            (None, _) => Err("it is missing: say which member reads"),
        };
        id.and_then(Self::try_from)
            .map_err(|error| (StatusCode::BAD_REQUEST, format!("X-Member-Id: {error}\n")))
    }
}
