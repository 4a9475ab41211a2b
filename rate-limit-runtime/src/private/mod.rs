//! What expansions of the attribute call. No part of the public interface: it changes in any release.

mod call;
mod numbers;
#[cfg(any(feature = "actix-web", feature = "axum"))]
mod refusable;
mod refusals;
mod settled;
mod subject;
mod within;

pub use self::call::{Call, admit, limiter, on_limit};
pub use self::numbers::{
    block, capacity, computed, count, fixed_window, policy, refill, sliding_window, token_bucket, window,
};
#[cfg(any(feature = "actix-web", feature = "axum"))]
pub use self::refusable::refuse;
#[cfg(any(feature = "actix-web", feature = "axum"))]
pub(crate) use self::refusable::{Answer, Refusable};
#[cfg(any(feature = "actix-web", feature = "axum"))]
pub(crate) use self::refusals::unknown_policy;
pub use self::refusals::{denied, denied_by, denied_by_trait};
pub use self::settled::settled;
pub(crate) use self::settled::{Settled, settle};
pub use self::subject::{ambient, element, key, part};
pub use self::within::within;
pub use std::{line, module_path};

pub use crate::__register as register;
#[cfg(feature = "actix-web")]
pub use crate::integrations::actix_web::response::either_responder;
#[cfg(feature = "axum")]
pub use crate::integrations::axum::response::{either, response};
pub use crate::outcome::{Outcome, settled_by};
pub use crate::policy::Policy;
pub use crate::registry::{Numbers, Site, TraitNumbers, type_name};
pub use crate::rejection::FromRejection;

/// The traits that decide by type, to be had all at once and without their names.
pub mod by_type {
    pub use super::subject::{AddressKey as _, SubjectKey as _};
    pub use crate::outcome::{AnyResult as _, AnyValue as _, ResultWithStatus as _, WithStatus as _};
}
