#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

struct Path<T>(T);

struct Body {
    user: String,
    valid: bool,
    agent: String,
}

type Answer = Result<String, Error>;

#[limit_per_time(1, "1h", key = (id, &user, y))]
async fn plain(
    Path(id): Path<u64>,
    Body { user, valid: _, .. }: Body,
    (a, _): (u8, u8),
    [x, y]: [u8; 2],
    &b: &u8,
    ref text: String,
    ref mut list: Vec<u8>,
    (Ok(n) | Err(n)): Result<u8, u8>,
    whole @ (left, _): (u8, u8),
) -> Answer {
    list.push(x);
    Ok(format!("{id} {user} {a} {list:?} {y} {b} {text} {n} {whole:?} {left}"))
}

#[limit_per_time(1, "1h", key = (id, &user, y), reset_on_success)]
async fn settled(
    Path(id): Path<u64>,
    Body { user, valid, .. }: Body,
    (a, _): (u8, u8),
    [x, y]: [u8; 2],
    &b: &u8,
    ref text: String,
    ref mut list: Vec<u8>,
    (Ok(n) | Err(n)): Result<u8, u8>,
    whole @ (left, _): (u8, u8),
) -> Answer {
    list.push(x);
    if !valid {
        return Err(Error::Wrong);
    }
    Ok(format!("{id} {user} {a} {list:?} {y} {b} {text} {n} {whole:?} {left}"))
}

macro_rules! call {
    ($handler:ident, $valid:expr) => {{
        let body = Body {
            user: "alice".into(),
            valid: $valid,
            agent: "curl".into(),
        };
        assert_eq!(body.agent, "curl");
        run($handler(
            Path(7),
            body,
            (1, 2),
            [3, 4],
            &5,
            "text".into(),
            vec![0],
            Err(6),
            (8, 9),
        ))
    }};
}

fn main() {
    let answer = "7 alice 1 [0, 3] 4 5 text 6 (8, 9) 8";
    assert_eq!(call!(plain, true).as_deref(), Ok(answer));
    assert_eq!(call!(plain, true), Err(Error::Limited));

    assert_eq!(call!(settled, true).as_deref(), Ok(answer));
    assert_eq!(call!(settled, true).as_deref(), Ok(answer));
    assert_eq!(call!(settled, false), Err(Error::Wrong));
    assert_eq!(call!(settled, true), Err(Error::Limited));
}
