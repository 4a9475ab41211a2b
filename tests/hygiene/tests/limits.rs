//! Of each function of the crate, one call over the limit is refused.

use std::future::Future;
use std::pin::Pin;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use limits::{client, Limiter, ManualClock, MemoryStore, Policies, Policy, Rejection, SqlStore};
use rate_limit_hygiene::arguments::{self, Pair};
use rate_limit_hygiene::methods::{Api, Portal};
use rate_limit_hygiene::{bare, blocks, free, futures, hostile, methods, options, responses, stacked};
use sqlx::sqlite::SqlitePoolOptions;

fn limiter() -> Limiter {
    let store = MemoryStore::builder().clock(&ManualClock::new()).build();
    Limiter::builder().store(store).build().expect("no secret is set")
}

async fn scoped<F: Future>(future: F) -> F::Output {
    limiter().scope(future).await
}

/// Whether the first call of two was admitted and the second refused.
macro_rules! one_of_two {
    ($($call:expr),* $(,)?) => {
        $(assert_eq!(
            [$call.await.is_ok(), $call.await.is_ok()],
            [true, false],
            "{}",
            stringify!($call)
        );)*
    };
}

#[tokio::test]
async fn free_functions() {
    let own = limiter();
    scoped(async {
        one_of_two!(
            free::checked(1),
            free::line(1),
            free::settled_line(1),
            free::settled_by(1),
            free::given(&own, 1),
            free::settled_given(&own, 1),
            free::everything(1, "a".to_owned()),
            free::generic(&[1, 2], "other"),
            free::settled_generic(&["a"], ""),
        );
        assert_eq!(free::settled(1, true).await, Ok(1));
        assert_eq!(
            free::settled(1, false).await,
            Err(None),
            "the success cleared the record"
        );
        assert!(matches!(free::settled(1, true).await, Err(Some(_))));
        assert_eq!([free::on_limit(1).await, free::on_limit(1).await], [1, 0]);
        #[expect(deprecated)]
        let answers = [free::attributes(1).await, free::attributes(1).await];
        assert_eq!(answers, [1, 0]);
        assert_eq!(free::diverging(1).await, Ok(0));
        free::empty().await;
        let (mut first, mut second) = (false, false);
        free::nothing(&mut first).await;
        free::nothing(&mut second).await;
        assert_eq!((first, second), (true, false));
        assert!(free::checked(2).await.is_ok(), "another client");
    })
    .await;
}

#[tokio::test]
async fn a_refusal_through_every_argument_is_the_one_of_on_limit() {
    scoped(async {
        assert_eq!(free::everything(1, "a".to_owned()).await.as_deref(), Ok("1a"));
        assert_eq!(
            free::everything(1, "a".to_owned()).await,
            Err("too many calls of `everything` (1 in 1m): try again in 1m".to_owned())
        );
    })
    .await;
}

#[tokio::test]
async fn parameters_of_each_form() {
    let pair = || Pair {
        left: 1,
        right: "b".to_owned(),
    };
    scoped(async {
        one_of_two!(
            arguments::patterns(String::new(), 1, pair(), (2, 3), false),
            arguments::settled_patterns(String::new(), 1, pair(), (2, 3), false),
            arguments::conditional(1, 2),
            arguments::settled_conditional(1, 2),
            arguments::names(1, 2, 3, 4, 5, 6),
            arguments::more_names(1, 2, 3, 4, 5),
        );
        assert!(arguments::patterns(String::new(), 9, pair(), (3, 3), true)
            .await
            .is_ok());
    })
    .await;
}

#[tokio::test]
async fn methods_of_each_form() {
    let mut portal = Portal { id: 1, sum: 0 };
    scoped(async {
        one_of_two!(
            portal.by_reference(1),
            portal.settled_by_reference(1),
            portal.by_mutable_reference(1),
            portal.clone().by_value(),
            portal.clone().changed(7),
            Box::new(portal.clone()).boxed(),
            Pin::new(&mut portal).pinned(),
            portal.required(1),
            7_u8.required(1),
            portal.provided(2),
        );
        assert_eq!([Portal::new(3).await.id, Portal::new(3).await.id], [3, 0]);
        assert_eq!(portal.sum, 1);
        assert!(
            methods::Api::provided(&7_u8, 2).await.is_err(),
            "the trait's own body is one method"
        );
    })
    .await;
}

async fn statuses<F: Future<Output: IntoResponse>>(call: impl Fn() -> F) -> [u16; 2] {
    let status = async || call().await.into_response().status().as_u16();
    [status().await, status().await]
}

