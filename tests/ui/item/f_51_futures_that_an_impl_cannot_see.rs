use std::future::Future;
use std::pin::Pin;

use rate_limit::{Rejection, limit_per_time};

type Answer = Result<u64, Rejection>;

type Boxed = Pin<Box<dyn Future<Output = Answer>>>;

struct Api;

macro_rules! methods {
    ($($name:ident)*) => {
        $(async fn $name(&self) -> Answer { Ok(7) })*
    };
}

#[limit_per_time(5, "10m", key = 7)]
impl Api {
    fn alias(&self, user: u64) -> Boxed {
        Box::pin(async move { Ok(user) })
    }

    fn branches(&self, user: u64) -> Boxed {
        match user {
            0 => Box::pin(async { Ok(0) }),
            _ if user > 7 => unreachable!(),
            _ => Box::pin(std::future::ready(Ok(user))),
        }
    }

    fn early(&self, user: u64) -> Boxed {
        if user > 7 {
            return Box::pin(async { Ok(7) });
        }
        self.exempt(user)
    }

    fn opaque(&self) -> impl Future {
        async { 7 }
    }

    #[limit_per_time(exempt)]
    fn exempt(&self, user: u64) -> Boxed {
        Box::pin(async move { Ok(user) })
    }

    fn sync(&self) -> u64 {
        let _ = async { 7 };
        7
    }

    methods! { first second }

    #[limit_per_time(exempt)]
    methods! { third }
}

#[limit_per_time(5, "10m", key = 7)]
trait Default {
    fn without_a_body(&self) -> Boxed;

    fn alias(&self, user: u64) -> Boxed {
        Box::pin(async move { Ok(user) })
    }

    methods! { fourth }
}

fn main() {}
