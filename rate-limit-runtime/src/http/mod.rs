//! HTTP, whatever the framework.

pub(crate) mod bot;
pub(crate) mod client_ip;
pub(crate) mod dialect;
mod forwarded;
mod list;
pub(crate) mod problem;
