//! What expansions of the attribute call. No part of the public interface: it changes in any release.

mod call;
mod subject;

pub use self::call::{
    Call, SettleOn, ambient, block, capacity, count, denied, fixed_window, is_admitted, limiter, on_limit, refill,
    settle, sliding_window, window,
};
pub use self::subject::{AddressKey, KeyParts, SubjectKey};
pub use crate::failure::OnStoreError;
#[cfg(feature = "actix-web")]
pub use crate::integrations::actix_web::Either as EitherResponder;
#[cfg(feature = "axum")]
pub use crate::integrations::axum::{Either, into_response};
pub use crate::method::Site;
pub use crate::outcome::{Kept, Outcome, is_success_by, split_by};
pub use crate::policy::Policy;
pub use crate::rejection::FromRejection;

/// The traits that tell a success by type, to be had all at once.
pub mod outcome {
    pub use crate::outcome::{AnyResult, AnyValue, ResultWithStatus, WithStatus};
}
