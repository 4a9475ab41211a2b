//! What is allowed: an algorithm and its numbers.

use std::fmt;
use std::time::Duration;

use crate::span::Span;

/// How many calls a client may make, and over what time.
///
/// One algorithm serves today: the *sliding window log*. It keeps the time of every admitted call and admits
/// another when fewer than `count` of them are younger than `window`. It is exact: never more than `count`
/// are admitted in any stretch of time as long as `window`, wherever that stretch begins.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::Policy;
///
/// // In a constant, a number out of range is a compile error.
/// const LOGIN: Policy = Policy::sliding_window(5, Duration::from_secs(600));
/// assert_eq!(LOGIN.to_string(), "5 in 10m");
///
/// // A number from configuration is checked where it is read.
/// assert!(Policy::try_sliding_window(5, Duration::ZERO).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    count: u32,
    window: Span,
}

impl Policy {
    /// The largest `count`: ten million. A log this long takes 70 MB a client in Redis; beyond it a token
    /// bucket is the right tool.
    pub const MAX_COUNT: u32 = 10_000_000;
    /// The shortest `window`: one millisecond, the finest expiry that Redis keeps.
    pub const MIN_WINDOW: Duration = Duration::from_millis(1);
    /// The longest `window`: 36,500 days. Sums of two windows and a date then stay exact in a Lua number.
    pub const MAX_WINDOW: Duration = Duration::from_secs(36_500 * 86_400);

    /// At most `count` admitted calls in any stretch of time as long as `window`.
    ///
    /// The window is kept in whole microseconds, rounded up. A `count` of 0 admits nothing, for good.
    ///
    /// # Panics
    ///
    /// If `count` or `window` is out of range; in a constant that is a compile error. Use
    /// [`try_sliding_window`](Self::try_sliding_window) for numbers known only at run time.
    #[must_use]
    pub const fn sliding_window(count: u32, window: Duration) -> Self {
        match Self::try_sliding_window(count, window) {
            Ok(policy) => policy,
            Err(PolicyError::Count) => panic!("`count` is above 10,000,000: use a smaller one"),
            Err(PolicyError::WindowTooShort) => panic!("`window` is below 1 ms: use a longer one"),
            Err(PolicyError::WindowTooLong) => panic!("`window` is above 36,500 days: use a shorter one"),
        }
    }

    /// As [`sliding_window`](Self::sliding_window), for numbers known only at run time.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] tells which number is out of range.
    pub const fn try_sliding_window(count: u32, window: Duration) -> Result<Self, PolicyError> {
        if count > Self::MAX_COUNT {
            return Err(PolicyError::Count);
        }
        if window.as_nanos() < Self::MIN_WINDOW.as_nanos() {
            return Err(PolicyError::WindowTooShort);
        }
        if window.as_nanos() > Self::MAX_WINDOW.as_nanos() {
            return Err(PolicyError::WindowTooLong);
        }
        Ok(Self {
            count,
            window: Span::from_duration(window),
        })
    }

    /// How many calls a window admits.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The length of the window.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window.to_duration()
    }

    pub(crate) const fn window_span(&self) -> Span {
        self.window
    }

    /// The share of one of `instances` processes that no longer see each other, rounded up.
    pub(crate) fn divided(self, instances: u32) -> Self {
        Self {
            count: self.count.div_ceil(instances),
            ..self
        }
    }
}

/// `5 in 10m`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.count, self.window)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policy(sliding window, {self})")
    }
}

/// A number of a policy is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// `count` is above [`Policy::MAX_COUNT`].
    Count,
    /// `window` is below [`Policy::MIN_WINDOW`].
    WindowTooShort,
    /// `window` is above [`Policy::MAX_WINDOW`].
    WindowTooLong,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "the count of a window is at most 10,000,000",
            Self::WindowTooShort => "a window is at least 1 millisecond",
            Self::WindowTooLong => "a window is at most 36,500 days",
        })
    }
}

impl std::error::Error for PolicyError {}
