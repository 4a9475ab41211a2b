#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use rate_limit::limit_per_time;
use support::{Error, run};

#[derive(Clone, Debug, PartialEq)]
struct Portal {
    id: u64,
}

impl Portal {
    const LIMIT: u32 = 1;

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn by_value(self) -> Result<Self, Error> {
        Ok(Self { ..self })
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn by_reference(&self) -> Result<u64, Error> {
        Ok(self.id)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn by_mutable_reference(&mut self) -> Result<u64, Error> {
        self.id += 0;
        Ok(self.id)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn boxed(self: Box<Self>) -> Result<u64, Error> {
        Ok(self.id)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn shared(self: Arc<Self>) -> Result<u64, Error> {
        Ok(self.id)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn shared_here(self: &Rc<Self>) -> Result<u64, Error> {
        Ok(self.id)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = self.id)]
    async fn pinned(self: Pin<&mut Self>) -> Result<u64, Error> {
        Ok(self.id)
    }

    #[limit_per_time(Self::LIMIT, "1h", key = Self { id }.id)]
    async fn without(id: u64) -> Result<Self, Error> {
        Ok(Self { id })
    }
}

struct Settled {
    id: u64,
    valid: bool,
}

impl Settled {
    fn answer(&self) -> Result<u64, Error> {
        if self.valid { Ok(self.id) } else { Err(Error::Wrong) }
    }

    #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
    async fn by_value(self) -> Result<u64, Error> {
        self.answer()
    }

    #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
    async fn by_reference(&self) -> Result<u64, Error> {
        self.answer()
    }

    #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
    async fn by_mutable_reference(&mut self) -> Result<u64, Error> {
        self.id += 0;
        self.answer()
    }

    #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
    async fn boxed(self: Box<Self>) -> Result<u64, Error> {
        self.answer()
    }

    #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
    async fn shared(self: Arc<Self>) -> Result<u64, Error> {
        self.answer()
    }

    #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
    async fn pinned(self: Pin<&mut Self>) -> Result<u64, Error> {
        self.answer()
    }
}

macro_rules! check {
    ($($call:expr;)*) => {$(
        assert!(run($call).is_ok(), "{}", stringify!($call));
        assert_eq!(run($call).err(), Some(Error::Limited), "{}", stringify!($call));
    )*};
}

macro_rules! check_settled {
    ($(|$settled:ident| $call:expr;)*) => {$(
        let call = |valid| {
            #[allow(unused_mut)]
            let mut $settled = Settled { id: 7, valid };
            run($call)
        };
        assert_eq!(
            [call(true), call(true), call(false), call(true)],
            [Ok(7), Ok(7), Err(Error::Wrong), Err(Error::Limited)],
            "{}",
            stringify!($call)
        );
    )*};
}

fn main() {
    let portal = Portal { id: 7 };
    check! {
        portal.clone().by_value();
        portal.by_reference();
        portal.clone().by_mutable_reference();
        Box::new(portal.clone()).boxed();
        Arc::new(portal.clone()).shared();
        Rc::new(portal.clone()).shared_here();
        pin!(portal.clone()).pinned();
        Portal::without(7);
    }
    check_settled! {
        |settled| settled.by_value();
        |settled| settled.by_reference();
        |settled| settled.by_mutable_reference();
        |settled| Box::new(settled).boxed();
        |settled| Arc::new(settled).shared();
        |settled| pin!(settled).pinned();
    }
}
