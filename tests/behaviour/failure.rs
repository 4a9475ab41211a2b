//! What holds while the store does not decide.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::IntoResponse;
use axum::routing::get;
use rate_limit::{
    Charge, Limiter, OnStoreError, Rejection, RejectionKind, Reply, Settlement, Store, StoreError, StoreErrorKind,
    Verdict, limit_per_time,
};
use tokio::task::yield_now;
use tower::ServiceExt as _;

/// A store that fails from the call on which it is told to.
#[derive(Clone, Debug)]
struct Failing {
    kind: StoreErrorKind,
    asked: Arc<AtomicUsize>,
}

impl Failing {
    fn with(kind: StoreErrorKind) -> Self {
        Self {
            kind,
            asked: Arc::default(),
        }
    }

    fn error<T>(&self) -> Reply<Result<T, StoreError>>
    where
        T: Send + 'static,
    {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let error = StoreError::new(self.kind, "the test's own store fails");
        // One that timed out was waited for.
        match self.kind {
            StoreErrorKind::Timeout => Reply::pending(async {
                yield_now().await;
                Err(error)
            }),
            _ => Reply::ready(Err(error)),
        }
    }
}

impl Store for Failing {
    fn acquire(&self, _: &[Charge]) -> Reply<Result<Verdict, StoreError>> {
        self.error()
    }

    fn peek(&self, _: Charge) -> Reply<Result<Verdict, StoreError>> {
        self.error()
    }

    fn settle(&self, _: &[Settlement]) -> Reply<Result<(), StoreError>> {
        self.error()
    }
}

const KINDS: [StoreErrorKind; 4] = [
    StoreErrorKind::Unavailable,
    StoreErrorKind::Timeout,
    StoreErrorKind::Unexpected,
    StoreErrorKind::Misconfigured,
];

#[limit_per_time(5, "1m", key = "k")]
async fn by_default() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m", key = "k", on_store_error = open, reset_on_success)]
async fn open() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m", key = "k", on_store_error = closed)]
async fn closed() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1m", key = "k", on_store_error = local, reset_on_success, success = |_| *right)]
async fn local(right: &bool) -> Result<(), Rejection> {
    Ok(())
}

/// Of twenty calls, how many are admitted, and why the others are not.
macro_rules! twenty {
    ($limiter:expr, $call:expr) => {{
        let limiter: &Limiter = &$limiter;
        let mut admitted = 0;
        let mut kinds = Vec::new();
        for _ in 0..20 {
            match limiter.scope($call).await {
                Ok(()) => admitted += 1,
                Err(rejection) => kinds.push(rejection.kind()),
            }
        }
        kinds.dedup();
        (admitted, kinds)
    }};
}

#[tokio::test]
async fn open_admits_and_closed_refuses_and_local_holds_the_policy() {
    for kind in KINDS {
        let limiter = Limiter::builder()
            .store(Failing::with(kind))
            .build()
            .expect("no secret is set");
        assert_eq!(
            twenty!(limiter, by_default()),
            (5, vec![RejectionKind::Limited]),
            "{kind:?}"
        );
        assert_eq!(
            twenty!(limiter, local(&false)),
            (5, vec![RejectionKind::Limited]),
            "{kind:?}"
        );
        assert_eq!(twenty!(limiter, open()), (20, vec![]), "{kind:?}");
        let unavailable = match kind {
            StoreErrorKind::Misconfigured => RejectionKind::Misconfigured,
            _ => RejectionKind::StoreUnavailable,
        };
        assert_eq!(twenty!(limiter, closed()), (0, vec![unavailable]), "{kind:?}");
    }
}

#[tokio::test]
async fn a_rule_says_otherwise_than_its_limiter() {
    let limiter = |mode| {
        let store = Failing::with(StoreErrorKind::Unavailable);
        Limiter::builder()
            .store(store)
            .on_store_error(mode)
            .build()
            .expect("no secret is set")
    };
    assert_eq!(twenty!(limiter(OnStoreError::Open), by_default()), (20, vec![]));
    assert_eq!(
        twenty!(limiter(OnStoreError::Closed), by_default()),
        (0, vec![RejectionKind::StoreUnavailable])
    );
    assert_eq!(twenty!(limiter(OnStoreError::Closed), open()), (20, vec![]));
    assert_eq!(
        twenty!(limiter(OnStoreError::Open), closed()),
        (0, vec![RejectionKind::StoreUnavailable])
    );
    assert_eq!(
        twenty!(limiter(OnStoreError::Open), local(&false)),
        (5, vec![RejectionKind::Limited])
    );
}

#[tokio::test]
async fn each_of_several_instances_holds_its_share_rounded_up() {
    for (instances, share) in [(1, 5), (2, 3), (3, 2), (5, 1), (9, 1)] {
        let limiter = Limiter::builder()
            .store(Failing::with(StoreErrorKind::Timeout))
            .instances(NonZeroU32::new(instances).expect("at least one"))
            .build()
            .expect("no secret is set");
        assert_eq!(
            twenty!(limiter, by_default()),
            (share, vec![RejectionKind::Limited]),
            "{instances}"
        );
    }
}

#[tokio::test]
async fn a_success_clears_its_record_where_it_was_made() {
    let store = Failing::with(StoreErrorKind::Unavailable);
    let limiter = Limiter::builder()
        .store(store.clone())
        .build()
        .expect("no secret is set");
    assert_eq!(twenty!(limiter, local(&true)), (20, vec![]));
    assert_eq!(limiter.unsettled(), 0);
    assert_eq!(
        store.asked.load(Ordering::SeqCst),
        20,
        "the store is not told of what it did not see"
    );
    // What was admitted unseen has no record to clear.
    assert_eq!(twenty!(limiter, open()), (20, vec![]));
    assert_eq!(limiter.unsettled(), 0);
}

#[limit_per_time(5, "1m", key = "k", on_store_error = closed)]
async fn response() -> impl IntoResponse {
    "body"
}

#[tokio::test]
async fn closed_is_503_over_http() {
    let app = || {
        Router::new()
            .route("/", get(response))
            .route("/result", get(closed_result))
    };
    let answer = async |kind, path| {
        let limiter = Limiter::builder()
            .store(Failing::with(kind))
            .build()
            .expect("no secret is set");
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let Ok(response) = limiter.scope(app().oneshot(request)).await;
        let header = |name| {
            response
                .headers()
                .get(name)
                .map(|value: &axum::http::HeaderValue| value.as_bytes().to_vec())
        };
        (
            response.status().as_u16(),
            header("retry-after"),
            header("cache-control"),
        )
    };
    let no_store = Some(b"no-store".to_vec());
    for path in ["/", "/result"] {
        for kind in [
            StoreErrorKind::Unavailable,
            StoreErrorKind::Timeout,
            StoreErrorKind::Unexpected,
        ] {
            assert_eq!(
                answer(kind, path).await,
                (503, Some(b"1".to_vec()), no_store.clone()),
                "{kind:?}"
            );
        }
        assert_eq!(
            answer(StoreErrorKind::Misconfigured, path).await,
            (500, None, no_store.clone())
        );
    }
}

#[limit_per_time(5, "1m", key = "k", on_store_error = closed, reset_on_success)]
async fn closed_result() -> Result<&'static str, Rejection> {
    Ok("body")
}
