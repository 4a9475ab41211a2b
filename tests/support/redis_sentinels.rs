//! A primary, its replicas, and the sentinels that watch them.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::ports::free_ports;
use super::redis_nodes::{RedisNodes, eventually};
use super::shifted_clock::ShiftedClock;

const SERVER: &str = "redis-server";
const REPLICAS: usize = 2;
/// Clients that go on with a primary after it was cut off from the sentinels.
const CLIENTS: &str = "clients";
const PASSWORD: &str = "secret";
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
        let started = (0..5).find_map(|_| Self::spawn(&[SERVER; 1 + REPLICAS]));
        let all = started.expect("`redis-server` did not start (`scripts/test` installs it on Debian and Ubuntu)");
        all.introduce();
        all
    }

    /// As [`start`](Self::start), with servers whose clocks are so many seconds off, the primary's first.
    pub fn start_with_clocks(offsets: [i32; 1 + REPLICAS]) -> Self {
        let clock = ShiftedClock::new();
        let programs = offsets.map(|offset| clock.program(offset, SERVER));
        let started = (0..5).find_map(|_| Self::spawn(&programs));
        let all = started.expect("`redis-server` starts with a clock of its own");
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

    /// `redis-sentinel://ADDRESSES/SERVICE`.
    pub fn url(&self) -> String {
        format!("redis-sentinel://{}/{}", self.addresses(), Self::SERVICE)
    }

    /// As [`url`](Self::url), for clients that a primary still takes when it was [cut off](Self::cut_off_primary).
    pub fn url_of_clients(&self) -> String {
        for port in &self.servers {
            let user = format!("ACL SETUSER {CLIENTS} on >{PASSWORD} ~* &* +@all");
            self.nodes.order(*port, &user);
        }
        self.url().replace("://", &format!("://{CLIENTS}:{PASSWORD}@"))
    }

    /// Cuts the primary off from its sentinels and replicas: it takes none but [clients](Self::url_of_clients). Gives its port.
    pub fn cut_off_primary(&self) -> u16 {
        let port = self.primary_port();
        let client = redis::Client::open(format!("redis://{CLIENTS}:{PASSWORD}@127.0.0.1:{port}/"));
        let connection = client.and_then(|client| client.get_connection());
        let mut cut_off = redis::pipe();
        cut_off.cmd("ACL").arg(&["SETUSER", "default", "off"]).ignore();
        cut_off.cmd("CLIENT").arg(&["KILL", "USER", "default"]).ignore();
        let cut_off = connection.and_then(|mut connection| cut_off.exec(&mut connection));
        cut_off.expect("the primary takes its clients");
        port
    }

    /// Has the replicas promoted in this order, and the primary of now never again.
    pub fn prefer(&self, replicas: &[u16]) {
        let priority = |port: u16, priority: usize| {
            let set = format!("CONFIG SET replica-priority {priority}");
            self.nodes.order(port, &set);
        };
        priority(self.primary_port(), 0);
        let replicas: Vec<(u16, usize)> = replicas.iter().copied().zip(1..).collect();
        replicas.iter().for_each(|(port, place)| priority(*port, *place));
        let command = format!("SENTINEL REPLICAS {}", Self::SERVICE);
        for sentinel in &self.sentinels {
            eventually("a sentinel knows the priorities", FAILOVER, || {
                let known: Vec<HashMap<String, String>> = self.nodes.ask(*sentinel, &command).ok()?;
                let knows = |(port, place): &(u16, usize)| {
                    let own = known.iter().find(|replica| replica["port"] == port.to_string());
                    own.is_some_and(|replica| replica["slave-priority"] == place.to_string())
                };
                replicas.iter().all(knows).then_some(())
            });
        }
    }

    /// Has a replica promoted, as an operator does. Gives the port of the old primary, which goes on for a while.
    pub fn begin_failover(&self) -> u16 {
        let port = self.primary_port();
        let failover = format!("SENTINEL FAILOVER {}", Self::SERVICE);
        self.nodes.order(self.sentinels[0], &failover);
        port
    }

    /// Has a server that is the primary no more go on as one for some seconds, as it does by default: sentinels tell it after four of
    /// their periods.
    pub fn tell_old_primaries_late(&self) {
        for sentinel in &self.sentinels {
            self.nodes.order(*sentinel, "SENTINEL DEBUG publish-period 1000");
        }
    }

    /// Has sentinels take a server for dead after so many milliseconds.
    pub fn set_down_after(&self, ms: u32) {
        for sentinel in &self.sentinels {
            let set = format!("SENTINEL SET {} down-after-milliseconds {ms}", Self::SERVICE);
            self.nodes.order(*sentinel, &set);
        }
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

    fn spawn(programs: &[impl AsRef<str>]) -> Option<Self> {
        let mut nodes = RedisNodes::new();
        let ports = free_ports(1 + REPLICAS + SENTINELS);
        let (servers, sentinels) = ports.split_at(1 + REPLICAS);
        for (port, program) in servers.iter().zip(programs) {
            let args = ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
            nodes.spawn(program.as_ref(), *port, &args);
        }
        for port in sentinels {
            nodes.spawn(SERVER, *port, &["--sentinel"]);
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
            // no more often than it may be missing: of a busy server one sign is late, of a dead one all are. A replica
            // is not promoted that was not heard of for five such times, and with the primary down it is asked once a second.
            order("SENTINEL DEBUG info-period 200 publish-period 200 ping-period 250 tilt-period 1000");
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
