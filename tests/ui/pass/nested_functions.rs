#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

#[limit_per_time(1, "1h", key = user)]
async fn outer(user: u64) -> Result<u64, Error> {
    #[limit_per_time(1, "1h", key = user, reset_on_success)]
    async fn inner(user: u64) -> Result<u64, Error> {
        Ok(user + 1)
    }
    inner(user).await?;
    inner(user).await
}

#[limit_per_time(2, "1h", key = "everybody")]
async fn recursive(depth: u64) -> Result<u64, Error> {
    if depth == 0 {
        return Ok(0);
    }
    Ok(1 + Box::pin(recursive(depth - 1)).await?)
}

#[limit_per_time(2, "1h", key = user, reset_on_success)]
async fn settled_recursive(user: u64, depth: u64) -> Result<u64, Error> {
    if depth == 0 {
        return Ok(0);
    }
    Ok(1 + Box::pin(settled_recursive(user, depth - 1)).await?)
}

mod first {
    use super::{Error, limit_per_time};

    #[limit_per_time(1, "1h", key = user)]
    pub(crate) async fn login(user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

mod second {
    use super::{Error, limit_per_time};

    #[limit_per_time(1, "1h", key = user)]
    pub(crate) async fn login(user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[limit_per_time(1, "1h", key = user, name = "shared")]
async fn one(user: u64) -> Result<u64, Error> {
    Ok(user)
}

#[limit_per_time(1, "1h", key = user, name = "shared")]
async fn other(user: u64) -> Result<u64, Error> {
    Ok(user)
}

fn main() {
    assert_eq!([run(outer(7)), run(outer(7))], [Ok(8), Err(Error::Limited)]);
    assert_eq!([run(recursive(1)), run(recursive(0))], [Ok(1), Err(Error::Limited)]);
    assert_eq!(
        [run(settled_recursive(7, 1)), run(settled_recursive(7, 2))],
        [Ok(1), Err(Error::Limited)]
    );
    // One name in two modules is two counters; one given name is one.
    assert_eq!([run(first::login(7)), run(second::login(7))], [Ok(7), Ok(7)]);
    assert_eq!(
        [run(first::login(7)), run(second::login(7))],
        [Err(Error::Limited), Err(Error::Limited)]
    );
    assert_eq!([run(one(7)), run(other(7))], [Ok(7), Err(Error::Limited)]);
}
