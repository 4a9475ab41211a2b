//! Real servers for tests, as child processes on free loopback ports, stopped when dropped.

#![allow(dead_code, unused_imports, reason = "each test binary uses some of it")]

mod fault_proxy;
mod guarded_server;
mod mariadb_server;
mod postgres_server;
mod redis_server;

pub use self::fault_proxy::{Fault, FaultProxy};
pub use self::mariadb_server::MariaDbServer;
pub use self::postgres_server::PostgresServer;
pub use self::redis_server::RedisServer;
