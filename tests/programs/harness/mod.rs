//! What a generated program is linked with: what its functions are made of, and what drives and compares them.

mod answers;
mod drive;
mod record;
mod rule;
mod store;
mod values;

pub use std::borrow::Cow;
pub use std::error::Error;
pub use std::future::Future;
pub use std::pin::Pin;
pub use std::rc::Rc;
pub use std::sync::Arc;
pub use std::time::Duration;

pub use async_trait::async_trait;
pub use axum::http::StatusCode;
pub use axum::response::{IntoResponse, Response};
pub use rate_limit::{Limiter, Rejection, limit_per_time};
pub use tokio::task::yield_now;
pub use tracing::instrument;

pub use self::answers::*;
pub use self::drive::*;
pub use self::record::*;
pub use self::rule::*;
pub use self::values::*;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
