//! What is allowed: an algorithm and its numbers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::span::Span;

/// How many calls a client may make, and over what time.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::Policy;
///
/// // In a constant, a number out of range is a compile error.
/// const LOGIN: Policy = Policy::sliding_window(5, Duration::from_secs(600)).block(Duration::from_secs(1800));
/// assert_eq!(LOGIN.to_string(), "5 in 10m, then blocked for 30m");
///
/// // A number from configuration is checked where it is read.
/// assert!(Policy::try_sliding_window(5, Duration::ZERO).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    algorithm: Algorithm,
    /// A count, or the capacity of a bucket.
    count: u32,
    /// A window, or the time in which a bucket gains a token.
    span: Span,
    /// Zero for none.
    block: Span,
}

/// How calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// The time of every admitted call is kept: never more than the count in any stretch of time as long as the window.
    SlidingWindow,
    /// Calls are counted from one multiple of the window since 1970 to the next: up to twice the count in a stretch as
    /// long as the window, around such a boundary.
    FixedWindow,
    /// A bucket starts full and gains a token each refill: up to the capacity, and one more for each refill, in any
    /// stretch of time.
    TokenBucket,
}

impl Policy {
    /// The largest count or capacity: ten million. A sliding log this long takes 70 MB a client in Redis.
    pub const MAX_COUNT: u32 = 10_000_000;
    /// The shortest window: one millisecond, the finest expiry that Redis keeps.
    pub const MIN_WINDOW: Duration = Duration::from_millis(1);
    /// The longest window, refilling of a whole bucket and block: 36,500 days. Sums of two and a date then stay exact
    /// in a Lua number.
    pub const MAX_WINDOW: Duration = Duration::from_secs(36_500 * 86_400);

    /// Admits nothing.
    pub(crate) const NOTHING: Self = Self::sliding_window(0, Self::MIN_WINDOW);

    /// At most `count` admitted calls in any stretch of time as long as `window`: a sliding window log.
    ///
    /// The window is kept in whole microseconds, rounded up. A `count` of 0 admits nothing, for good.
    ///
    /// # Panics
    ///
    /// If a number is out of range; in a constant that is a compile error. Use
    /// [`try_sliding_window`](Self::try_sliding_window) for numbers known only at run time.
    #[must_use]
    #[track_caller]
    pub const fn sliding_window(count: u32, window: Duration) -> Self {
        Self::or_panic(Self::try_sliding_window(count, window))
    }

    /// As [`sliding_window`](Self::sliding_window), for numbers known only at run time.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] tells which number is out of range.
    pub const fn try_sliding_window(count: u32, window: Duration) -> Result<Self, PolicyError> {
        Self::window_of(Algorithm::SlidingWindow, count, window)
    }

    /// At most `count` admitted calls from one multiple of `window` since 1970 to the next: the least memory, and up to
    /// twice the count around a boundary.
    ///
    /// # Panics
    ///
    /// If a number is out of range; in a constant that is a compile error. Use
    /// [`try_fixed_window`](Self::try_fixed_window) for numbers known only at run time.
    #[must_use]
    #[track_caller]
    pub const fn fixed_window(count: u32, window: Duration) -> Self {
        Self::or_panic(Self::try_fixed_window(count, window))
    }

    /// As [`fixed_window`](Self::fixed_window), for numbers known only at run time.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] tells which number is out of range.
    pub const fn try_fixed_window(count: u32, window: Duration) -> Result<Self, PolicyError> {
        Self::window_of(Algorithm::FixedWindow, count, window)
    }

    /// Starts with `capacity` tokens and gains one each `refill`, up to `capacity`; a call takes one. Fractions of a token
    /// are never lost. In any time `t` it admits up to `capacity` + `t` / `refill` calls: more than a window of that length
    /// and count would.
    ///
    /// # Panics
    ///
    /// If a number is out of range; in a constant that is a compile error. Use
    /// [`try_token_bucket`](Self::try_token_bucket) for numbers known only at run time.
    #[must_use]
    #[track_caller]
    pub const fn token_bucket(capacity: u32, refill: Duration) -> Self {
        Self::or_panic(Self::try_token_bucket(capacity, refill))
    }

    /// As [`token_bucket`](Self::token_bucket), for numbers known only at run time.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] tells which number is out of range.
    pub const fn try_token_bucket(capacity: u32, refill: Duration) -> Result<Self, PolicyError> {
        if capacity > Self::MAX_COUNT {
            return Err(PolicyError::Count);
        }
        if refill.is_zero() {
            return Err(PolicyError::RefillTooShort);
        }
        let refill = Span::from_duration(refill);
        match refill.0.checked_mul(capacity as u64) {
            Some(whole) if whole <= MAX_SPAN.0 && refill.0 <= MAX_SPAN.0 => {
                Ok(Self::new(Algorithm::TokenBucket, capacity, refill))
            }
            _ => Err(PolicyError::RefillTooLong),
        }
    }

