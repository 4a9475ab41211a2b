//! axum and tower: a refusal is a response, and layers for what happens around a handler.

mod ambient;
mod extract;
mod limit;
mod peer;
mod rate_headers;
pub(crate) mod response;

pub use self::ambient::AmbientClient;
pub use self::extract::{Bot, NoPeer};
pub use self::limit::LimitRoute;
pub use self::rate_headers::RateHeaders;
#[cfg(feature = "admin")]
pub use crate::admin::Admin;
