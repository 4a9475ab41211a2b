//! A line of `CLUSTER NODES`.

use std::ops::RangeInclusive;

#[derive(Debug)]
pub(super) struct ClusterNode {
    pub(super) id: String,
    pub(super) port: u16,
    /// Whether it is the node that was asked.
    pub(super) is_itself: bool,
    /// Of a replica.
    pub(super) primary: Option<String>,
    /// Of several that claim a slot, the one with the greatest has it.
    pub(super) epoch: u64,
    pub(super) slots: Vec<RangeInclusive<u16>>,
}

impl ClusterNode {
    /// `ID HOST:PORT@BUS,NAME FLAGS PRIMARY PING PONG EPOCH LINK SLOTS..`
    pub(super) fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split(' ').collect();
        let port = fields[1]
            .split('@')
            .next()
            .and_then(|address| address.rsplit(':').next());
        let number = |text: &str| text.parse().expect("a slot is a number");
        let range = |text: &str| match text.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(text)..=number(text),
        };
        // In brackets are those that are moving.
        let slots = fields[8..].iter().filter(|slots| !slots.starts_with('['));
        Self {
            id: fields[0].to_owned(),
            port: port.and_then(|port| port.parse().ok()).expect("a node has a port"),
            is_itself: fields[2].split(',').any(|flag| flag == "myself"),
            primary: (fields[3] != "-").then(|| fields[3].to_owned()),
            epoch: fields[6].parse().expect("an epoch is a number"),
            slots: slots.map(|slots| range(slots)).collect(),
        }
    }

    pub(super) fn has(&self, slot: u16) -> bool {
        self.slots.iter().any(|slots| slots.contains(&slot))
    }
}
