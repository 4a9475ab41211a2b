//! What can go wrong with a store or with building a limiter.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::printable::printable;

type Source = Box<dyn Error + Send + Sync>;

/// A store did not decide. It says nothing of the client: the rule's [`OnStoreError`](crate::OnStoreError) does.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// Why a store did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It cannot be reached, is starting or failing over. Nothing is known to be charged.
    Unavailable,
    /// It did not answer in time. The charge may or may not be recorded; it is not asked again.
    Timeout,
    /// The transaction that it was asked in met another one and cannot go on. Nothing of it is kept: roll it back, and run it again from
    /// its start.
    Aborted,
    /// It refuses us: a wrong password, a missing permission, no async runtime to reach it with.
    Misconfigured,
    /// What it holds or answers is not ours: another program writes under the same key, or answers for it.
    Unexpected,
}

impl StoreErrorKind {
    #[cfg(feature = "metrics")]
    pub(crate) const ALL: [Self; 5] = [
        Self::Unavailable,
        Self::Timeout,
        Self::Aborted,
        Self::Misconfigured,
        Self::Unexpected,
    ];
}

impl StoreError {
    /// An error of a store of your own. Characters of the message that steer a terminal are escaped, since it may have the words of a server.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: printable(&message.into()).into_owned(),
            source: None,
        }
    }

    /// Adds what caused it.
    #[must_use]
    pub fn with_source(self, source: impl Into<Source>) -> Self {
        Self {
            source: Some(Arc::from(source.into())),
            ..self
        }
    }

    /// The same error, for another call that it came to.
    #[cfg(feature = "redis")]
    pub(crate) fn shared(&self) -> Self {
        Self {
            kind: self.kind,
            message: self.message.clone(),
            source: self.source.clone(),
        }
    }

    /// Why it did not decide.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether it may pass without anybody's doing.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Unavailable | StoreErrorKind::Timeout | StoreErrorKind::Aborted
        )
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A limiter or store was not built.
#[derive(Debug)]
pub struct BuildError {
    message: String,
    source: Option<Source>,
}

impl BuildError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    #[cfg(feature = "redis")]
    pub(crate) fn with_source(self, source: impl Into<Source>) -> Self {
        Self {
            source: Some(source.into()),
            ..self
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
