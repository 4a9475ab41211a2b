//! Moving a slot of a cluster, step by step.

use super::redis_cluster::RedisCluster;

/// A slot on its way from one primary to another. A client that asks the old one for a key which is gone is sent to the
/// new one by `ASK`; one that asks for several keys of which some are gone gets `TRYAGAIN` there.
#[must_use]
pub struct SlotMove<'a> {
    cluster: &'a RedisCluster,
    slot: u16,
    from: u16,
    to: u16,
}

impl<'a> SlotMove<'a> {
    pub(super) fn begin(cluster: &'a RedisCluster, slot: u16, to: u16) -> Self {
        let from = cluster.primary_of(slot);
        assert_ne!(from, to, "the slot is there");
        let (source, target) = (cluster.node(from).id, cluster.node(to).id);
        let nodes = cluster.nodes();
        nodes.order(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {source}"));
        nodes.order(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {target}"));
        Self {
            cluster,
            slot,
            from,
            to,
        }
    }

    pub fn from(&self) -> u16 {
        self.from
    }

    /// The keys that are still where they were.
    pub fn keys(&self) -> Vec<String> {
        let command = format!("CLUSTER GETKEYSINSLOT {} 100000", self.slot);
        self.cluster
            .nodes()
            .ask(self.from, &command)
            .expect("the primary answers")
    }

    pub fn move_key(&self, key: &str) {
        let command = format!("MIGRATE 127.0.0.1 {} {key} 0 5000", self.to);
        self.cluster.nodes().order(self.from, &command);
    }

    /// Moves the keys that are left and then the slot, and waits until every node knows.
    pub fn finish(self) {
        // Others may write while it moves, but no key that is not there.
        for key in self.keys() {
            self.move_key(&key);
        }
        let nodes = self.cluster.nodes();
        let owner = self.cluster.node(self.to).id;
        for port in [self.to, self.from] {
            nodes.order(port, &format!("CLUSTER SETSLOT {} NODE {owner}", self.slot));
        }
        self.cluster.wait_until_known(self.slot, self.to);
    }
}
