#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

macro_rules! expressions {
    ($name:ident, $count:expr, $window:expr) => {
        #[limit_per_time($count, $window, key = user)]
        async fn $name(user: u64) -> Result<u64, Error> {
            Ok(user)
        }
    };
}

macro_rules! literals {
    ($name:ident, $count:literal, $window:literal, $shown:literal) => {
        #[limit_per_time(count = $count, window = $window, key = user, name = $shown)]
        async fn $name(user: u64) -> Result<u64, Error> {
            Ok(user)
        }
    };
}

const COUNT: u32 = 1;

expressions!(expressions, 1, "1h");
expressions!(constant, COUNT, std::time::Duration::from_secs(3600));
literals!(literals, 1, "1h", "literals");

#[limit_per_time((1), ("1h"), key = (user))]
async fn parenthesised(user: u64) -> Result<u64, Error> {
    Ok(user)
}

fn main() {
    assert_eq!([run(expressions(7)), run(expressions(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(constant(7)), run(constant(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(literals(7)), run(literals(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!(
        [run(parenthesised(7)), run(parenthesised(7))],
        [Ok(7), Err(Error::Limited)]
    );
}
