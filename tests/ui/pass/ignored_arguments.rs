#![allow(unused_variables)]

#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::cell::RefCell;

use rate_limit::limit_per_time;
use support::{Error, run};

thread_local! {
    static DROPPED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

struct Named(&'static str);

impl Drop for Named {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| dropped.push(self.0));
    }
}

async fn undecorated(a: Named, _: Named, b: Named, valid: bool) -> Result<(), Error> {
    let _body = Named("body");
    if valid { Ok(()) } else { Err(Error::Wrong) }
}

#[limit_per_time(1, "1h", key = a.0)]
async fn plain(a: Named, _: Named, b: Named, valid: bool) -> Result<(), Error> {
    let _body = Named("body");
    if valid { Ok(()) } else { Err(Error::Wrong) }
}

#[limit_per_time(1, "1h", key = a.0, reset_on_success)]
async fn settled(a: Named, _: Named, b: Named, valid: bool) -> Result<(), Error> {
    let _body = Named("body");
    if valid { Ok(()) } else { Err(Error::Wrong) }
}

macro_rules! drops {
    ($handler:ident($valid:expr)) => {{
        let answer = run($handler(Named("a"), Named("ignored"), Named("b"), $valid));
        (answer, DROPPED.take())
    }};
}

fn main() {
    let order = vec!["body", "b", "ignored", "a"];
    let unrun = order[1..].to_vec();
    assert_eq!(drops!(undecorated(true)), (Ok(()), order.clone()));

    assert_eq!(drops!(plain(true)), (Ok(()), order.clone()));
    assert_eq!(drops!(plain(true)), (Err(Error::Limited), unrun.clone()));

    assert_eq!(drops!(settled(true)), (Ok(()), order.clone()));
    assert_eq!(drops!(settled(true)), (Ok(()), order.clone()));
    assert_eq!(drops!(settled(false)), (Err(Error::Wrong), order));
    assert_eq!(drops!(settled(true)), (Err(Error::Limited), unrun));
}
