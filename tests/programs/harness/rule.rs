//! One limit of a generated function. The generator includes this file too.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    Never,
    ResetOnSuccess,
    RefundOnSuccess,
    RefundOnError,
}

/// One limit of a function.
#[derive(Debug)]
pub struct Rule {
    pub count: u32,
    pub cost: u32,
    pub settle: Settle,
    /// `true` if the limit refuses nothing.
    pub observes: bool,
}
