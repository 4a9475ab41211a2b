//! What stores outside of the process need of the runtime.

use std::hash::{BuildHasher as _, RandomState};

use crate::error::{StoreError, StoreErrorKind};

/// Their clients panic outside of one.
pub(super) fn in_runtime(store: &str) -> Result<(), StoreError> {
    match tokio::runtime::Handle::try_current() {
        Ok(_) => Ok(()),
        Err(_) => Err(StoreError::new(
            StoreErrorKind::Misconfigured,
            format!("the {store} store is used outside of a Tokio runtime"),
        )),
    }
}

/// From 0 to 1, so that those who failed together do not try again together.
pub(super) fn random() -> f64 {
    RandomState::new().hash_one(0_u8) as f64 / u64::MAX as f64
}
