//! Real servers for tests, as child processes on free loopback ports, stopped when dropped.

mod redis_server;

pub use self::redis_server::RedisServer;
