//! Real servers for tests, as child processes on free loopback ports, stopped when dropped.

mod fault_proxy;
mod redis_server;

#[allow(unused_imports, reason = "each test binary uses some of it")]
pub use self::fault_proxy::{Fault, FaultProxy};
pub use self::redis_server::RedisServer;
