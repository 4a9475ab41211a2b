//! The calls under way of functions that share a name, by the task that makes them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::task;

use crate::key::Client;
use crate::registry::Site;
use crate::throttle::Names;

const SHARDS: u64 = 64;

static OPEN: [Mutex<Vec<Open>>; SHARDS as usize] = [const { Mutex::new(Vec::new()) }; SHARDS as usize];

/// A call under way, which ends when this is dropped. Its number ends in that of its shard.
#[derive(Debug)]
pub struct UnderWay(NonZeroU64);

/// The counters of a call by the ordinals of their rules.
type Counters = SmallVec<[(u8, Client); 2]>;

struct Open {
    number: NonZeroU64,
    caller: Caller,
    site: &'static Site,
    counters: Counters,
}

/// What runs one call after the other, unless it joins futures.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Caller {
    Task(task::Id),
    /// A thread that waits for a future in a runtime of Tokio.
    Thread(ThreadId),
}

impl Caller {
    /// Returns the current task, or the thread that blocks on a future; `None` outside of a Tokio runtime.
    fn current() -> Option<Self> {
        let thread = || Handle::try_current().ok().map(|_| Self::Thread(thread::current().id()));
        task::try_id().map(Self::Task).or_else(thread)
    }

    fn shard(self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish() % SHARDS
    }
}

impl UnderWay {
    /// Begins a call of a function whose name another one has too. Warns once a name if the task is within a call of that one which is
    /// charged on one of these counters.
    pub(crate) fn begin(site: &'static Site, counters: Counters) -> Option<Self> {
        static BEGUN: AtomicU64 = AtomicU64::new(1);
        let caller = Caller::current()?;
        let shard = caller.shard();
        let number = NonZeroU64::new(BEGUN.fetch_add(1, Ordering::Relaxed) * SHARDS + shard)?;
        let mut open = lock(shard);
        let outer = open.iter().find(|outer| {
            outer.caller == caller
                && !std::ptr::eq(outer.site, site)
                && outer.site.method() == site.method()
                && outer.counters.iter().any(|counter| counters.contains(counter))
        });
        let outer = outer.map(|outer| outer.site);
        open.push(Open {
            number,
            caller,
            site,
            counters,
        });
        drop(open);
        if let Some(outer) = outer {
            warn(outer, site);
        }
        Some(Self(number))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut open = lock(self.0.get() % SHARDS);
        if let Some(place) = open.iter().rposition(|call| call.number == self.0) {
            open.swap_remove(place);
        }
    }
}

fn lock(shard: u64) -> MutexGuard<'static, Vec<Open>> {
    OPEN[shard as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn warn(outer: &'static Site, inner: &'static Site) {
    static WARNED: Names = Names::new();
    let method = inner.method().name();
    if !WARNED.is_new(method) {
        return;
    }
    let [outer, inner] = [outer, inner].map(Site::whereabouts);
    if outer == inner {
        tracing::warn!(
            method,
            at = outer,
            "a call is charged twice on one counter, since a macro copied the attribute onto two functions of which one calls the other: \
             put `limit_per_time` on a function of its own, and call that"
        );
    } else {
        tracing::warn!(
            method,
            outer,
            inner,
            "a call is charged twice on one counter, since one function of this name runs within another: move what they share into a \
             function without a limit, or give one of them another name"
        );
    }
}
