//! What a layer has charged for the request that is being answered.

use std::future::Future;

use crate::key::Key;
use crate::method::Method;
use crate::scopes::Scope;
use crate::throttle::Names;

tokio::task_local! {
    static CHARGED: Vec<Key>;
}

/// Runs a future in which a charge of this counter is known.
#[cfg_attr(not(any(feature = "actix-web", feature = "axum")), allow(dead_code))]
pub(crate) fn scope<F: Future>(key: Key, future: F) -> impl Future<Output = F::Output> {
    let mut keys = CHARGED.try_with(Clone::clone).unwrap_or_default();
    keys.push(key);
    Scope::new(CHARGED.scope(keys, future))
}

/// Says so once a name, if a function charges a counter that a layer around it has charged for the same request: its limit is then half of
/// what it says.
#[inline]
pub(crate) fn warn_if_twice(key: impl FnOnce() -> Key) {
    // Most functions have no layer around them.
    let _ = CHARGED.try_with(|keys| {
        let key = key();
        if keys.contains(&key) {
            warn_once(key.method());
        }
    });
}

fn warn_once(method: Method) {
    static WARNED: Names = Names::new();
    if WARNED.is_new(method.name()) {
        tracing::warn!(
            method = method.name(),
            "a request is charged twice on one counter, by a layer and by the function behind it: give one of them another name"
        );
    }
}
