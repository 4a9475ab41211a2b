//! Headers between the two versions of the crate `http`: actix-web 4 has types of its own.

use actix_web::http::header::HeaderMap as ActixHeaders;
use http::{HeaderMap, HeaderName, HeaderValue};

/// The lines of these headers.
pub(super) fn of(headers: &ActixHeaders, names: &[&HeaderName]) -> HeaderMap {
    let mut copied = HeaderMap::new();
    for name in names {
        for value in headers.get_all(name.as_str()) {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                copied.append(*name, value);
            }
        }
    }
    copied
}

/// Puts these headers in place of what stands there.
pub(super) fn insert(from: &HeaderMap, headers: &mut ActixHeaders) {
    use actix_web::http::header::{HeaderName, HeaderValue};
    for (name, value) in from {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_str().as_bytes()),
            HeaderValue::from_bytes(value.as_bytes()),
        ) {
            headers.insert(name, value);
        }
    }
}
