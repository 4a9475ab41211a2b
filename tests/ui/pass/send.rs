#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::cell::RefCell;
use std::future::ready;
use std::rc::Rc;
use std::sync::Mutex;

use rate_limit::{Limiter, ToKey, limit_per_time};
use support::{Error, run};

struct State {
    name: Mutex<String>,
    limiter: Mutex<Limiter>,
}

#[limit_per_time(1, "1h", key = state.name.lock().unwrap().as_str())]
async fn guard(state: &State) -> Result<(), Error> {
    ready(()).await;
    Ok(())
}

#[limit_per_time(1, "1h", key = (7, state.name.lock().unwrap().as_str()), reset_on_success)]
async fn settled_guard(state: &State) -> Result<(), Error> {
    ready(()).await;
    Ok(())
}

#[limit_per_time(1, "1h", key = (Rc::new(user), Rc::<str>::from("shared")))]
async fn shared(user: u64) -> Result<(), Error> {
    ready(user).await;
    Ok(())
}

#[limit_per_time(1, "1h", key = *RefCell::new(user).borrow(), reset_on_success)]
async fn cell(user: u64) -> Result<(), Error> {
    ready(user).await;
    Ok(())
}

#[limit_per_time(1, "1h", key = { let user: &dyn ToKey = &user; user })]
async fn dynamic(user: u64) -> Result<(), Error> {
    ready(user).await;
    Ok(())
}

#[limit_per_time(1, "1h", key = "everybody", limiter = state.limiter.lock().unwrap())]
async fn limiter(state: &State) -> Result<(), Error> {
    ready(()).await;
    Ok(())
}

fn need_send<F: Future + Send>(future: F) -> F::Output {
    run(future)
}

fn main() {
    let state = &State {
        name: Mutex::new("alice".into()),
        limiter: Mutex::new(Limiter::embedded()),
    };
    assert_eq!(
        [need_send(guard(state)), need_send(guard(state))],
        [Ok(()), Err(Error::Limited)]
    );
    assert_eq!(
        [need_send(settled_guard(state)), need_send(settled_guard(state))],
        [Ok(()), Ok(())]
    );
    assert_eq!(
        [need_send(shared(7)), need_send(shared(7))],
        [Ok(()), Err(Error::Limited)]
    );
    assert_eq!([need_send(cell(7)), need_send(cell(7))], [Ok(()), Ok(())]);
    assert_eq!(
        [need_send(dynamic(7)), need_send(dynamic(7))],
        [Ok(()), Err(Error::Limited)]
    );
    assert_eq!(
        [need_send(limiter(state)), need_send(limiter(state))],
        [Ok(()), Err(Error::Limited)]
    );
}
