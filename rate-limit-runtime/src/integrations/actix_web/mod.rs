//! actix-web: a refusal is a response, and middleware for what happens around a handler.

mod extract;
mod headers;
mod middleware;
pub(crate) mod response;

pub use self::extract::{Bot, NoPeer};
pub use self::middleware::{LimitRoute, ambient_client, ambient_client_by_address, rate_headers};
