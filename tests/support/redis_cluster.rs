//! A Redis Cluster of the test's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use redis::RedisResult;

use super::cluster_node::ClusterNode;
use super::ports::free_ports;
use super::redis_nodes::{RedisNodes, eventually};
use super::slot_move::SlotMove;

const PRIMARIES: usize = 3;
const REPLICAS: usize = 3;
const SLOTS: u16 = 16_384;
const LIMIT: Duration = Duration::from_secs(60);

/// Three primaries with a replica each. Dropping it stops all, and so does the end of the test process.
pub struct RedisCluster {
    nodes: RedisNodes,
    ports: Vec<u16>,
}

impl RedisCluster {
    /// Returns when every node says that all is well.
    pub fn start() -> Self {
        // Another process may take a free port before a node does: then other ports are tried.
        let started = (0..5).find_map(|_| Self::spawn());
        let cluster = started.expect("`redis-server` did not start (`scripts/test` installs it on Debian and Ubuntu)");
        cluster.join();
        cluster
    }

    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// `127.0.0.1:PORT` of each node, with commas between.
    pub fn addresses(&self) -> String {
        let addresses: Vec<String> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        addresses.join(",")
    }

    /// `redis-cluster://` and the [`addresses`](Self::addresses).
    pub fn url(&self) -> String {
        format!("redis-cluster://{}", self.addresses())
    }

    /// Where the slots are.
    pub fn primaries(&self) -> Vec<u16> {
        let with_slots = self.themselves().into_iter().filter(|node| !node.slots.is_empty());
        with_slots.map(|node| node.port).collect()
    }

    /// The primary that has a slot; of several that say so, the last that was elected.
    pub fn primary_of(&self, slot: u16) -> u16 {
        self.owner(slot).expect("a primary that runs has the slot").port
    }

    /// The replicas of the primary at this port.
    pub fn replicas_of(&self, port: u16) -> Vec<u16> {
        let nodes = self.themselves();
        let id = nodes.iter().find(|node| node.port == port).map(|node| node.id.clone());
        let replicas = nodes.into_iter().filter(|node| node.primary == id && id.is_some());
        replicas.map(|node| node.port).collect()
    }

    pub fn slot_of(&self, key: &str) -> u16 {
        let slot = self.themselves().first().map(|node| node.port);
        let answer = self
            .nodes
            .ask(slot.expect("a node answers"), &format!("CLUSTER KEYSLOT {key}"));
        answer.expect("a node answers")
    }

    pub fn kill(&self, port: u16) {
        self.nodes.kill(port);
    }

    /// Starts it anew, without its data: it finds its place in the cluster by itself.
    pub fn restart(&mut self, port: u16) {
        self.nodes.restart(port);
    }

    pub fn pause(&self, port: u16) {
        self.nodes.pause(port);
    }

    pub fn resume(&self, port: u16) {
        self.nodes.resume(port);
    }

    /// Waits until another primary than the one at `old_port` has the slot, and every node that runs knows. Gives its
    /// port.
    pub fn wait_for_failover(&self, slot: u16, old_port: u16) -> u16 {
        let port = eventually("a failover", LIMIT, || {
            let owner = self.owner(slot)?;
            (owner.port != old_port).then_some(owner.port)
        });
        self.wait_until_known(slot, port);
        port
    }

    /// Has a replica take over from the primary at this port, which and the others then know nothing of each other any more: it goes on
    /// as if nothing had happened. Gives the port of the new primary.
    pub fn cut_off(&self, old: u16) -> u16 {
        let replica = *self.replicas_of(old).first().expect("it has a replica");
        let id = self.node(old).id;
        for other in self.ports.iter().filter(|port| **port != old) {
            self.nodes
                .order(old, &format!("CLUSTER FORGET {}", self.node(*other).id));
        }
        self.nodes.order(replica, "CLUSTER FAILOVER TAKEOVER");
        eventually("the replica is a primary", LIMIT, || {
            (!self.node(replica).slots.is_empty()).then_some(())
        });
        for other in self.ports.iter().filter(|port| **port != old) {
            self.nodes.order(*other, &format!("CLUSTER FORGET {id}"));
        }
        replica
    }

