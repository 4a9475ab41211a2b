//! Methods: `self` in each form, `Self` in each place, and functions that macros write.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rate_limit::{Rejection, limit_per_time};

use crate::support::World;

#[derive(Debug, PartialEq)]
struct Portal {
    id: u64,
    seen: u32,
}

impl Portal {
    const LIMIT: u32 = 1;
    const WINDOW: Duration = Duration::from_secs(60);
    const NAME: &'static str = "portal";

    #[limit_per_time(Self::LIMIT, Self::WINDOW, key = (Self::NAME, self.id))]
    async fn by_reference(&self) -> Result<Self, Rejection> {
        Ok(Self {
            id: self.id,
            seen: Self::LIMIT,
        })
    }

    #[limit_per_time(Self::LIMIT, Self::WINDOW, key = (Self::NAME, self.id), reset_on_success, success = |out| !Self::succeed(&[out]))]
    async fn by_mutable_reference(&mut self, by: u32) -> Result<Self, Rejection> {
        self.seen += by;
        Ok(Self { ..*self })
    }

    #[limit_per_time(Self::LIMIT, Self::WINDOW, key = self.id, reset_on_success, success = |_| false)]
    async fn by_value(self) -> Result<Self, Rejection> {
        let Self { id, seen } = self;
        Ok(Self { id, seen: seen + 1 })
    }

    #[limit_per_time(1, "1m", key = self.id, reset_on_success, success = |_| false)]
    async fn in_an_rc(self: Rc<Self>) -> Result<u32, Rejection> {
        Ok(self.seen)
    }

    #[limit_per_time(1, "1m", key = self.id)]
    async fn in_an_arc(self: &Arc<Self>) -> Result<usize, Rejection> {
        Ok(Arc::strong_count(self))
    }

    #[limit_per_time(1, "1m", key = self.id, reset_on_success, success = |_| false)]
    async fn pinned(mut self: Pin<&mut Self>) -> Result<u32, Rejection> {
        self.seen += 1;
        Ok(self.seen)
    }

    #[limit_per_time(1, "1m", key = self.id)]
    async fn boxed(self: Box<Self>) -> Result<Box<Self>, Rejection> {
        Ok(self)
    }

    #[limit_per_time(1, "1m", key = id, on_limit = |_| Self { id: 0, seen: 0 })]
    async fn new(id: u64) -> Self {
        Self { id, seen: 0 }
    }

    fn succeed<T>(answers: &[&Result<T, Rejection>]) -> bool {
        answers.iter().all(|answer| answer.is_ok())
    }
}

#[tokio::test]
async fn mac_09_self_stays_self() {
    let world = World::new();
    world
        .run(async {
            let mut portal = Portal { id: 1, seen: 0 };
            assert_eq!(portal.by_reference().await, Ok(Portal { id: 1, seen: 1 }));
            assert!(portal.by_reference().await.is_err());
            assert!(Portal { id: 2, seen: 0 }.by_reference().await.is_ok());

            assert_eq!(portal.by_mutable_reference(4).await, Ok(Portal { id: 1, seen: 4 }));
            assert!(portal.by_mutable_reference(4).await.is_err());
            assert_eq!(portal.seen, 4, "a refused call changed nothing");

            assert_eq!(
                Portal { id: 1, seen: 1 }.by_value().await,
                Ok(Portal { id: 1, seen: 2 })
            );
            assert!(Portal { id: 1, seen: 1 }.by_value().await.is_err());
            assert_eq!(Portal::new(3).await, Portal { id: 3, seen: 0 });
            assert_eq!(Portal::new(3).await, Portal { id: 0, seen: 0 });
        })
        .await;
}

#[tokio::test]
async fn mac_09_self_may_be_any_pointer() {
    let world = World::new();
    world
        .run(async {
            let counted = Rc::new(Portal { id: 1, seen: 5 });
            assert_eq!(Rc::clone(&counted).in_an_rc().await, Ok(5));
            assert!(Rc::clone(&counted).in_an_rc().await.is_err());
            assert_eq!(Rc::strong_count(&counted), 1);

            let shared = Arc::new(Portal { id: 1, seen: 0 });
            assert_eq!(shared.in_an_arc().await, Ok(1));
            assert!(shared.in_an_arc().await.is_err());

            let mut portal = Portal { id: 1, seen: 0 };
            assert_eq!(Pin::new(&mut portal).pinned().await, Ok(1));
            assert!(Pin::new(&mut portal).pinned().await.is_err());
            assert_eq!(portal.seen, 1);

            let boxed = Box::new(Portal { id: 1, seen: 0 });
            let boxed = boxed.boxed().await.expect("the first is admitted");
            assert!(boxed.boxed().await.is_err());
        })
        .await;
}

macro_rules! limited {
    ($(#[$meta:meta])* $name:ident, $function:item) => {
        $(#[$meta])*
        $function
    };
    ($(#[$meta:meta])* fn $($function:tt)*) => {
        $(#[$meta])*
        async fn $($function)*
    };
}

limited!(
    /// Documented.
    #[limit_per_time(1, "1m", key = id)]
    #[allow(clippy::needless_return)]
    fn by_tokens(id: u8) -> Result<u8, Rejection> {
        return Ok(id);
    }
);

limited!(
    #[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false)]
    by_item,
    async fn by_item(id: u8, _: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
);

macro_rules! methods {
    ($($name:ident($this:ident, $id:ident) => $value:expr;)*) => {
        impl Portal {
            $(
                #[limit_per_time(1, "1m", key = $this.id + $id, reset_on_success, success = |_| false)]
                async fn $name(&$this, $id: u64) -> Result<u64, Rejection> {
                    Ok($value)
                }
            )*
        }
    };
}

methods! {
    sum(self, by) => self.id + by;
    product(self, by) => self.id * by;
}

impl Portal {
    #[limit_per_time(1, "1m", key = self.id)]
    async fn in_a_local_macro(&self) -> Result<String, Rejection> {
        macro_rules! show {
            ($($part:expr),*) => { format!("{}/{}", self.id, stringify!($($part),*)) };
        }
        Ok(show!(self.seen))
    }

    #[limit_per_time(1, "1m", key = self.id, reset_on_success, success = |_| false)]
    async fn settled_in_a_local_macro(&self) -> Result<String, Rejection> {
        macro_rules! show {
            ($part:expr) => {
                format!("{}/{}", self.id, $part)
            };
        }
        Ok(show!(self.seen))
    }
}

#[tokio::test]
async fn mac_10_functions_that_macros_write_are_limited() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(by_tokens(1).await, Ok(1));
            assert!(by_tokens(1).await.is_err());
            assert_eq!(by_item(1, 0).await, Ok(1));
            assert!(by_item(1, 0).await.is_err());

            let portal = Portal { id: 3, seen: 4 };
            assert_eq!((portal.sum(2).await, portal.product(2).await), (Ok(5), Ok(6)));
            assert!(portal.sum(2).await.is_err());
            assert!(portal.product(2).await.is_err());
        })
        .await;
}

#[tokio::test]
async fn mac_10_self_is_known_in_local_macros() {
    let world = World::new();
    world
        .run(async {
            let portal = Portal { id: 3, seen: 4 };
            assert_eq!(portal.in_a_local_macro().await.as_deref(), Ok("3/self.seen"));
            assert!(portal.in_a_local_macro().await.is_err());
            assert_eq!(portal.settled_in_a_local_macro().await.as_deref(), Ok("3/4"));
            assert!(portal.settled_in_a_local_macro().await.is_err());
        })
        .await;
}
