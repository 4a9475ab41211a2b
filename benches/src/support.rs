//! The servers of the tests.

#![allow(dead_code, reason = "the tests use more of them")]

#[path = "../../tests/support/guardian.rs"]
mod guardian;
#[path = "../../tests/support/ports.rs"]
mod ports;
#[path = "../../tests/support/redis_nodes.rs"]
mod redis_nodes;
#[path = "../../tests/support/redis_server.rs"]
mod redis_server;
#[path = "../../tests/support/valkey_server.rs"]
mod valkey_server;

pub use self::redis_server::RedisServer;
pub use self::valkey_server::ValkeyServer;
