#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use axum::http::{HeaderMap, HeaderValue};
use rate_limit::limit_per_time;
use support::{Error, run};

struct Form {
    user: String,
    password: String,
}

impl Form {
    fn check(self) -> Result<String, Error> {
        if self.password.is_empty() {
            Err(Error::Wrong)
        } else {
            Ok(self.user)
        }
    }
}

#[limit_per_time(1, "1h", key = form.user)]
async fn owned(form: Form) -> Result<String, Error> {
    form.check()
}

#[limit_per_time(1, "1h", key = form.user.as_str(), reset_on_success)]
async fn borrowed(form: Form) -> Result<String, Error> {
    form.check()
}

#[limit_per_time(1, "1h", key = (&form.user, form.password.len()), reset_on_success)]
async fn compound(form: Form) -> Result<String, Error> {
    drop(form.password);
    Err(if form.user.is_empty() {
        Error::Limited
    } else {
        Error::Wrong
    })
}

#[limit_per_time(1, "1h", key = headers.get("x-user").ok_or(Error::Wrong)?, reset_on_success)]
async fn header(headers: HeaderMap) -> Result<usize, Error> {
    let count = headers.into_iter().count();
    if count > 1 { Err(Error::Wrong) } else { Ok(count) }
}

#[limit_per_time(1, "1h", key = user)]
async fn spawned(user: String) -> Result<usize, Error> {
    std::thread::spawn(move || user.len()).join().map_err(|_| Error::Wrong)
}

fn main() {
    let form = |password: &str| Form {
        user: "alice".into(),
        password: password.into(),
    };
    let alice = || Ok("alice".to_owned());
    assert_eq!(
        [run(owned(form("x"))), run(owned(form("x")))],
        [alice(), Err(Error::Limited)]
    );
    assert_eq!([run(borrowed(form("x"))), run(borrowed(form("x")))], [alice(), alice()]);
    assert_eq!(
        [run(borrowed(form(""))), run(borrowed(form("x")))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );
    assert_eq!(
        [run(compound(form("x"))), run(compound(form("x")))],
        [Err(Error::Wrong), Err(Error::Limited)]
    );

    let headers = |names: &[&'static str]| -> HeaderMap {
        names
            .iter()
            .map(|name| (name.parse().unwrap(), HeaderValue::from_static("alice")))
            .collect()
    };
    assert_eq!(run(header(headers(&["x-other"]))), Err(Error::Wrong));
    assert_eq!(
        [run(header(headers(&["x-user"]))), run(header(headers(&["x-user"])))],
        [Ok(1), Ok(1)]
    );
    assert_eq!(run(header(headers(&["x-user", "x-other"]))), Err(Error::Wrong));
    assert_eq!(run(header(headers(&["x-user"]))), Err(Error::Limited));

    assert_eq!(
        [run(spawned("a".into())), run(spawned("a".into()))],
        [Ok(1), Err(Error::Limited)]
    );
}
