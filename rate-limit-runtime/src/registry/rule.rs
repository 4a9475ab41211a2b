//! What the attribute says of a rule once.

use std::time::Duration;

use super::Numbers;
use crate::failure::OnStoreError;

/// What the attribute says of one rule, as far as it is the same for every call.
#[derive(Clone, Copy, Debug)]
pub struct SiteRule {
    /// `None` for numbers that a static cannot tell.
    pub(crate) numbers: Option<Numbers>,
    pub(crate) settle: Option<SettleOn>,
    pub(crate) observe: bool,
    pub(crate) on_store_error: Option<OnStoreError>,
}

/// When a rule settles a call, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettleOn {
    /// Forget the record up to this call, after a success.
    ResetOnSuccess,
    /// Take back the charge, after a success.
    RefundOnSuccess,
    /// Take back the charge, after anything else.
    RefundOnError,
}

impl SiteRule {
    /// Returns a rule of these numbers.
    #[must_use]
    pub const fn of(numbers: Numbers) -> Self {
        Self {
            numbers: Some(numbers),
            ..Self::computed()
        }
    }

    /// Returns a rule whose numbers each call tells, since they are computed.
    #[must_use]
    pub const fn computed() -> Self {
        Self {
            numbers: None,
            settle: None,
            observe: false,
            on_store_error: None,
        }
    }

    /// Sets the block of own numbers. The time is a literal that was checked when it was read, in microseconds.
    #[must_use]
    pub const fn block(mut self, time: u64) -> Self {
        if let Some(Numbers::Own(policy)) = self.numbers {
            self.numbers = Some(Numbers::Own(policy.block(Duration::from_micros(time))));
        }
        self
    }

    /// Sets `observe`.
    #[must_use]
    pub const fn observe(mut self) -> Self {
        self.observe = true;
        self
    }

    /// Sets `on_store_error = open`.
    #[must_use]
    pub const fn open(mut self) -> Self {
        self.on_store_error = Some(OnStoreError::Open);
        self
    }

    /// Sets `on_store_error = closed`.
    #[must_use]
    pub const fn closed(mut self) -> Self {
        self.on_store_error = Some(OnStoreError::Closed);
        self
    }

    /// Sets `on_store_error = local`.
    #[must_use]
    pub const fn local(mut self) -> Self {
        self.on_store_error = Some(OnStoreError::Local);
        self
    }

    /// Sets `reset_on_success`.
    #[must_use]
    pub const fn reset_on_success(mut self) -> Self {
        self.settle = Some(SettleOn::ResetOnSuccess);
        self
    }

    /// Sets `refund_on_success`.
    #[must_use]
    pub const fn refund_on_success(mut self) -> Self {
        self.settle = Some(SettleOn::RefundOnSuccess);
        self
    }

    /// Sets `refund_on_error`.
    #[must_use]
    pub const fn refund_on_error(mut self) -> Self {
        self.settle = Some(SettleOn::RefundOnError);
        self
    }
}
