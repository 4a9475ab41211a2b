//! x
pub use rate_limit_macros::limit_per_time;
pub use rate_limit_runtime::*;
#[doc(hidden)]
pub use rate_limit_runtime::private as __private;
