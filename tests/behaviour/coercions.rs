//! What the body may leave to inference and coercion, as in a function without the attribute.

use std::error::Error;
use std::fmt::{Debug, Display};

use rate_limit::{Rejection, limit_per_time};

use crate::support::{Failure, World, refused};

/// The same functions, checked and settled.
macro_rules! forms {
    ($($settlement:tt)*) => {
        use super::*;

        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn unsized_ok(n: u8) -> Result<Box<dyn Display>, Failure> {
            if n == 1 {
                return Ok(Box::new("one"));
            }
            Ok(Box::new(n))
        }

        #[limit_per_time(1, "1m", key = "k", on_limit = |_| Box::new("refused"), $($settlement)*)]
        pub(super) async fn unsized_value(n: u8) -> Box<dyn Display> {
            match n {
                1 => Box::new("one"),
                _ => Box::new(n),
            }
        }

        #[limit_per_time(1, "1m", key = "k", on_limit = |_| &[], $($settlement)*)]
        pub(super) async fn slice(list: &[u8; 2]) -> &[u8] {
            list
        }

        #[limit_per_time(1, "1m", key = "k", on_limit = |_| |_| 0, $($settlement)*)]
        pub(super) async fn pointer(by: u8) -> fn(u8) -> u8 {
            match by {
                1 => |n| n + 1,
                _ => |n| n * 2,
            }
        }

        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn question(text: &str) -> Result<u8, Box<dyn Error>> {
            let number: u8 = text.parse()?;
            let positive = number.checked_sub(1).ok_or("not positive");
            Ok(positive? + 1)
        }

        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn inferred(n: u8) -> Result<Vec<u64>, Failure> {
            let mut list = Vec::new();
            if n == 9 {
                return Ok(Default::default());
            }
            list.push(n.into());
            Ok(list)
        }

        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn part_opaque(n: u8) -> Result<impl Debug + Display, Failure> {
            let list = [n, 2];
            Ok(list.iter().map(u8::to_string).collect::<String>())
        }

        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn diverging() -> Result<u8, Failure> {
            let mut turns = 0;
            loop {
                turns += 1;
                if turns == 3 {
                    return Ok(turns);
                }
            }
        }

        #[deny(warnings)]
        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn never(n: u8) -> Result<Box<dyn Debug + Send>, Failure> {
            panic!("it was called with {n}")
        }

        #[deny(warnings)]
        #[limit_per_time(1, "1m", key = "k", $($settlement)*)]
        pub(super) async fn nested(n: u8) -> Result<u8, Failure> {
            #[limit_per_time(2, "1m", key = n, $($settlement)*)]
            async fn inner(n: u8) -> Result<u8, Failure> {
                Ok(n + 1)
            }
            Ok(inner(n).await? + inner(n).await?)
        }

        #[limit_per_time(4, "1m", key = "k", $($settlement)*)]
        pub(super) async fn recursive(n: u8) -> Result<u8, Failure> {
            if n == 0 {
                return Ok(0);
            }
            Ok(1 + Box::pin(recursive(n - 1)).await?)
        }
    };
}

mod checked {
    forms!();
}

mod settled {
    forms!(reset_on_success, success = |_| false);
}

macro_rules! for_each_form {
    ($form:ident => $test:block) => {{
        {
            use checked as $form;
            World::new().run(async $test).await;
        }
        {
            use settled as $form;
            World::new().run(async $test).await;
        }
    }};
}

#[tokio::test]
async fn values_are_unsized_where_they_were() {
    for_each_form!(form => {
        let shown = |answer: Result<Box<dyn Display>, Failure>| answer.map(|shown| shown.to_string());
        assert_eq!(shown(form::unsized_ok(1).await).as_deref(), Ok("one"));
        assert!(shown(form::unsized_ok(2).await).is_err());
        assert_eq!(form::unsized_value(2).await.to_string(), "2");
        assert_eq!(form::unsized_value(1).await.to_string(), "refused");
        assert_eq!(form::slice(&[1, 2]).await, [1, 2]);
        assert_eq!(form::slice(&[1, 2]).await, [0; 0]);
        assert_eq!(form::pointer(2).await(4), 8);
        assert_eq!(form::pointer(2).await(4), 0);
    });
}

#[tokio::test]
async fn a_question_mark_converts_as_it_did() {
    for_each_form!(form => {
        let answer = form::question("x").await.map_err(|error| error.to_string());
        assert_eq!(answer, Err("invalid digit found in string".to_owned()));
        let refused = form::question("1").await.expect_err("one over the limit");
        assert!(refused.downcast::<Rejection>().is_ok_and(|rejection| rejection.is_limited()));
    });
    for_each_form!(form => {
        assert_eq!(form::question("0").await.map_err(|error| error.to_string()), Err("not positive".to_owned()));
    });
}

#[tokio::test]
async fn types_are_inferred_from_the_return_type() {
    for_each_form!(form => {
        assert_eq!(form::inferred(1).await, Ok(vec![1]));
        assert!(refused(&form::inferred(1).await));
        assert_eq!(form::part_opaque(1).await.map(|shown| format!("{shown:?}")), Ok("\"12\"".to_owned()));
        assert!(refused(&form::part_opaque(1).await));
        assert_eq!(form::diverging().await, Ok(3));
        assert!(refused(&form::diverging().await));
    });
}

#[tokio::test]
async fn each_call_of_a_recursive_function_is_charged() {
    for_each_form!(form => {
        assert_eq!(form::recursive(2).await, Ok(2));
        assert!(refused(&form::recursive(1).await), "the inner call is the fifth");
    });
}

#[tokio::test]
async fn a_body_that_never_returns_and_one_with_a_limited_function_in_it() {
    for_each_form!(form => {
        assert_eq!(form::nested(1).await, Ok(4));
        assert!(refused(&form::nested(1).await));
    });
    let world = World::new();
    assert!(
        world
            .spawned(async { checked::never(1).await.is_ok() })
            .await
            .is_err_and(|error| error.is_panic())
    );
    assert!(
        world
            .spawned(async { settled::never(1).await.is_ok() })
            .await
            .is_err_and(|error| error.is_panic())
    );
    assert!(refused(&world.run(checked::never(1)).await));
    assert!(refused(&world.run(settled::never(1)).await));
}

#[derive(Debug, PartialEq)]
struct Answer<T> {
    value: Option<T>,
    wait: u64,
}

#[limit_per_time(1, "1m", key = "k", on_limit = |rejection| Answer { value: None, wait: rejection.retry_after().map_or(0, |wait| wait.as_secs()) })]
async fn on_limit(n: u8) -> Answer<u8> {
    Answer {
        value: Some(n),
        wait: 0,
    }
}

#[limit_per_time(
    1,
    "1m",
    key = "k",
    reset_on_success,
    success = |out| out.value.as_ref().is_some_and(|value| value.is_power_of_two()),
    on_limit = |rejection| Answer { value: Default::default(), wait: rejection.policy().count().into() }
)]
async fn closures(n: u8) -> Answer<u8> {
    Answer {
        value: Some(n),
        wait: 0,
    }
}

#[tokio::test]
async fn closures_need_no_types() {
    World::new()
        .run(async {
            assert_eq!(on_limit(1).await.value, Some(1));
            assert_eq!(on_limit(1).await, Answer { value: None, wait: 60 });
            assert_eq!(closures(2).await.value, Some(2));
            assert_eq!(closures(3).await.value, Some(3), "a power of two cleared the record");
            assert_eq!(closures(3).await, Answer { value: None, wait: 1 });
        })
        .await;
}
