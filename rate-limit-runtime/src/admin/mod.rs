//! The page that shows what is limited and who is, to mount behind an authentication of your own.

mod answer;
mod breakers;
mod events;
mod guard;
mod headers;
mod limits;
mod look_up;
mod origin;
mod problem;
mod question;
mod refused;
mod tally;
mod view;
mod watch;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use axum_core::body::Body;
use axum_core::response::IntoResponse;
use http::Request;
use http::request::Parts;
use tokio::sync::Semaphore;

pub(crate) use self::breakers::breaker;
use self::guard::Guard;
use self::view::Views;
pub(crate) use self::watch::Watch;
use crate::limiter::Limiter;

/// A page for who runs the service: which functions are limited and by what, what was decided in the last five minutes, how near to their
/// limits calls are, whether the store decides, and who is refused now. It looks up one client by id, and releases one, at all functions or
/// at one. It is live, and works on a phone and by keyboard alone.
///
/// There is none without a guard. It is asked about every request under the place where the page is mounted, before anything else is, and
/// answers with what is sent instead if the request is not to be served. The live part asks again every five seconds, so that who is let
/// in no more sees nothing more.
///
/// ```
/// use axum::Router;
/// use axum::http::{StatusCode, header::AUTHORIZATION, request::Parts};
/// use rate_limit_runtime::{Limiter, axum::Admin};
///
/// # fn is_operator(_: &str) -> bool { true }
/// let limiter = Limiter::embedded();
/// let admin = Admin::new(limiter, |parts: &Parts| {
///     let token = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
///     async move {
///         match token {
///             Some(token) if is_operator(&token) => Ok(()),
///             Some(_) => Err(StatusCode::FORBIDDEN),
///             None => Err(StatusCode::UNAUTHORIZED),
///         }
///     }
/// });
/// let app: Router = Router::new().nest_service("/admin", admin.router::<()>());
/// ```
///
/// # What it shows of whom
///
/// Decisions are those of this process, by the limiter that is given, since the page was made: each instance has a page of its own. A look-up
/// and a release ask the store, which instances share. Another instance may go on refusing a client that is released here, from what it
/// remembers, for up to a second.
///
/// A function whose numbers are constant expressions is looked up once this process has decided a call of it, and released at before too.
///
/// Nothing shows, answers or logs the id of a client. He is shown by the hash that stands for him in the keys of a store. A hash under the public
/// key gives a guessable id away: set `RATE_LIMIT_SECRET`, as [`Client`](crate::Client) says.
///
/// # What it does to the rest
///
/// A page of another origin cannot release anybody, whoever is logged in. For that a proxy in front must pass on the `Host` that the browser asked
/// for. The page loads nothing from elsewhere, and its URLs are relative, so that it can be mounted at any path.
///
/// From when there is an `Admin`, each call that its limiter decides is counted, without allocating: a few atomic additions, and for one
/// that is refused one of 64 short locks. That takes some 90 ns in memory. An open page holds up a graceful shutdown for five seconds at
/// the most.
#[derive(Clone)]
#[must_use]
pub struct Admin(Arc<Inner>);

struct Inner {
    limiter: Limiter,
    guard: Box<Guard>,
    views: Views,
    /// Room for pages that are kept up to date.
    pages: Arc<Semaphore>,
}

impl Admin {
    /// How many pages are kept up to date at a time. More are told to try again.
    const MOST_PAGES: usize = 32;

    /// The page of this limiter, for requests that the guard lets in. It looks at the head of a request and takes from it what it needs
    /// before it waits for anything. What it refuses with is sent as it is: 401 with `WWW-Authenticate`, 403, or a redirect to where one logs in. A refusal that
    /// says 200 is sent as 403, with nothing in it.
    pub fn new<R: IntoResponse, F: Future<Output = Result<(), R>> + Send + 'static>(
        limiter: Limiter,
        guard: impl Fn(&Parts) -> F + Send + Sync + 'static,
    ) -> Self {
        limiter.watched();
        Self(Arc::new(Inner {
            limiter,
            guard: guard::boxed(guard),
            views: Views::default(),
            pages: Arc::new(Semaphore::new(Self::MOST_PAGES)),
        }))
    }

    /// What to mount: with [`Router::nest_service`], or with [`Router::nest`], which leaves out the address with a slash at its end.
    pub fn router<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let everything = any(move |request: Request<Body>| answer::guarded(self.clone(), request));
        // No fallback: a router that is nested under a path with a parameter must not have one.
        Router::new()
            .route("/", everything.clone())
            .route("/{*path}", everything)
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Admin").field(&self.0.limiter).finish()
    }
}
