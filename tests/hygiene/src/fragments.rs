//! Functions out of `macro_rules!`, whose fragments are in invisible groups.

use core::future::Future;
use core::hint::black_box;

use limits::{limit_per_time, Rejection};

/// Makes one function of each kind.
macro_rules! functions {
    ($times:expr, $or:expr, $user:ident, $params:pat, $ty:ty, $ret:ty, $before:stmt, $body:block, $of:path, $int:literal) => {
        /// A limited function.
        ///
        /// # Errors
        /// The call over the limit.
        #[limit_per_time(count = $times * 2, window = "1h", key = $user * $times, deny_if = !$or, crate = ::limits)]
        pub async fn checked($user: u32) -> $ret {
            Ok($user.saturating_mul($times))
        }

        /// A limited function.
        ///
        /// # Errors
        /// The call over the limit.
        #[limit_per_time($int, "1h", key = "k", cost = $times * 2, reset_on_success, crate = ::limits)]
        pub async fn settled($params: (u32, u32), _: &$ty) -> $ret $body

        /// A limited function.
        ///
        /// # Errors
        /// The call over the limit.
        #[limit_per_time($int, "1h", key = "k", crate = ::limits)]
        pub fn future($user: u32) -> impl Future<Output = $ret> + Send {
            let more = $user.saturating_mul($times);
            $before;
            async move { Ok(more.saturating_mul($times)) }
        }

        #[limit_per_time($int, "1h", key = "k", crate = ::limits)]
        impl $of {
            /// Twice the times.
            pub const TWICE: u32 = 2 * $times;

            /// A method that is not limited.
            #[must_use]
            pub const fn twice(&self) -> u32 {
                2 * $times
            }

            /// A limited method.
            ///
            /// # Errors
            /// The call over the limit.
            pub async fn limited(&self, $user: u32) -> $ret {
                Ok($user.saturating_mul($times))
            }
        }
    };
}

/// It has methods.
#[derive(Debug)]
pub struct Fragments;

functions!(2 + 1, user == 1 || user == 2, user, (_, _), dyn Send + Sync, Result<u32, Rejection>, black_box(()), { Ok(7) }, Fragments, 3);
