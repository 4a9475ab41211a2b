//! Real servers for tests, as child processes on free loopback ports, stopped when dropped.

#![allow(dead_code, unused_imports, reason = "each test binary uses some of it")]

mod cluster_node;
mod fault_proxy;
mod guarded_server;
mod guardian;
pub mod history;
mod mariadb_server;
mod ports;
mod postgres_server;
mod random;
mod redis_cluster;
mod redis_nodes;
mod redis_sentinels;
mod redis_server;
mod shifted_clock;
mod slot_move;
mod tally;
mod valkey_server;

pub use self::fault_proxy::{Fault, FaultProxy, Weather};
pub use self::mariadb_server::MariaDbServer;
pub use self::postgres_server::PostgresServer;
pub use self::random::Random;
pub use self::redis_cluster::RedisCluster;
pub use self::redis_nodes::{RedisNodes, eventually};
pub use self::redis_sentinels::RedisSentinels;
pub use self::redis_server::RedisServer;
pub use self::slot_move::SlotMove;
pub use self::tally::Tally;
pub use self::valkey_server::ValkeyServer;
