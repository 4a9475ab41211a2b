//! actix-web: handlers, middleware, extractors.

mod client;
mod handlers;
mod middleware;
mod workers;