#[tokio::test]
async fn responses_of_each_form() {
    let unauthorized = StatusCode::UNAUTHORIZED;
    scoped(async {
        assert_eq!(statuses(|| responses::opaque(1, String::new())).await, [201, 429]);
        assert_eq!(
            statuses(|| responses::settled_opaque(1, String::new(), StatusCode::CONTINUE)).await,
            [200, 200]
        );
        assert_eq!(
            statuses(|| responses::settled_opaque(1, String::new(), unauthorized)).await,
            [401, 429]
        );
        assert_eq!(statuses(|| responses::settled_opaque_by(1)).await, [200, 429]);
        assert_eq!(statuses(|| responses::response(1, unauthorized)).await, [401, 429]);
        assert_eq!(statuses(|| responses::result(1, unauthorized)).await, [401, 429]);
        assert_eq!(statuses(|| responses::result(2, StatusCode::OK)).await, [200, 200]);
    })
    .await;
}

#[tokio::test]
async fn several_limits_on_one_function() {
    let own = limiter();
    let mut portal = stacked::Portal { id: 1 };
    scoped(async {
        one_of_two!(
            stacked::checked(1),
            stacked::settled(1, "a".to_owned(), 2, 3),
            portal.checked(2),
            portal.settled(0),
        );
        assert_eq!(stacked::each_its_way(1, true).await, Ok(1));
        assert_eq!(
            stacked::each_its_way(1, false).await,
            Err(None),
            "the success is cleared"
        );
        assert!(matches!(stacked::each_its_way(1, true).await, Err(Some(_))));
        assert_eq!(stacked::each_its_way(2, true).await, Ok(2), "another client");
        assert_eq!([stacked::once(&own, 1).await, stacked::once(&own, 1).await], [1, 0]);
        assert_eq!(stacked::once(&own, 9).await, 0, "denied");
    })
    .await;
}

#[tokio::test]
async fn limits_on_blocks_and_traits() {
    use blocks::{Api as _, Portal, Settled, Shape};
    let portal = Portal { id: 1 };
    scoped(async {
        one_of_two!(
            portal.by_reference(1),
            portal.changed(1),
            portal.later(),
            Settled(&1).line("a".to_owned()),
            Settled(&1).ignored(1, 2, 3),
            portal.required(1),
            Settled(&"a").required(1),
            portal.provided(1),
        );
        assert!(
            Settled(&"a").provided(1).await.is_err(),
            "the trait's own body is one method"
        );
        assert_eq!([portal.nearest().await, portal.nearest().await], [Ok(1), Ok(1)]);
        assert!(portal.nearest().await.is_err());
        for _ in 0..3 {
            assert_eq!([portal.healthy().await, portal.health(7).await], [Ok(1), Ok(7)]);
        }
        let shape: &dyn Shape = &portal;
        assert_eq!((shape.shape(), portal.name(), portal.id()), ("portal", "api", 1));
    })
    .await;
}

#[tokio::test]
async fn futures_that_are_returned() {
    scoped(async {
        drop((futures::checked(1), futures::settled(1, 2), futures::boxed(&1)));
        one_of_two!(
            futures::checked(1),
            futures::settled(1, 2),
            futures::boxed(&1),
            futures::permit(1),
        );
        assert_eq!(futures::settled_boxed(1, false).await, Err(None));
        one_of_two!(futures::settled_boxed(1, true));
        assert_eq!([futures::on_limit(1).await, futures::on_limit(1).await], [1, 0]);
    })
    .await;
}

#[tokio::test]
async fn every_way_to_count() {
    let now = std::time::SystemTime::now();
    scoped(async {
        one_of_two!(
            options::bucket(1),
            options::bucket_of_constants(1, now),
            options::fixed(1),
            options::block(1),
            options::cost(7),
            options::settled_cost(1),
            options::skip(1, false),
            options::settled_skip(1, false),
            options::permit(1),
            options::unused_permit(1),
            options::refund_on_error_by(7, String::new()),
            client::scope("alice", options::ambient()),
            client::scope("alice", options::settled_ambient()),
        );
        assert!(options::cost(8).await.is_err(), "it can never be admitted");
        for _ in 0..3 {
            assert_eq!(
                [options::skip(1, true).await, options::observe(1).await],
                [Ok(1), Ok(1)]
            );
            assert_eq!(options::settled_deny(1).await, Ok(1));
            assert_eq!(options::refund_on_error_by(8, String::new()).await, Ok(8), "given back");
        }
        assert!(options::ambient().await.is_err(), "nobody");
        assert!(options::deny(1, Some("bot")).await.is_err());
        assert_eq!(options::deny(1, None).await, Ok(1));
        assert!(options::settled_deny(0).await.is_err());
        assert_eq!(options::refund_on_success(1, true).await, Ok(1));
        assert_eq!(options::refund_on_success(1, false).await, Err(None));
        assert!(matches!(options::refund_on_success(1, true).await, Err(Some(_))));
        assert_eq!(options::refund_on_error(1, false).await, Err(None));
        one_of_two!(options::refund_on_error(1, true));
        let mut ran = [false; 4];
        let [first, second, third, fourth] = &mut ran;
        options::nothing(first).await;
        options::nothing(second).await;
        options::refund_nothing(third).await;
        options::refund_nothing(fourth).await;
        assert_eq!(ran, [true, false, true, false]);
    })
    .await;
}

