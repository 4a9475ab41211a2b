//! What a correct store cannot have done.

use super::call::Call;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// All that was admitted between these times, by whatever has decided the last of it, is more than the bound.
    OverAdmission {
        last: Call,
        since: u64,
        admitted: u64,
        bound: u64,
    },
    /// At most `charged` can have been in the window, which leaves room for the call.
    Unjustified { refused: Call, charged: u64 },
    /// It waited for as long as it had been told, nobody came in between, and it was refused.
    BrokenHint { told: Call, refused: Call },
    /// The answer came after the deadline.
    Late { call: Call },
}

impl Finding {
    pub fn key(&self) -> &str {
        let (Self::OverAdmission { last: call, .. }
        | Self::Unjustified { refused: call, .. }
        | Self::BrokenHint { refused: call, .. }
        | Self::Late { call }) = self;
        &call.key
    }
}
