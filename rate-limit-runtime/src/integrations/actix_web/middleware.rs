//! Middleware, for `actix_web::middleware::from_fn`.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, ResponseError as _};
use http::HeaderMap;

use super::extract::client_ip;
use super::headers;
use crate::client;
use crate::failure::OnStoreError;
use crate::http::cache_control::made_private;
use crate::http::client_ip_source::ClientIpSource;
use crate::http::dialect::HeaderDialect;
use crate::integrations::route_limit::{Charged, RouteLimit};
use crate::key::{Client, Key, KeyError};
use crate::limiter::Limiter;
use crate::registry::Numbers;
use crate::rejection::Rejection;
use crate::report;
use crate::throttle::log_throttled;
use crate::to_key::ToKey;

/// Finds the client of a request, if it has one.
type Find = dyn Fn(&ServiceRequest) -> Option<Result<Client, KeyError>> + Send + Sync;

type Answer<B> = Pin<Box<dyn Future<Output = Result<ServiceResponse<B>, Error>>>>;

/// Says who the client of a request is, for limited functions that name none by a `key`. Where it finds nothing, there is no
/// ambient client.
///
/// ```
/// use actix_web::dev::ServiceRequest;
/// use actix_web::middleware::from_fn;
/// use actix_web::{App, HttpMessage};
/// use rate_limit_runtime::actix_web::ambient_client;
///
/// #[derive(Clone)]
/// struct Account(u64);
///
/// // An authentication around this one put the account there.
/// let app = App::new().wrap(from_fn(ambient_client(|request: &ServiceRequest| {
///     request.extensions().get::<Account>().map(|account| account.0)
/// })));
/// ```
pub fn ambient_client<K: ToKey, B: MessageBody + 'static>(
    find: impl Fn(&ServiceRequest) -> Option<K> + Send + Sync + 'static,
) -> impl Fn(ServiceRequest, Next<B>) -> Answer<B> + Clone {
    with_ambient_client(by_key(find))
}

/// As [`ambient_client`], by address.
pub fn ambient_client_by_address<B: MessageBody + 'static>(
    source: ClientIpSource,
) -> impl Fn(ServiceRequest, Next<B>) -> Answer<B> + Clone {
    with_ambient_client(by_address(source))
}

fn with_ambient_client<B: MessageBody + 'static>(
    find: Arc<Find>,
) -> impl Fn(ServiceRequest, Next<B>) -> Answer<B> + Clone {
    move |request, next| {
        let client = find(&request);
        Box::pin(async move {
            match client {
                Some(client) => client::scope_of(client, next.call(request)).await,
                None => next.call(request).await,
            }
        })
    }
}

fn by_key<K: ToKey>(key: impl Fn(&ServiceRequest) -> Option<K> + Send + Sync + 'static) -> Arc<Find> {
    Arc::new(move |request| key(request).map(|id| Client::of(&id)))
}

fn by_address(source: ClientIpSource) -> Arc<Find> {
    Arc::new(move |request| match client_ip(request.request(), &source) {
        Ok(ip) => Some(Client::of(&ip)),
        Err(error) => {
            log_throttled!(error, "", %error, "a request has no address to count it by");
            // A fault of the service, and not of the client.
            Some(Err(KeyError::Nobody))
        }
    })
}

/// Tells the client on each answer how it stands, by the tightest limit that the request met. A request that met none is
/// answered as it is, and so is one whose answer has a header of this dialect already: a handler's own header is kept.
///
/// How a client stands is for that client alone, so an answer that tells it becomes `Cache-Control: private`, unless it is that or
/// `no-store` already. `public` and `s-maxage` are left out, all other directives are kept. A header for one cache, such as
/// `CDN-Cache-Control`, is not looked at.
///
/// Scripts of another origin see these headers only if the CORS middleware outside of this one exposes them: see
/// [`LimitRoute`](LimitRoute#cors).
pub fn rate_headers<B: MessageBody + 'static>(
    dialect: HeaderDialect,
) -> impl Fn(ServiceRequest, Next<B>) -> Answer<B> + Clone {
    move |request, next| {
        Box::pin(async move {
            let (answer, report) = report::collect(next.call(request)).await;
            let mut answer = answer?;
            let headers = answer.headers_mut();
            if let Some(report) = report.filter(|_| dialect.is_to_be_written(|name| headers.contains_key(name))) {
                let mut told = HeaderMap::new();
                dialect.write(report.name, &report.decision, &mut told);
                let lines = headers.get_all(CACHE_CONTROL).map(HeaderValue::as_bytes);
                if let Some(private) = made_private(lines) {
                    told.insert(http::header::CACHE_CONTROL, private);
                }
                headers::insert(&told, headers);
            }
            Ok(answer)
        })
    }
}

