use std::future::Future;
use std::pin::Pin;

use rate_limit::{Rejection, limit_per_time};

type Answer = Result<u64, Rejection>;

struct Api;

#[limit_per_time(5, "10m", key = 7)]
impl Api {
    fn let_else(&self, user: Option<u64>) -> Pin<Box<dyn Future<Output = Answer>>> {
        let Some(user) = user else {
            return Box::pin(async { Ok(0) });
        };
        Box::pin(async move { Ok(user) })
    }

    fn match_arm(&self, user: Option<u64>) -> Pin<Box<dyn Future<Output = Answer>>> {
        let user = match user {
            Some(user) => user,
            None => return Box::pin(async { Ok(0) }),
        };
        Box::pin(async move { Ok(user) })
    }

    fn in_a_macro(&self, user: u64) -> Pin<Box<dyn Future<Output = Answer>>> {
        let _ = matches!(user, 1 | 2 if (|| return true)());
        println!("{}", if user == 0 { return Box::pin(async { Ok(0) }) } else { 1 });
        Box::pin(async move { Ok(user) })
    }

    fn in_a_loop(&self, user: u64) -> Pin<Box<dyn Future<Output = Answer>>> {
        for known in 0..user {
            if known == 7 {
                return Box::pin(async { Ok(7) });
            }
        }
        return Box::pin(async move { Ok(user) });
    }
}

fn main() {}
