//! The admin page: who gets in, what it shows, whom it releases.

#[path = "../behaviour/log.rs"]
mod log;
#[path = "../support/remote_store.rs"]
mod remote_store;
#[path = "../support/mod.rs"]
mod support;

mod clients;
mod decisions;
mod events;
mod guard;
mod origin;
mod page;
