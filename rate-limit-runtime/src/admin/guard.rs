//! Who may see the page.

use std::pin::Pin;

use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;

/// Answers with what is sent instead to who is not let in.
pub(super) type Guard = dyn Fn(&Parts) -> Pin<Box<dyn Future<Output = Result<(), Response>> + Send>> + Send + Sync;

pub(super) fn boxed<R: IntoResponse, F: Future<Output = Result<(), R>> + Send + 'static>(
    guard: impl Fn(&Parts) -> F + Send + Sync + 'static,
) -> Box<Guard> {
    Box::new(move |parts| {
        let let_in = guard(parts);
        Box::pin(async move { let_in.await.map_err(|refusal| refusing(refusal.into_response())) })
    })
}

/// A refusal never looks as if it was none.
fn refusing(refusal: Response) -> Response {
    match refusal.status().is_success() || refusal.status().is_informational() {
        true => StatusCode::FORBIDDEN.into_response(),
        false => refusal,
    }
}