    /// Refuses every call for `time` once one was refused. Calls refused meanwhile do not extend it, and a reset ends it.
    ///
    /// # Panics
    ///
    /// If `time` is out of range; in a constant that is a compile error. Use [`try_block`](Self::try_block) for a time known
    /// only at run time.
    #[must_use]
    #[track_caller]
    pub const fn block(self, time: Duration) -> Self {
        Self::or_panic(self.try_block(time))
    }

    /// As [`block`](Self::block), for a time known only at run time.
    ///
    /// # Errors
    ///
    /// [`PolicyError::Block`] if `time` is below 1 ms or above 36,500 days.
    pub const fn try_block(self, time: Duration) -> Result<Self, PolicyError> {
        if time.as_nanos() < Self::MIN_WINDOW.as_nanos() || time.as_nanos() > Self::MAX_WINDOW.as_nanos() {
            return Err(PolicyError::Block);
        }
        Ok(Self {
            block: Span::from_duration(time),
            ..self
        })
    }

    const fn window_of(algorithm: Algorithm, count: u32, window: Duration) -> Result<Self, PolicyError> {
        if count > Self::MAX_COUNT {
            return Err(PolicyError::Count);
        }
        if window.as_nanos() < Self::MIN_WINDOW.as_nanos() {
            return Err(PolicyError::WindowTooShort);
        }
        if window.as_nanos() > Self::MAX_WINDOW.as_nanos() {
            return Err(PolicyError::WindowTooLong);
        }
        Ok(Self::new(algorithm, count, Span::from_duration(window)))
    }

    const fn new(algorithm: Algorithm, count: u32, span: Span) -> Self {
        Self {
            algorithm,
            count,
            span,
            block: Span(0),
        }
    }

    #[track_caller]
    const fn or_panic(policy: Result<Self, PolicyError>) -> Self {
        match policy {
            Ok(policy) => policy,
            Err(error) => panic!("{}", error.message()),
        }
    }

    /// How calls are counted.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many calls are admitted at once: the count of a window, the capacity of a bucket.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The length of the window, or the time in which an empty bucket is full again.
    #[must_use]
    pub const fn window(&self) -> Duration {
        match self.algorithm {
            Algorithm::TokenBucket => Duration::from_micros(self.span.0 * self.count as u64),
            Algorithm::SlidingWindow | Algorithm::FixedWindow => self.span.to_duration(),
        }
    }

    /// For how long it refuses every call once one was refused, if it does.
    #[must_use]
    pub const fn block_time(&self) -> Option<Duration> {
        match self.block {
            Span(0) => None,
            block => Some(block.to_duration()),
        }
    }

    /// Microseconds of the window, or of one refill.
    pub(crate) const fn span(&self) -> u64 {
        self.span.0
    }

    /// Microseconds for which a refusal blocks, or 0.
    pub(crate) const fn block_span(&self) -> u64 {
        self.block.0
    }

    /// The larger count and the longer window of both, with the block of `other`: what a counter keeps that is judged by
    /// both.
    pub(crate) fn widened_to(self, other: Self) -> Self {
        Self {
            count: self.count.max(other.count),
            span: Span(self.span.0.max(other.span.0)),
            ..other
        }
    }

    /// The policy that the fallback records by what a store has admitted: the whole count, at the pace of the share that
    /// it decides by.
    pub(crate) fn recorded_by_one_of(self, instances: u32) -> Self {
        Self {
            count: self.count,
            ..self.divided(instances)
        }
    }

    /// The share of one of `instances` processes that no longer see each other, rounded up. A bucket also refills at its
    /// share of the rate.
    pub(crate) fn divided(self, instances: u32) -> Self {
        let span = match self.algorithm {
            Algorithm::TokenBucket => Span(self.span.0.saturating_mul(instances.into()).min(MAX_SPAN.0)),
            Algorithm::SlidingWindow | Algorithm::FixedWindow => self.span,
        };
        Self {
            count: self.count.div_ceil(instances),
            span,
            ..self
        }
    }
}

const MAX_SPAN: Span = Span::from_duration(Policy::MAX_WINDOW);

/// `5 in 10m`, `5 in each 10m`, `3 and one more each 50s`.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, span) = (self.count, self.span);
        match self.algorithm {
            Algorithm::SlidingWindow => write!(f, "{count} in {span}"),
            Algorithm::FixedWindow => write!(f, "{count} in each {span}"),
            Algorithm::TokenBucket => write!(f, "{count} and one more each {span}"),
        }?;
        match self.block {
            Span(0) => Ok(()),
            block => write!(f, ", then blocked for {block}"),
        }
    }
}