/// Limits a route before the body of a request is read: the attribute comes to see a request only once its arguments were
/// extracted, so that a malformed or oversized body is never charged there.
///
/// Counters go by the name, whatever the path looks like, and are those of a function with `name = ".."`. A request that passes two limits
/// of one name is charged once.
///
/// ```
/// use std::time::Duration;
/// use actix_web::middleware::from_fn;
/// use actix_web::{App, web};
/// use rate_limit_runtime::{ClientIpSource, Numbers, Policy, actix_web::LimitRoute};
///
/// let policy = Policy::sliding_window(100, Duration::from_secs(60));
/// let login = LimitRoute::by_address("login-by-address", policy, ClientIpSource::peer());
/// let api = LimitRoute::by_address("api", Numbers::Named("api-by-address"), ClientIpSource::peer());
/// // Each worker of an `HttpServer` makes an app of its own, of these clones.
/// let app = move || {
///     App::new()
///         .service(web::resource("/login").wrap(from_fn(login.clone().middleware())))
///         .service(web::resource("/export").wrap(from_fn(api.clone().middleware())))
/// };
/// # let _ = app();
/// ```
///
/// # Policies
///
/// As for annotated functions, an entry of the limiter's [`Policies`](crate::Policies) by the name of the limit takes the place of its
/// numbers, and [`Numbers::Named`] has no numbers but those of an entry. Both are looked up for each request, so they hold after
/// [`Limiter::set_policies`] too.
///
/// A limit registers itself when it is built. Build it before [`Limiter::verify`], which then finds a policy that is missing, and not in
/// the closure of `HttpServer::new`, which runs later.
///
/// # CORS
///
/// A preflight, an `OPTIONS` request with `Origin` and `Access-Control-Request-Method`, is not charged. Where a handler answers `OPTIONS`
/// itself, as `web::to(..)` does, clients could call it so without limit: [`charge_preflights`](Self::charge_preflights) there.
///
/// Wrap the CORS middleware after this one: a refusal then has the CORS headers, without which scripts of another origin cannot read it.
/// Let the CORS middleware expose the rate limit headers that scripts are to read. With actix-cors, where the middleware that is wrapped last is the outermost:
///
/// ```text
/// App::new()
///     .wrap(from_fn(limit.clone().middleware()))
///     .wrap(from_fn(rate_headers(HeaderDialect::Draft11)))
///     .wrap(Cors::default().allowed_origin(origin).expose_headers(["retry-after", "ratelimit", "ratelimit-policy"]))
/// ```
#[derive(Clone)]
pub struct LimitRoute {
    limit: RouteLimit,
    find: Arc<Find>,
}

impl LimitRoute {
    /// Limits each client that `key` returns for a request. A request without one is rejected.
    pub fn new<K: ToKey>(
        name: &'static str,
        numbers: impl Into<Numbers>,
        key: impl Fn(&ServiceRequest) -> Option<K> + Send + Sync + 'static,
    ) -> Self {
        Self::of(name, numbers.into(), by_key(key))
    }

    /// Limits each client address.
    #[must_use]
    pub fn by_address(name: &'static str, numbers: impl Into<Numbers>, source: ClientIpSource) -> Self {
        Self::of(name, numbers.into(), by_address(source))
    }

    fn of(name: &'static str, numbers: Numbers, find: Arc<Find>) -> Self {
        Self {
            limit: RouteLimit::new(name, numbers),
            find,
        }
    }

    /// Overrides the `on_store_error` of the limiter.
    #[must_use]
    pub fn on_store_error(mut self, mode: OnStoreError) -> Self {
        self.limit.on_store_error = Some(mode);
        self
    }

    /// Uses this limiter instead of the installed one.
    #[must_use]
    pub fn limiter(mut self, limiter: Limiter) -> Self {
        self.limit.limiter = Some(limiter);
        self
    }

    /// Charges CORS preflights too: for a route whose handler answers `OPTIONS` itself.
    #[must_use]
    pub fn charge_preflights(mut self) -> Self {
        self.limit.charges_preflights = true;
        self
    }

    /// The middleware, for `from_fn`.
    pub fn middleware<B: MessageBody + 'static>(
        self,
    ) -> impl Fn(ServiceRequest, Next<B>) -> Answer<EitherBody<B>> + Clone {
        move |request, next| {
            let limit = self.clone();
            Box::pin(async move {
                match limit.admit(&request).await {
                    Ok(charged) => {
                        let answer = RouteLimit::answer(charged, next.call(request)).await?;
                        Ok(answer.map_into_left_body())
                    }
                    Err(rejection) => Ok(request.into_response(rejection.error_response()).map_into_right_body()),
                }
            })
        }
    }

    /// Returns the counter that was charged; `None` for a preflight, and if another limit of this name has charged it.
    async fn admit(&self, request: &ServiceRequest) -> Result<Option<Key>, Rejection> {
        let is_exempt = self
            .limit
            .exempts(request.method().as_str(), |name| request.headers().contains_key(name));
        if is_exempt {
            return Ok(None);
        }
        let is_first = {
            let mut extensions = request.extensions_mut();
            let mut charged = extensions.remove::<Charged>().unwrap_or_default();
            let is_first = charged.is_first(&self.limit);
            extensions.insert(charged);
            is_first
        };
        if !is_first {
            return Ok(None);
        }
        self.limit.admit((self.find)(request)).await.map(Some)
    }
}

impl fmt::Debug for LimitRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit.fmt(f)
    }
}
