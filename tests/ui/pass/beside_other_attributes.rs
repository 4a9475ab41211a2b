#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use axum::response::IntoResponse;
use rate_limit::limit_per_time;
use support::{Error, run};
use tracing::instrument;

#[limit_per_time(1, "1h", key = "everybody")]
#[tokio::main(flavor = "current_thread")]
async fn above_a_runtime() -> Result<(), Error> {
    Ok(())
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
#[instrument(skip(valid))]
async fn above(user: u64, _: Unshown, valid: bool) -> Result<u64, Error> {
    if valid { Ok(user) } else { Err(Error::Wrong) }
}

// Had an ignored argument a plain name, it would have to be `Debug` here.
#[instrument(err, ret)]
#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn below(user: u64, _: Unshown, valid: bool) -> Result<u64, Error> {
    if valid { Ok(user) } else { Err(Error::Wrong) }
}

#[instrument]
#[limit_per_time(1, "1h", key = user)]
async fn response_below(user: u64, _: Unshown) -> impl IntoResponse {
    user.to_string()
}

#[limit_per_time(1, "1h", key = user)]
#[instrument]
async fn response_above(user: u64, _: Unshown) -> impl IntoResponse {
    user.to_string()
}

struct Unshown;

fn main() {
    assert_eq!([above_a_runtime(), above_a_runtime()], [Ok(()), Err(Error::Limited)]);

    let answers = [Ok(7), Ok(7), Err(Error::Wrong), Err(Error::Limited)];
    assert_eq!(
        [true, true, false, true].map(|valid| run(above(7, Unshown, valid))),
        answers
    );
    assert_eq!(
        [true, true, false, true].map(|valid| run(below(7, Unshown, valid))),
        answers
    );

    let below = || run(response_below(7, Unshown)).into_response().status().as_u16();
    assert_eq!([below(), below()], [200, 429]);
    let above = || run(response_above(7, Unshown)).into_response().status().as_u16();
    assert_eq!([above(), above()], [200, 429]);
}
