//! The policies, from a file that may change while the service runs.

use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use rate_limit::{Limiter, Policies, SqlStore};
use tokio::sync::Notify;

/// So long after the first sign of a change the file is read: whoever writes it may not be done.
const WRITTEN: Duration = Duration::from_millis(100);

pub fn read(file: &Path) -> Result<Policies, String> {
    parse(&text(file)?)
}

fn text(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| error.to_string())
}

fn parse(text: &str) -> Result<Policies, String> {
    serde_saphyr::from_str(text).map_err(|error: serde_saphyr::Error| error.without_snippet().to_string())
}

fn set(limiter: &Limiter, text: &str) -> Result<Policies, String> {
    let policies = parse(text)?;
    let set = limiter.set_policies(policies.clone());
    set.map(|()| policies).map_err(|error| error.to_string())
}

/// Has the limiter go by the file whenever that changes, and tools find its numbers in the store, as long as the watcher is there.
///
/// It watches the folder: a file that is replaced, as editors do, or that a link leads to, as in Kubernetes, tells nothing itself.
pub fn watch(file: PathBuf, limiter: Limiter, store: SqlStore) -> notify::Result<RecommendedWatcher> {
    let file = absolute(file)?;
    let changed = Arc::new(Notify::new());
    let mut watcher = notify::recommended_watcher({
        let changed = Arc::clone(&changed);
        move |event: notify::Result<Event>| {
            // That the file was read is no change.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                changed.notify_one();
            }
        }
    })?;
    watcher.watch(file.parent().unwrap_or(&file), RecursiveMode::NonRecursive)?;
    // It may have changed before it was watched.
    changed.notify_one();
    tokio::spawn(async move {
        let mut last = None;
        loop {
            changed.notified().await;
            tokio::time::sleep(WRITTEN).await;
            let text = text(&file);
            if last.as_ref() == Some(&text) {
                continue;
            }
            let set = text.clone().and_then(|text| set(&limiter, &text));
            match set {
                Ok(policies) => {
                    tracing::info!(file = %file.display(), "the policies are those of the file now");
                    if let Err(error) = store.publish_methods(&policies).await {
                        tracing::warn!(%error, "tools do not know them yet");
                    }
                }
                Err(error) => tracing::error!(file = %file.display(), "the policies stay as they were: {error}"),
            }
            last = Some(text);
        }
    });
    Ok(watcher)
}
