//! A primary, its replicas, and the sentinels that watch them.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::ports::free_ports;
use super::redis_nodes::{RedisNodes, eventually};

const REPLICAS: usize = 2;
const SENTINELS: usize = 3;
/// An election that comes to nothing is held again after twice the time that a failover may take.
const FAILOVER: Duration = Duration::from_secs(60);

/// One primary, two replicas and three sentinels, which call them [`SERVICE`](Self::SERVICE). Dropping them stops
/// all, and so does the end of the test process.
pub struct RedisSentinels {
    nodes: RedisNodes,
    servers: Vec<u16>,
    sentinels: Vec<u16>,
}

impl RedisSentinels {
    pub const SERVICE: &str = "main";

    /// Returns when the sentinels agree on the primary, and know the replicas and each other.
    pub fn start() -> Self {
        // Another process may take a free port before a server does: then other ports are tried.
        let started = (0..5).find_map(|_| Self::spawn());
        let all = started.expect("`redis-server` did not start (`scripts/test` installs it on Debian and Ubuntu)");
        all.introduce();
        all
    }

    pub fn sentinel_ports(&self) -> &[u16] {
        &self.sentinels
    }

    /// The primary and the replicas, whichever is which by now.
    pub fn server_ports(&self) -> &[u16] {
        &self.servers
    }

    /// `127.0.0.1:PORT` of each sentinel, with commas between.
    pub fn addresses(&self) -> String {
        let addresses: Vec<String> = self.sentinels.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        addresses.join(",")
    }

    /// By the first sentinel that answers.
    pub fn primary_port(&self) -> u16 {
        let named = self.sentinels.iter().find_map(|sentinel| self.named_by(*sentinel));
        named.expect("a sentinel answers")
    }

    /// Ends the primary as `SIGKILL` does, and gives its port.
    pub fn kill_primary(&self) -> u16 {
        let port = self.primary_port();
        self.kill(port);
        port
    }

    /// Waits until every sentinel that runs names another primary, and that takes writes. Gives its port.
    pub fn wait_for_failover(&self, old_port: u16) -> u16 {
        eventually("a failover", FAILOVER, || {
            let named: BTreeSet<u16> = self.sentinels.iter().filter_map(|port| self.named_by(*port)).collect();
            let port = *named.first()?;
            (named.len() == 1 && port != old_port && self.role(port)? == "master").then_some(port)
        })
    }

    /// How many failovers there were, also those that nobody asked for: sentinels take a server that is too busy for
    /// a dead one.
    pub fn failovers(&self) -> u64 {
        let epochs = self.sentinels.iter().filter_map(|sentinel| {
            let command = format!("SENTINEL MASTER {}", Self::SERVICE);
            let state: HashMap<String, String> = self.nodes.ask(*sentinel, &command).ok()?;
            state["config-epoch"].parse().ok()
        });
        epochs.max().expect("a sentinel answers")
    }

    pub fn kill(&self, port: u16) {
        self.nodes.kill(port);
    }

    /// Starts it anew, in the role that it had when it was last told of one.
    pub fn restart(&mut self, port: u16) {
        self.nodes.restart(port);
    }

    pub fn pause(&self, port: u16) {
        self.nodes.pause(port);
    }

    pub fn resume(&self, port: u16) {
        self.nodes.resume(port);
    }

    /// `master`, `slave` or `sentinel`; `None` while it does not answer.
    pub fn role(&self, port: u16) -> Option<String> {
        let role: Vec<redis::Value> = self.nodes.ask(port, "ROLE").ok()?;
        redis::from_redis_value(role.into_iter().next()?).ok()
    }

    pub fn nodes(&self) -> &RedisNodes {
        &self.nodes
    }

    fn spawn() -> Option<Self> {
        let mut nodes = RedisNodes::new();
        let ports = free_ports(1 + REPLICAS + SENTINELS);
        let (servers, sentinels) = ports.split_at(1 + REPLICAS);
        for port in servers {
            let args = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
            nodes.spawn("redis-server", *port, &args);
        }
        for port in sentinels {
            nodes.spawn("redis-server", *port, &["--sentinel"]);
        }
        ports.iter().all(|port| nodes.serves(*port)).then(|| Self {
            servers: servers.to_vec(),
            sentinels: sentinels.to_vec(),
            nodes,
        })
    }

    fn introduce(&self) {
        let primary = self.servers[0];
        for replica in &self.servers[1..] {
            self.nodes.order(*replica, &format!("REPLICAOF 127.0.0.1 {primary}"));
            self.nodes.order(*replica, "CONFIG REWRITE");
        }
        let following = |replica: &u16| {
            let info: String = self.nodes.ask(*replica, "INFO replication").ok()?;
            info.contains("master_link_status:up").then_some(())
        };
        for replica in &self.servers[1..] {
            eventually("a replica follows", FAILOVER, || following(replica));
        }
        for sentinel in &self.sentinels {
            let order = |command: &str| self.nodes.order(*sentinel, command);
            // They would find each other within two seconds, and replicas within ten. And they would ask for a sign of life
            // no more often than it may be missing: of a busy server one sign is late, of a dead one all are.
            order("SENTINEL DEBUG info-period 200 publish-period 200 ping-period 100 tilt-period 1000");
            let service = Self::SERVICE;
            order(&format!("SENTINEL MONITOR {service} 127.0.0.1 {primary} 2"));
            order(&format!(
                "SENTINEL SET {service} down-after-milliseconds 300 failover-timeout 2000 parallel-syncs 2"
            ));
        }
        for sentinel in &self.sentinels {
            eventually("the sentinels know each other", FAILOVER, || {
                let known = |what: &str| {
                    let command = format!("SENTINEL {what} {}", Self::SERVICE);
                    let known: Vec<redis::Value> = self.nodes.ask(*sentinel, &command).ok()?;
                    Some(known.len())
                };
                let all = known("REPLICAS")? == REPLICAS && known("SENTINELS")? == SENTINELS - 1;
                (all && self.named_by(*sentinel)? == primary && self.has_quorum(*sentinel)).then_some(())
            });
        }
    }

    fn named_by(&self, sentinel: u16) -> Option<u16> {
        let command = format!("SENTINEL GET-MASTER-ADDR-BY-NAME {}", Self::SERVICE);
        let (_, port): (String, u16) = self.nodes.ask(sentinel, &command).ok()?;
        Some(port)
    }

    fn has_quorum(&self, sentinel: u16) -> bool {
        let command = format!("SENTINEL CKQUORUM {}", Self::SERVICE);
        self.nodes.ask::<String>(sentinel, &command).is_ok()
    }
}
