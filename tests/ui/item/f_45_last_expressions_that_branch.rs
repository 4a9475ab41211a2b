use std::future::Future;
use std::pin::Pin;

use rate_limit::{Rejection, limit_per_time};

type Answer = Result<u64, Rejection>;

struct Api;

#[limit_per_time(5, "10m", key = 7)]
impl Api {
    fn arms(&self, user: Option<u64>) -> Pin<Box<dyn Future<Output = Answer>>> {
        match user {
            Some(user) => Box::pin(async move { Ok(user) }),
            None => Box::pin(async { Ok(0) }),
        }
    }

    fn labelled(&self, user: u64) -> Pin<Box<dyn Future<Output = Answer>>> {
        'found: {
            if user == 0 {
                break 'found Box::pin(async { Ok(0) });
            }
            Box::pin(async move { Ok(user) })
        }
    }
}

fn main() {}
