//! HTTP, whatever the framework.

pub(crate) mod bot;
#[cfg(any(feature = "actix-web", feature = "axum"))]
pub(crate) mod cache_control;
pub(crate) mod client_ip;
pub(crate) mod client_ip_source;
pub(crate) mod dialect;
mod forwarded;
mod list;
pub(crate) mod problem;
