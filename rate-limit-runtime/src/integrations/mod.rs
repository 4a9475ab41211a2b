//! What each framework needs to answer with a refusal.

#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "tonic")]
mod tonic;
