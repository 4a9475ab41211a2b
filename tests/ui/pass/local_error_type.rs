#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::cell::Cell;
use std::future::ready;
use std::rc::Rc;

use rate_limit::{Rejection, limit_per_time};
use support::run;

// An error that is not `Send` costs a settled future nothing: it does not outlive the body.
#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn local_error(user: u64) -> Result<u64, LocalError> {
    ready(()).await;
    if user == 0 {
        Err(LocalError(Rc::new(Cell::new(0))))
    } else {
        Ok(user)
    }
}

struct LocalError(Rc<Cell<u8>>);

impl From<Rejection> for LocalError {
    fn from(_: Rejection) -> Self {
        Self(Rc::new(Cell::new(1)))
    }
}

fn need_send<F: Future + Send>(future: F) -> F::Output {
    run(future)
}

fn main() {
    let local_error = |user| need_send(local_error(user)).map_err(|error| error.0.get());
    assert_eq!(
        [local_error(7), local_error(7), local_error(0), local_error(0)],
        [Ok(7), Ok(7), Err(0), Err(1)]
    );
}
