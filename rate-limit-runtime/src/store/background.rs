//! Where a store does the work that no caller may take along when it ends.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::thread;

use tokio::runtime::{Builder, Handle, Id};
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;

#[cfg(feature = "redis")]
use super::lag::Lag;
use crate::error::{StoreError, StoreErrorKind};

/// Runs the background tasks of a store.
///
/// They run on the runtime of the first caller, so that a decision changes no thread. A call from a second runtime moves all
/// later tasks to a thread of the store's own, since either of the two runtimes may end before the other one does. The thread
/// ends when the store is dropped.
pub(crate) struct Background {
    first: OnceLock<(Id, Handle)>,
    own: OnceLock<OwnThread>,
    /// How many tasks of [`Background::finish`] have not ended.
    unfinished: watch::Sender<usize>,
    #[cfg(feature = "redis")]
    lag: Lag,
}

impl Background {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            first: OnceLock::new(),
            own: OnceLock::new(),
            unfinished: watch::Sender::new(0),
            #[cfg(feature = "redis")]
            lag: Lag::default(),
        })
    }

    /// Notes the runtime of a caller. Returns `true` if this moved the background tasks to a thread of their own.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the kind `Misconfigured` outside of a Tokio runtime. `store` is the name of the store in its message.
    pub(crate) fn enter(&self, store: &str) -> Result<bool, StoreError> {
        let Ok(caller) = Handle::try_current() else {
            return Err(StoreError::new(
                StoreErrorKind::Misconfigured,
                format!("the {store} store is used outside of a Tokio runtime"),
            ));
        };
        let id = caller.id();
        let (first, _) = self.first.get_or_init(|| (id, caller));
        if *first == id || self.own.get().is_some() {
            return Ok(false);
        }
        let mut moved = false;
        self.own.get_or_init(|| {
            moved = true;
            OwnThread::start()
        });
        Ok(moved)
    }

    #[cfg(feature = "redis")]
    pub(crate) const fn lag(&self) -> &Lag {
        &self.lag
    }

    /// Returns the runtime on which background tasks run now.
    fn handle(&self) -> Handle {
        match (self.own.get(), self.first.get()) {
            (Some(OwnThread { handle, .. }), _) | (None, Some((_, handle))) => handle.clone(),
            (None, None) => self.own.get_or_init(OwnThread::start).handle.clone(),
        }
    }

    /// Returns `false` on a runtime that later tasks do not run on.
    pub(crate) fn is_here(&self) -> bool {
        Handle::try_current().is_ok_and(|here| here.id() == self.handle().id())
    }

    /// Starts a task that ends by itself when the store is dropped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.handle().spawn(task).abort_handle()
    }

    /// Starts a task that goes on if its caller is gone, and that [`drain`](Self::drain) waits for. Returns a future with its
    /// output.
    pub(crate) fn finish<T: Send + 'static>(
        self: &Arc<Self>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        let unfinished = Unfinished::new(self);
        self.spawn(async move {
            // The caller may be gone.
            let _ = answer.send(task.await);
            drop(unfinished);
        });
        async move { answered.await.map_err(|_| ended()) }
    }

    /// Waits until no task of [`finish`](Self::finish) is under way.
    pub(crate) async fn drain(&self) {
        // The sender is of this value, so it is not gone.
        let _ = self
            .unfinished
            .subscribe()
            .wait_for(|unfinished| *unfinished == 0)
            .await;
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background")
            .field("own_thread", &self.own.get().is_some())
            .field("unfinished", &*self.unfinished.borrow())
            .finish_non_exhaustive()
    }
}

fn ended() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unexpected,
        "the runtime ended while the store was asked",
    )
}

/// Counts a task until it ends, also when its runtime drops it.
struct Unfinished(Arc<Background>);

impl Unfinished {
    fn new(background: &Arc<Background>) -> Self {
        background.unfinished.send_modify(|unfinished| *unfinished += 1);
        Self(Arc::clone(background))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.unfinished.send_modify(|unfinished| *unfinished -= 1);
    }
}

/// A thread with a runtime, until it is dropped.
struct OwnThread {
    handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl OwnThread {
    /// # Panics
    ///
    /// If the system gives no thread or no I/O driver, as `tokio::spawn_blocking` does.
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the system gives an I/O driver");
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let started = thread::Builder::new().name("rate-limit".to_owned()).spawn(move || {
            // The sender is never used: this ends when it is dropped.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        });
        started.expect("the system gives a thread");
        Self { handle, _stop: stop }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::runtime::Runtime;

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("it needs no thread")
    }

    #[test]
    fn f_69_a_task_outlives_the_runtime_of_its_caller() {
        let background = Background::new();
        let (one, other) = (runtime(), runtime());
        assert!(background.enter("test").is_err(), "there is no runtime here");
        assert_eq!(one.block_on(async { background.enter("test") }).ok(), Some(false));
        assert_eq!(one.block_on(async { background.enter("test") }).ok(), Some(false));
        assert_eq!(other.block_on(async { background.enter("test") }).ok(), Some(true));
        let (go, gone) = oneshot::channel();
        let again = one.block_on(async { background.enter("test") });
        assert_eq!(again.ok(), Some(false), "it has moved already");
        let answer = background.finish(async move { gone.await.map(|()| 7) });
        drop(one);
        go.send(()).expect("the task is there");
        assert!(matches!(other.block_on(answer), Ok(Ok(7))));
    }

    #[test]
    fn a_drain_waits_for_what_is_under_way_and_for_nothing_else() {
        let background = Background::new();
        runtime().block_on(async {
            background.enter("test").expect("there is a runtime");
            background.drain().await;
            let (go, gone) = oneshot::channel::<()>();
            background.spawn(std::future::pending());
            drop(background.finish(gone));
            let early = tokio::time::timeout(Duration::from_millis(20), background.drain()).await;
            assert!(early.is_err(), "the task has not ended");
            drop(go);
            background.drain().await;
        });
    }

    #[test]
    fn the_thread_ends_with_the_store() {
        let background = Background::new();
        let (dropped, end) = std::sync::mpsc::channel::<()>();
        background.spawn(async move {
            let _held = dropped;
            std::future::pending::<()>().await;
        });
        drop(background);
        let ended = end.recv_timeout(Duration::from_secs(5));
        assert_eq!(ended, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
    }
}
