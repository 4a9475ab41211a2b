//! The events of each client.

use super::Event;
use super::clients::Clients;

/// The times of each client's events, in order, in microseconds since 1970.
#[derive(Debug)]
pub struct Timelines {
    clients: Clients,
    times: Vec<u64>,
    /// Where the times of each client end, and those of the next begin.
    ends: Vec<usize>,
}

impl Timelines {
    /// By a counting sort, since there are often a million clients.
    pub(super) fn new(clients: Clients, events: &[Event]) -> Self {
        let mut ends = vec![0; clients.len() + 1];
        for event in events {
            ends[event.client as usize + 1] += 1;
        }
        for client in 1..ends.len() {
            ends[client] += ends[client - 1];
        }
        let mut times = vec![0; events.len()];
        for event in events {
            // It begins where the one before ends, and moves on to its own end.
            let place = &mut ends[event.client as usize];
            times[*place] = event.at;
            *place += 1;
        }
        ends.pop();
        let mut timelines = Self {
            clients: clients.finished(),
            times,
            ends,
        };
        for client in 0..timelines.clients() {
            let own = timelines.range(client);
            let own = &mut timelines.times[own];
            if !own.is_sorted() {
                own.sort_unstable();
            }
        }
        timelines
    }

    /// How many there are.
    pub const fn clients(&self) -> usize {
        self.ends.len()
    }

    pub const fn events(&self) -> usize {
        self.times.len()
    }

    /// The times of a client, by number: at least one.
    pub fn of(&self, client: usize) -> &[u64] {
        &self.times[self.range(client)]
    }

    pub fn each(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.clients()).map(|client| self.of(client))
    }

    pub fn name(&self, client: usize) -> String {
        self.clients.name(client)
    }

    pub fn first_and_last(&self) -> (u64, u64) {
        let first = self.each().filter_map(|times| times.first()).min();
        let last = self.each().filter_map(|times| times.last()).max();
        (first.copied().unwrap_or(0), last.copied().unwrap_or(0))
    }

    fn range(&self, client: usize) -> std::ops::Range<usize> {
        client.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[client]
    }

    /// Of clients that go by their numbers.
    #[cfg(test)]
    pub fn given(times: &[Vec<u64>]) -> Self {
        let mut clients = Clients::new();
        let mut events = Vec::new();
        for (client, times) in (0..).zip(times) {
            assert_eq!(clients.number(format!("client {client}").as_bytes()), Some(client));
            events.extend(times.iter().map(|&at| Event { at, client }));
        }
        Self::new(clients, &events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_his_times_in_order() {
        let mut clients = Clients::new();
        let mut event = |name: &str, at| Event {
            at,
            client: clients.number(name.as_bytes()).expect("few"),
        };
        let events = [
            event("a", 5),
            event("b", 3),
            event("a", 1),
            event("c", 9),
            event("a", 5),
            event("b", 4),
        ];
        let timelines = Timelines::new(clients, &events);
        let each: Vec<(String, &[u64])> = (0..timelines.clients())
            .map(|one| (timelines.name(one), timelines.of(one)))
            .collect();
        assert_eq!(
            each,
            [
                ("a".to_owned(), &[1, 5, 5][..]),
                ("b".to_owned(), &[3, 4]),
                ("c".to_owned(), &[9])
            ]
        );
        assert_eq!((timelines.events(), timelines.first_and_last()), (6, (1, 9)));
    }
}
