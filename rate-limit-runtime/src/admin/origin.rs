//! Whether the page itself asks, and not one of another origin that a logged-in browser also has open.

use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};

use super::problem::Problem;

/// What the page sends along, and a page of another origin only after asking, which is refused.
const OURS: HeaderName = HeaderName::from_static("x-rate-limit-admin");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses a request that changes or looks up something unless the page sent it, or a program that says all that the page does.
pub(super) fn check(parts: &Parts) -> Result<(), Problem> {
    if !is_json(&parts.headers) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "send `content-type: application/json`"));
    }
    if !parts.headers.contains_key(OURS) {
        return Err(foreign("send the header `x-rate-limit-admin: 1`, as the page does"));
    }
    check_site(&parts.headers)?;
    match parts.headers.get(ORIGIN) {
        Some(origin) if !is_host(origin.as_bytes(), parts) => Err(foreign(
            "the request comes from a page of another origin. If it does not, a proxy in front changes `Host`: have it passed on",
        )),
        _ => Ok(()),
    }
}

/// Refuses what a browser sends for a page of another origin. What it says of an address that somebody typed is `none`.
pub(super) fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(SITE) {
        Some(site) if site != "same-origin" && site != "none" => {
            Err(foreign("the request comes from a page of another origin"))
        }
        _ => Ok(()),
    }
}

fn foreign(detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, detail)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let kind = value.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Whether an origin, `https://host:port`, is the host that was asked. Which scheme that was is known to a proxy alone.
fn is_host(origin: &[u8], parts: &Parts) -> bool {
    let asked = match (parts.headers.get(HOST), parts.uri.authority()) {
        (Some(host), _) => host.as_bytes(),
        (None, Some(authority)) => authority.as_str().as_bytes(),
        (None, None) => return false,
    };
    let host = origin
        .strip_prefix(b"https://")
        .or_else(|| origin.strip_prefix(b"http://"));
    host.is_some_and(|host| host.eq_ignore_ascii_case(asked))
}
