//! What each framework needs to answer with a refusal.

#[cfg(feature = "actix-web")]
pub mod actix_web;
#[cfg(feature = "axum")]
pub mod axum;
#[cfg(any(feature = "actix-web", feature = "axum"))]
mod route_limit;
#[cfg(feature = "tonic")]
mod tonic;