#[tokio::test]
async fn where_there_is_no_prelude() {
    let own = limiter();
    scoped(async {
        one_of_two!(bare::checked(1), bare::settled(1, 2), bare::settled_by_type(1));
        assert_eq!(statuses(|| bare::opaque(1, 2)).await, [200, 429]);
        assert_eq!(statuses(|| bare::settled_opaque(1, 2)).await, [200, 429]);
        assert_eq!([bare::given(&own, 1).await, bare::given(&own, 1).await], [1, 0]);
        {
            use bare::{Api as _, Portal};
            one_of_two!(
                bare::stacked(1, 2),
                bare::permit(1),
                bare::later(1),
                client::scope("alice", bare::ambient()),
                Portal.required(1),
                Portal.provided(1),
            );
        }
    })
    .await;
}

#[tokio::test]
async fn where_names_mean_something_else() {
    let own = limiter();
    scoped(async {
        one_of_two!(
            hostile::checked(1),
            hostile::settled(1, 2),
            hostile::settled_by_type(&own, 1)
        );
        {
            use hostile::{Api as _, Portal};
            one_of_two!(
                hostile::stacked(1, 2),
                hostile::refunded(1, 2),
                hostile::permit_of(&own, 1),
                hostile::later(1),
                hostile::by_time(1, std::time::SystemTime::now()),
                client::scope("alice", hostile::ambient()),
                Portal.required(1),
                Portal.provided(1),
                Portal.method(1),
            );
        }
        assert_eq!(statuses(|| hostile::opaque(1, 2)).await, [200, 429]);
        assert_eq!(statuses(|| hostile::settled_opaque(1, 2)).await, [200, 429]);
    })
    .await;
}

#[tokio::test]
async fn each_future_may_go_to_another_thread() {
    fn need_send<F: Future<Output = Result<T, Rejection>> + Send, T>(future: F) {
        drop(future);
    }
    need_send(free::checked(1));
    need_send(free::settled_generic(&[1], "a"));
    need_send(arguments::settled_patterns(
        String::new(),
        1,
        Pair {
            left: 1,
            right: String::new(),
        },
        (1, 2),
        true,
    ));
    need_send(hostile::settled(1, 2));
    need_send(responses::result(1, StatusCode::OK));
    let _: Response = scoped(responses::response(1, StatusCode::OK)).await;
}

/// They are registered as well, in a crate without `unsafe`, without a prelude, and under another name of the dependency.
#[tokio::test]
async fn policies_by_name() {
    let missing = limiter().verify().unwrap_err().to_string();
    assert_eq!(
        missing.lines().collect::<Vec<_>>(),
        [
            "`rate_limit_hygiene::bare::Named` asks for the policy `bare`, which is missing: add it",
            "`rate_limit_hygiene::bare::named` asks for the policy `bare`, which is missing: add it",
        ]
    );
    let minute = std::time::Duration::from_secs(60);
    let policies = Policies::new().with("bare", Policy::sliding_window(1, minute));
    let limiter = limiter();
    limiter.set_policies(policies).expect("it is all that is asked for");
    assert!(limiter.verify().is_ok());
    limiter
        .scope(async {
            one_of_two!(bare::named(1, ()), bare::Named::<u8>::required(&bare::Portal));
        })
        .await;
}

#[tokio::test]
async fn in_a_transaction() -> Result<(), Box<dyn std::error::Error>> {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await?;
    let store = SqlStore::sqlite(pool.clone()).build();
    store.create_table().await?;
    let limiter = Limiter::builder().store(store).build()?;
    limiter
        .scope(async {
            let mut tx = pool.begin().await.expect("it begins");
            one_of_two!(
                options::within(&mut tx, 1),
                options::permit_within(&mut tx, 1),
                bare::within(&mut tx, 1),
            );
        })
        .await;
    Ok(())
}
