//! What a layer has charged for the request that is being answered.

use std::future::Future;

use crate::key::Key;

tokio::task_local! {
    static CHARGED: Vec<Key>;
}

/// Runs a future in which a charge of this counter is known.
#[cfg_attr(not(any(feature = "actix-web", feature = "axum")), allow(dead_code))]
pub(crate) async fn scope<F: Future>(key: Key, future: F) -> F::Output {
    let mut keys = CHARGED.try_with(Clone::clone).unwrap_or_default();
    keys.push(key);
    CHARGED.scope(keys, future).await
}

/// Says so once, if a function charges a counter that a layer around it has charged for the same request: its limit is then half of
/// what it says.
pub(crate) fn warn_if_twice(key: &Key) {
    static SAID: std::sync::Once = std::sync::Once::new();
    if CHARGED.try_with(|keys| keys.contains(key)).unwrap_or(false) {
        SAID.call_once(|| {
            tracing::warn!(
                method = key.method().name(),
                "a request is charged twice on one counter, by a layer and by the function behind it: give one of them another name"
            );
        });
    }
}
