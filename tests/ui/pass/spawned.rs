#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::Error;

#[limit_per_time(1, "1h", key = user)]
async fn plain(user: String, list: Vec<u8>, number: u64) -> Result<String, Error> {
    tokio::task::yield_now().await;
    Ok(format!("{user} {list:?} {number}"))
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled(user: String, list: Vec<u8>, number: u64) -> Result<String, Error> {
    tokio::task::yield_now().await;
    Ok(format!("{user} {list:?} {number}"))
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    macro_rules! spawn {
        ($handler:ident) => {
            tokio::spawn($handler("alice".into(), vec![1], 2)).await.unwrap()
        };
    }
    let answer = || Ok("alice [1] 2".to_owned());
    assert_eq!([spawn!(plain), spawn!(plain)], [answer(), Err(Error::Limited)]);
    assert_eq!([spawn!(settled), spawn!(settled)], [answer(), answer()]);
}