/// As it is displayed: `5 in 10m`, `5 in each 10m`, `3 and one more each 50s`, and behind any of them `, then blocked for 30m`.
///
/// ```
/// use std::time::Duration;
/// use rate_limit_runtime::Policy;
///
/// assert_eq!("3 and one more each 50s".parse(), Ok(Policy::token_bucket(3, Duration::from_secs(50))));
/// let error = "5 in 10".parse::<Policy>().unwrap_err();
/// assert_eq!(error, "`10` has no unit: write `10s`, `10m` or `10h`");
/// ```
///
/// The error is what to write instead.
impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (limit, block) = match text.split_once(',') {
            None => (text, None),
            Some((limit, block)) => match block.trim().strip_prefix("then blocked for ") {
                Some(block) => (limit, Some(block)),
                None => return Err(no_policy(text)),
            },
        };
        let shapes = [
            (" and one more each ", Self::try_token_bucket as fn(_, _) -> _),
            (" in each ", Self::try_fixed_window),
            (" in ", Self::try_sliding_window),
        ];
        let shape = shapes
            .into_iter()
            .find_map(|(words, policy)| Some((limit.split_once(words)?, policy)));
        let Some(((count, span), policy)) = shape else {
            return Err(no_policy(text));
        };
        let count = match count.trim().parse() {
            Ok(0) => return Err("a count of 0 admits nobody: write 1 or more".to_owned()),
            Ok(count) => count,
            Err(_) => {
                return Err(format!(
                    "`{}` is no count: a whole number from 1 to 10,000,000",
                    count.trim()
                ));
            }
        };
        let told = |error: PolicyError| error.to_string();
        let policy = policy(count, span.parse::<Span>()?.to_duration()).map_err(told)?;
        match block {
            Some(block) => policy.try_block(block.parse::<Span>()?.to_duration()).map_err(told),
            None => Ok(policy),
        }
    }
}

fn no_policy(text: &str) -> String {
    format!(
        "`{text}` is no policy: write `5 in 10m` for a sliding window, `5 in each 10m` for a fixed one, `3 and one more each 50s` for a \
         token bucket, and behind it, if you like, `, then blocked for 30m`"
    )
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policy({:?}, {self})", self.algorithm)
    }
}

/// A number of a policy is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The count or capacity is above [`Policy::MAX_COUNT`].
    Count,
    /// The window is below [`Policy::MIN_WINDOW`].
    WindowTooShort,
    /// The window is above [`Policy::MAX_WINDOW`].
    WindowTooLong,
    /// The refill is zero.
    RefillTooShort,
    /// The bucket takes longer than [`Policy::MAX_WINDOW`] to fill.
    RefillTooLong,
    /// The block is below [`Policy::MIN_WINDOW`] or above [`Policy::MAX_WINDOW`].
    Block,
}

impl PolicyError {
    const fn message(self) -> &'static str {
        match self {
            Self::Count => "a count or capacity is at most 10,000,000",
            Self::WindowTooShort => "a window is at least 1 millisecond",
            Self::WindowTooLong => "a window is at most 36,500 days",
            Self::RefillTooShort => "a refill takes some time: write in which time the bucket gains one token",
            Self::RefillTooLong => "a bucket fills within 36,500 days: use a smaller capacity or a shorter refill",
            Self::Block => "a block is at least 1 millisecond and at most 36,500 days",
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_as_it_is_written() {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        for policy in [
            Policy::sliding_window(5, minutes(10)),
            Policy::fixed_window(Policy::MAX_COUNT, Policy::MAX_WINDOW),
            Policy::token_bucket(3, Duration::from_secs(50)),
            Policy::sliding_window(1, Policy::MIN_WINDOW).block(minutes(90)),
            Policy::token_bucket(1, Duration::from_micros(1)).block(minutes(1)),
        ] {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert_eq!(" 5  in  10m ".parse(), Ok(Policy::sliding_window(5, minutes(10))));
    }

    #[test]
    fn what_is_no_policy_says_what_to_write() {
        let wrong = |text: &str| text.parse::<Policy>().expect_err(text);
        for text in ["", "5", "5/10m", "5 in 10m, blocked for 3m"] {
            assert!(
                wrong(text).starts_with(&format!("`{text}` is no policy: write `5 in 10m`")),
                "{}",
                wrong(text)
            );
        }
        assert_eq!(wrong("0 in 10m"), "a count of 0 admits nobody: write 1 or more");
        assert_eq!(
            wrong("-5 in 10m"),
            "`-5` is no count: a whole number from 1 to 10,000,000"
        );
        assert_eq!(wrong("10000001 in 10m"), "a count or capacity is at most 10,000,000");
        assert_eq!(wrong("5 in 10"), "`10` has no unit: write `10s`, `10m` or `10h`");
        assert_eq!(wrong("5 in 1us"), "a window is at least 1 millisecond");
        assert_eq!(wrong("3 and one more each 0s"), PolicyError::RefillTooShort.message());
        assert_eq!(wrong("5 in 10m, then blocked for 40000d"), PolicyError::Block.message());
    }
}
