#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

#[derive(Clone, Copy)]
enum Exit {
    Tail,
    Return,
    Question,
    ReturnError,
}

fn wrong() -> Result<u64, Error> {
    Err(Error::Wrong)
}

#[limit_per_time(1, "1h", key = user)]
async fn plain(user: u64, exit: Exit) -> Result<u64, Error> {
    match exit {
        Exit::Tail => {}
        Exit::Return => return Ok(user),
        Exit::Question => {
            wrong()?;
        }
        Exit::ReturnError => return Err(Error::Wrong),
    }
    Ok(user)
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn settled(user: u64, exit: Exit) -> Result<u64, Error> {
    'steps: loop {
        match exit {
            Exit::Tail => break 'steps,
            Exit::Return => return Ok(user),
            Exit::Question => {
                wrong()?;
            }
            Exit::ReturnError => return Err(Error::Wrong),
        }
    }
    Ok(user)
}

#[limit_per_time(1, "1h", key = user, reset_on_success)]
async fn diverges(user: u64) -> Result<u64, Error> {
    let _ = user;
    return Err(Error::Wrong);
}

fn main() {
    for (user, exit) in (0..).zip([Exit::Tail, Exit::Return]) {
        assert_eq!(
            [run(plain(user, exit)), run(plain(user, exit))],
            [Ok(user), Err(Error::Limited)]
        );
        assert_eq!(
            [run(settled(user, exit)), run(settled(user, exit))],
            [Ok(user), Ok(user)]
        );
    }
    for (user, exit) in (10..).zip([Exit::Question, Exit::ReturnError]) {
        assert_eq!(
            [run(plain(user, exit)), run(plain(user, exit))],
            [Err(Error::Wrong), Err(Error::Limited)]
        );
        assert_eq!(
            [run(settled(user, exit)), run(settled(user, exit))],
            [Err(Error::Wrong), Err(Error::Limited)]
        );
    }
    assert_eq!(
        [run(diverges(7)), run(diverges(7))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );
}
