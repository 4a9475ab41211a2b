//! HTTP: whose address it is, who calls himself a bot, what a client is told, and axum around the handler.

mod axum_layers;
mod bots;
mod client;
mod client_ip;
mod dialects;
mod forwarded_corpus;
#[path = "../behaviour/log.rs"]
mod log;
mod peers;
mod preflights;
mod problems;
mod rate_headers;
mod route_policies;
mod websocket;
