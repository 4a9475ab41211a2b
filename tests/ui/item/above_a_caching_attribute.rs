//! The names of caching attributes, which stand for one that compiles.
use rate_limit::{Rejection, limit_per_time};
use tracing::instrument as cached;

mod proc_macro {
    pub use tracing::instrument as once;
}

#[limit_per_time(5, "1m", key = user)]
#[cached]
async fn read(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

struct Api;

#[limit_per_time(5, "1m", key = user)]
impl Api {
    /// It is limited by a function of its own.
    #[limit_per_time(exempt)]
    #[cached]
    async fn list(user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }

    #[proc_macro::once]
    async fn get(user: u64) -> Result<u64, Rejection> {
        Ok(user)
    }
}

/// Below it the check is around the cache.
#[cached]
#[limit_per_time(5, "1m", key = user)]
async fn below(user: u64) -> Result<u64, Rejection> {
    Ok(user)
}

fn main() {}
