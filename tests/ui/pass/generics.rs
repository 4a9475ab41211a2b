#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::fmt::Debug;

use rate_limit::{ToKey, limit_per_time};
use support::{Error, run};

#[derive(Debug, PartialEq)]
struct Out<'a, T>(&'a T);

#[limit_per_time(1, "1h", key = N)]
async fn plain<'a, T, const N: usize>(x: &'a [T; N]) -> Result<Out<'a, T>, Error>
where
    T: Clone + Send + Sync,
{
    x.first().map(Out).ok_or(Error::Wrong)
}

#[limit_per_time(1, "1h", key = (N, user), reset_on_success)]
async fn settled<'a, T, U: ToKey + Debug, const N: usize>(x: &'a [T; N], user: U) -> Result<Out<'a, T>, Error>
where
    T: Clone + Send + Sync,
{
    x.first().map(Out).ok_or(Error::Wrong)
}

#[limit_per_time(1, "1h", key = c)]
async fn references(a: &str, b: &str, c: &'static str) -> Result<usize, Error> {
    Ok(a.len() + b.len() + c.len())
}

#[limit_per_time(1, "1h", key = a, reset_on_success)]
async fn elided<'b>(a: &str, b: &'b str, list: &mut Vec<usize>) -> Result<&'b str, Error> {
    list.push(a.len());
    Ok(b)
}

fn main() {
    assert_eq!(run(plain(&[1_u8, 2])), Ok(Out(&1)));
    // One counter, whatever the type.
    assert_eq!(run(plain(&["one", "two"])), Err(Error::Limited));
    assert_eq!(run(plain(&["one"])), Ok(Out(&"one")));

    assert_eq!(run(settled(&[1_u8], "alice")), Ok(Out(&1)));
    assert_eq!(run(settled(&[1_u8], "alice")), Ok(Out(&1)));
    assert_eq!(run(settled::<u8, _, 0>(&[], "alice")), Err(Error::Wrong));
    assert_eq!(run(settled::<u8, _, 0>(&[], "alice".to_owned())), Err(Error::Limited));

    assert_eq!(
        [run(references("a", "b", "c")), run(references("", "", "c"))],
        [Ok(3), Err(Error::Limited)]
    );

    let mut list = Vec::new();
    assert_eq!(run(elided("a", "b", &mut list)), Ok("b"));
    assert_eq!(run(elided("a", "b", &mut list)), Ok("b"));
    assert_eq!(list, [1, 1]);
}
