//! What holds while the store does not decide.

/// What a rule does while the store cannot be reached in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnStoreError {
    /// Admit the call: right where being counted is worth less than being served.
    Open,
    /// Refuse the call, with 503 over HTTP: right where an unlimited call is dangerous.
    Closed,
    /// Enforce the same policy in the memory of this process, which has counted the calls that the store admitted here. Each instance
    /// then admits up to `count` in a window, all together up to `count` x their number; tell the limiter how many there are, and each
    /// enforces its share: [`LimiterBuilder::instances`](crate::LimiterBuilder::instances) has the bounds, also across the failure and
    /// on recovery.
    #[default]
    Local,
}
