#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

macro_rules! forward {
    ($(#[$attr:meta])* fn $($function:tt)*) => {
        $(#[$attr])* async fn $($function)*
    };
}

forward! {
    #[limit_per_time(1, "1h", key = user)]
    fn forwarded(user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

macro_rules! with_values {
    ($name:ident, $count:tt, $window:tt, $key:expr, $ty:ty, |$user:ident: $arg:ty| $body:expr) => {
        #[limit_per_time($count, $window, key = $key, reset_on_success)]
        async fn $name($user: $arg) -> $ty {
            $body
        }
    };
}

with_values!(with_values, 1, "1h", (user, 1), Result<u64, Error>, |user: u64| if user == 0 {
    Err(Error::Wrong)
} else {
    Ok(user)
});

macro_rules! function {
    ($name:ident) => {
        #[limit_per_time(count = 1, window = "1h", key = user)]
        async fn $name(user: u64) -> Result<u64, Error> {
            Ok(user)
        }
    };
}

function!(by_name);

struct Portal {
    id: u64,
}

macro_rules! method {
    ($(#[$attr:meta])* $self:ident $name:ident $body:block) => {
        $(#[$attr])*
        async fn $name(&$self) -> Result<u64, Error> $body
    };
}

impl Portal {
    method! {
        #[limit_per_time(1, "1h", key = self.id, reset_on_success)]
        self method {
            macro_rules! id {
                () => { self.id };
            }
            let shown = format!("{}", self.id);
            if shown == "0" { Err(Error::Wrong) } else { Ok(id!()) }
        }
    }
}

fn main() {
    assert_eq!([run(forwarded(7)), run(forwarded(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(by_name(7)), run(by_name(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(with_values(7)), run(with_values(7))], [Ok(7), Ok(7)]);
    assert_eq!(
        [run(with_values(0)), run(with_values(0))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );

    let method = |id| run(Portal { id }.method());
    assert_eq!(
        [method(7), method(7), method(0), method(0)],
        [Ok(7), Ok(7), Err(Error::Wrong), Err(Error::Limited)]
    );
}
