//! One limit on one call.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::OnStoreError;
use crate::key::Key;
use crate::method::Method;
use crate::policy::Policy;
use crate::store::Charge;

/// A policy, the counter it holds for, and what the call weighs.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::{Client, Key, Method, OnStoreError, Policy, Rule};
///
/// let rule = Rule::new(
///     Policy::sliding_window(5, Duration::from_secs(600)),
///     Key::new(Method::named("login"), Client::of("20230001")?),
/// )
/// .cost(2)
/// .on_store_error(OnStoreError::Closed);
/// # Ok::<(), rate_limit_runtime::KeyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Rule {
    pub(crate) policy: Policy,
    key: Key,
    place: u8,
    pub(crate) cost: u32,
    pub(crate) observe: bool,
    at: Option<u64>,
    pub(crate) on_store_error: Option<OnStoreError>,
    by_numbers: bool,
}

impl Rule {
    /// How many rules a call may have.
    pub const MAX: usize = 8;

    /// A call that weighs 1.
    pub const fn new(policy: Policy, key: Key) -> Self {
        Self {
            policy,
            key,
            place: 0,
            cost: 1,
            observe: false,
            at: None,
            on_store_error: None,
            by_numbers: false,
        }
    }

    /// How many hits the call weighs. 0 is admitted if one that weighs nothing is, and is not recorded.
    pub const fn cost(self, hits: u32) -> Self {
        Self { cost: hits, ..self }
    }

    /// Decides and reports, and never refuses: to see whom a limit would refuse before it does.
    pub const fn observe(self) -> Self {
        Self { observe: true, ..self }
    }

    /// When the event was that is counted now. Only a token bucket asks for it, and takes the earlier of it and the time of
    /// the store.
    pub fn at(self, time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            at: Some(u64::try_from(since.as_micros()).unwrap_or(u64::MAX)),
            ..self
        }
    }

    /// What holds while the store does not decide, if not what the limiter says.
    pub const fn on_store_error(self, mode: OnStoreError) -> Self {
        Self {
            on_store_error: Some(mode),
            ..self
        }
    }

    /// Which of the rules of a call this is. The counters of a function's first rule are those of a function with one.
    pub const fn place(self, place: u8) -> Self {
        Self { place, ..self }
    }

    /// Takes the counter that these numbers have beside other numbers of one function: an annotated function that is generic has such
    /// where its numbers are constant expressions, as in `count = Self::LIMIT`, and no configured policy takes their place.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rate_limit_runtime::{Client, Key, Method, Policy, Rule};
    ///
    /// // How `alice` stands at `<A as Plan>::read` where `A::LIMIT` is 10.
    /// let ten = Policy::sliding_window(10, Duration::from_secs(3600));
    /// let rule = Rule::new(ten, Key::new(Method::named("my_service::Plan::read"), Client::of("alice")?)).by_numbers();
    /// # Ok::<(), rate_limit_runtime::KeyError>(())
    /// ```
    pub const fn by_numbers(self) -> Self {
        Self {
            by_numbers: true,
            ..self
        }
    }

    /// The function, whatever its counters go by.
    pub(crate) const fn method(&self) -> Method {
        self.key.method()
    }

    /// Its place among the rules of a call.
    pub(crate) const fn nth(&self) -> u8 {
        self.place
    }

    pub(crate) const fn charge(&self) -> Charge {
        let key = self.key.counted_by(self.policy.algorithm(), self.place);
        Charge {
            key: if self.by_numbers {
                key.counted_for(&self.policy)
            } else {
                key
            },
            policy: self.policy,
            cost: self.cost,
            observe: self.observe,
            at: self.at,
        }
    }

    /// The keys of all counters that rules may have by this one: of each algorithm, at each place.
    pub(crate) fn all_counters(key: Key) -> impl Iterator<Item = Key> {
        use crate::policy::Algorithm::{FixedWindow, SlidingWindow, TokenBucket};
        [SlidingWindow, TokenBucket, FixedWindow]
            .into_iter()
            .flat_map(move |algorithm| (0..Self::MAX as u8).map(move |place| key.counted_by(algorithm, place)))
    }
}
