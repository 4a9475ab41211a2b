//! What expansions of the attribute call. No part of the public interface: it changes in any release.

mod call;
mod subject;
mod within;

#[cfg(any(feature = "actix-web", feature = "axum"))]
pub(crate) use self::call::unknown_policy;
pub use self::call::{
    Ambient, Call, SettleOn, ambient, block, capacity, count, denied, fixed_window, is_admitted, limiter,
    numbers_of_trait, on_limit, refill, settle, sliding_window, token_bucket, window,
};
pub use self::subject::{KeyParts, key_hasher};
pub use self::within::within;
pub use std::option::Option;
pub use std::{line, module_path};

pub use crate::__register as register;
pub use crate::failure::OnStoreError;
#[cfg(feature = "actix-web")]
pub use crate::integrations::actix_web::Either as EitherResponder;
#[cfg(feature = "axum")]
pub use crate::integrations::axum::{Either, into_response};
pub use crate::outcome::{Kept, Outcome, is_success_by, split_by};
pub use crate::policy::Policy;
pub use crate::registry::{Numbers, Registered, TraitNumbers};
pub use crate::rejection::FromRejection;
pub use crate::site::{Site, type_name};
pub use inventory;

/// The traits that decide by type, to be had all at once and without their names.
pub mod by_type {
    pub use super::subject::{AddressKey as _, SubjectKey as _};
    pub use crate::outcome::{AnyResult as _, AnyValue as _, ResultWithStatus as _, WithStatus as _};
}
