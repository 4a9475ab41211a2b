//! What holds while the store does not decide.

/// What a rule does while the store cannot be reached in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnStoreError {
    /// Admit the call: right where being counted is worth less than being served.
    Open,
    /// Refuse the call, with 503 over HTTP: right where an unlimited call is dangerous.
    Closed,
    /// Enforce the same policy in the memory of this process. All instances together then admit up to
    /// `count` x their number; tell the limiter how many there are
    /// ([`LimiterBuilder::instances`](crate::LimiterBuilder::instances)), and each enforces its share.
    #[default]
    Local,
}
