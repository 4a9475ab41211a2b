//! What keeps a page up to date: an event each second, for five seconds. Then the browser asks again, and the guard is asked again; so an open page
//! never holds up a server that shuts down for longer, and who leaves is forgotten by the next second.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use axum_core::response::{IntoResponse, Response};
use futures_core::Stream;
use http::header::RETRY_AFTER;
use http::{HeaderName, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, interval};

use super::Admin;
use super::problem::Problem;
use super::view::RECENT;

const PERIOD: Duration = Duration::from_secs(1);
const EVENTS: u32 = 5;
/// How long a browser waits until it asks again.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn events(admin: &Admin) -> Result<Response, Problem> {
    let Ok(room) = admin.0.pages.clone().try_acquire_owned() else {
        let detail = "too many pages are kept up to date: close some of them";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).with(RETRY_AFTER, "5"));
    };
    let events = Events {
        admin: admin.clone(),
        seconds: interval(PERIOD),
        left: EVENTS,
        _room: room,
    };
    // A proxy that collects an answer before it passes it on would pass on nothing.
    let unbuffered = [(HeaderName::from_static("x-accel-buffering"), "no")];
    Ok((unbuffered, Sse::new(events)).into_response())
}

struct Events {
    admin: Admin,
    seconds: Interval,
    left: u32,
    _room: OwnedSemaphorePermit,
}

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        ready!(self.seconds.poll_tick(context));
        self.left -= 1;
        let inner = &self.admin.0;
        let view = inner.views.of(&inner.limiter, RECENT);
        Poll::Ready(Some(Ok(Event::default().retry(PAUSE).data(view))))
    }
}