    /// Has nodes stand still for 20 ms at a time, until this is `ended`.
    pub fn slow_down(
        self: &Arc<Self>,
        nodes: impl Iterator<Item = u16>,
        ended: &Arc<AtomicBool>,
    ) -> Vec<JoinHandle<()>> {
        nodes
            .map(|port| {
                let (cluster, ended) = (Arc::clone(self), Arc::clone(ended));
                std::thread::spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        cluster.nodes.order(port, "DEBUG SLEEP 0.02");
                    }
                })
            })
            .collect()
    }

    /// Moves a slot with its keys to another primary.
    pub fn move_slot(&self, slot: u16, to: u16) {
        self.begin_move(slot, to).finish();
    }

    /// Begins to move a slot: its keys are where they were, and each that is missing is asked for at the new place.
    pub fn begin_move(&self, slot: u16, to: u16) -> SlotMove<'_> {
        SlotMove::begin(self, slot, to)
    }

    pub fn nodes(&self) -> &RedisNodes {
        &self.nodes
    }

    /// Waits until every node that runs is well and knows where a slot is.
    pub(super) fn wait_until_known(&self, slot: u16, port: u16) {
        eventually("all nodes know where a slot is", LIMIT, || {
            let views: Vec<Vec<ClusterNode>> = self.ports.iter().filter_map(|port| self.view(*port).ok()).collect();
            let knows = |view: &Vec<ClusterNode>| {
                let mut owners = view.iter().filter(|node| node.has(slot));
                owners.next().is_some_and(|node| node.port == port) && owners.next().is_none()
            };
            let mut running = self.ports.iter().filter(|port| self.view(**port).is_ok());
            (views.iter().all(knows) && running.all(|port| self.is_well(*port))).then_some(())
        });
    }

    pub(super) fn node(&self, port: u16) -> ClusterNode {
        let view = self.view(port).expect("the node answers");
        view.into_iter().find(|node| node.is_itself).expect("it knows itself")
    }

    /// What each node that answers says of itself.
    fn themselves(&self) -> Vec<ClusterNode> {
        let views = self.ports.iter().filter_map(|port| self.view(*port).ok());
        views.flatten().filter(|node| node.is_itself).collect()
    }

    fn owner(&self, slot: u16) -> Option<ClusterNode> {
        let owners = self.themselves().into_iter().filter(|node| node.has(slot));
        owners.max_by_key(|node| node.epoch)
    }

    /// What the node at this port knows of all.
    fn view(&self, port: u16) -> RedisResult<Vec<ClusterNode>> {
        let nodes: String = self.nodes.ask(port, "CLUSTER NODES")?;
        Ok(nodes.lines().map(ClusterNode::read).collect())
    }

    fn is_well(&self, port: u16) -> bool {
        let info: RedisResult<String> = self.nodes.ask(port, "CLUSTER INFO");
        info.is_ok_and(|info| info.contains("cluster_state:ok"))
    }

    fn spawn() -> Option<Self> {
        let mut nodes = RedisNodes::new();
        let ports = free_ports(PRIMARIES + REPLICAS);
        for port in &ports {
            let mut args = vec!["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"];
            args.extend(["--cluster-enabled", "yes", "--cluster-node-timeout", "500"]);
            args.extend(["--cluster-replica-validity-factor", "0"]);
            args.extend(["--cluster-announce-ip", "127.0.0.1", "--enable-debug-command", "yes"]);
            nodes.spawn("redis-server", *port, &args);
        }
        let all = ports.iter().all(|port| nodes.serves(*port));
        all.then_some(Self { nodes, ports })
    }

    fn join(&self) {
        let (primaries, replicas) = self.ports.split_at(PRIMARIES);
        for (place, primary) in primaries.iter().enumerate() {
            let bound = |place: usize| place * usize::from(SLOTS) / PRIMARIES;
            let slots: Vec<String> = (bound(place)..bound(place + 1)).map(|slot| slot.to_string()).collect();
            self.nodes
                .order(*primary, &format!("CLUSTER ADDSLOTS {}", slots.join(" ")));
        }
        for (place, port) in self.ports.iter().enumerate() {
            self.nodes
                .order(*port, &format!("CLUSTER SET-CONFIG-EPOCH {}", place + 1));
            for other in &self.ports[..place] {
                self.nodes.order(*port, &format!("CLUSTER MEET 127.0.0.1 {other}"));
            }
        }
        for (primary, replica) in primaries.iter().zip(replicas) {
            let id = self.node(*primary).id;
            eventually("a replica knows its primary", LIMIT, || {
                let taken: RedisResult<String> = self.nodes.ask(*replica, &format!("CLUSTER REPLICATE {id}"));
                taken.ok()
            });
        }
        eventually("all nodes are well", LIMIT, || {
            let known = |port: &u16| {
                let view = self.view(*port).ok()?;
                let replicas = view.iter().filter(|node| node.primary.is_some());
                Some(view.len() == PRIMARIES + REPLICAS && replicas.count() == REPLICAS)
            };
            let follows = |port: &u16| {
                let info: RedisResult<String> = self.nodes.ask(*port, "INFO replication");
                info.is_ok_and(|info| info.contains("master_link_status:up"))
            };
            let mut all = self.ports.iter();
            let well = all.all(|port| self.is_well(*port) && known(port).unwrap_or(false));
            (well && replicas.iter().all(follows)).then_some(())
        });
    }
}
