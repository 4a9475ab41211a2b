//! actix-web: handlers, middleware, extractors.

mod client;
mod forwarded_corpus;
mod handlers;
mod middleware;
mod routes;
mod workers;
