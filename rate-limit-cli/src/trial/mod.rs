//! Policies, tried on the events of all clients.

pub mod slots;

use std::ops::Range;
use std::thread;

use rate_limit::{Policy, Simulation, Verdict};

use self::slots::Slots;
use crate::log::Timelines;

/// What policies that hold together would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub events_refused: u64,
    pub clients_refused: u64,
    /// How many of the events each of the policies refused: of several that do, the one with the longest wait.
    pub refused_by: Vec<u64>,
    /// In microseconds.
    pub longest_wait: u64,
    /// The times of the first and the last event refused.
    pub first_and_last: Option<(u64, u64)>,
    /// The events refused in each slot of time.
    pub over_time: Vec<u64>,
    /// The clients with the most events refused, most first, each with how many.
    pub heaviest: Vec<(usize, u64)>,
}

/// How many of the heaviest clients are kept.
const HEAVIEST: usize = 5;

impl Outcome {
    fn new(policies: usize, slots: usize) -> Self {
        Self {
            refused_by: vec![0; policies],
            over_time: vec![0; slots],
            ..Self::default()
        }
    }

    /// Adds what became of the events of a client.
    fn client(&mut self, client: usize, policies: &[Policy], times: &[u64], slots: &Slots) {
        let mut simulation = Simulation::new(policies.iter().copied());
        let before = self.events_refused;
        for &at in times {
            let (by, wait) = match simulation.ask(at) {
                Verdict::Denied {
                    longest, retry_after, ..
                } => (longest, retry_after),
                // No count is 0, and each event weighs 1, so none is impossible.
                _ => continue,
            };
            self.events_refused += 1;
            self.refused_by[by] += 1;
            self.longest_wait = self.longest_wait.max(wait);
            self.over_time[slots.of(at)] += 1;
            let (first, last) = self.first_and_last.unwrap_or((at, at));
            self.first_and_last = Some((first.min(at), last.max(at)));
        }
        let refused = self.events_refused - before;
        if refused > 0 {
            self.clients_refused += 1;
            self.note_heavy(client, refused);
        }
    }

    fn note_heavy(&mut self, client: usize, refused: u64) {
        let place = self.heaviest.partition_point(|(_, heavier)| *heavier >= refused);
        if place < HEAVIEST {
            self.heaviest.insert(place, (client, refused));
            self.heaviest.truncate(HEAVIEST);
        }
    }

    /// Adds those of other clients, which come behind.
    fn add(&mut self, other: Self) {
        self.events_refused += other.events_refused;
        self.clients_refused += other.clients_refused;
        self.longest_wait = self.longest_wait.max(other.longest_wait);
        self.first_and_last = match (self.first_and_last, other.first_and_last) {
            (Some((first, last)), Some((other_first, other_last))) => {
                Some((first.min(other_first), last.max(other_last)))
            }
            (one, other) => one.or(other),
        };
        let sum =
            |sums: &mut Vec<u64>, others: Vec<u64>| sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        sum(&mut self.refused_by, other.refused_by);
        sum(&mut self.over_time, other.over_time);
        for (client, refused) in other.heaviest {
            self.note_heavy(client, refused);
        }
    }
}

/// Tries every stack of policies on every client, a client after the other, on all processors. `done` is told how many clients are through.
pub fn run(stacks: &[&[Policy]], timelines: &Timelines, slots: &Slots, done: &(impl Fn(u64) + Sync)) -> Vec<Outcome> {
    let shares = thread::available_parallelism().map_or(1, usize::from);
    let parts = thread::scope(|scope| {
        let part = |clients: Range<usize>| scope.spawn(move || part(stacks, timelines, clients, slots, done));
        let parts: Vec<_> = shares_of(timelines, shares).into_iter().map(part).collect();
        let join = |part: thread::ScopedJoinHandle<'_, _>| {
            part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        parts.into_iter().map(join).collect::<Vec<Vec<Outcome>>>()
    });
    let mut outcomes: Vec<_> = stacks
        .iter()
        .map(|stack| Outcome::new(stack.len(), slots.count()))
        .collect();
    for part in parts {
        outcomes
            .iter_mut()
            .zip(part)
            .for_each(|(outcome, part)| outcome.add(part));
    }
    outcomes
}

fn part(
    stacks: &[&[Policy]],
    timelines: &Timelines,
    clients: Range<usize>,
    slots: &Slots,
    done: &(impl Fn(u64) + Sync),
) -> Vec<Outcome> {
    /// A progress that is told more often takes time.
    const STRIDE: usize = 1_024;
    let mut outcomes: Vec<_> = stacks
        .iter()
        .map(|stack| Outcome::new(stack.len(), slots.count()))
        .collect();
    let mut from = clients.start;
    while from < clients.end {
        let to = clients.end.min(from + STRIDE);
        for client in from..to {
            let times = timelines.of(client);
            for (outcome, stack) in outcomes.iter_mut().zip(stacks) {
                outcome.client(client, stack, times, slots);
            }
        }
        done((to - from) as u64);
        from = to;
    }
    outcomes
}

/// Ranges of clients with about as many events each.
fn shares_of(timelines: &Timelines, shares: usize) -> Vec<Range<usize>> {
    let clients = timelines.clients();
    let events = timelines.events();
    let (mut ranges, mut from, mut seen) = (Vec::new(), 0, 0);
    for client in 0..clients {
        seen += timelines.of(client).len();
        if seen * shares >= events * (ranges.len() + 1) {
            ranges.push(from..client + 1);
            from = client + 1;
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn given(seconds: &[&[u64]]) -> Timelines {
        let micros = |seconds: &&[u64]| seconds.iter().map(|second| second * SECOND).collect();
        Timelines::given(&seconds.iter().map(micros).collect::<Vec<_>>())
    }

    fn policies(texts: &[&str]) -> Vec<Policy> {
        texts.iter().map(|text| text.parse().expect("a policy")).collect()
    }

    #[test]
    fn an_outcome_tells_whom_a_policy_refuses_when_and_for_how_long() {
        let clients = given(&[&[0, 10, 20, 30], &[5], &[61, 62, 63]]);
        let slots = Slots::between(0, 63 * SECOND);
        let [bucket, both] = [policies(&["2 in 1m"]), policies(&["2 in 1m", "1 in 2s"])];
        let outcomes = run(&[&bucket, &both], &clients, &slots, &|_| ());
        let two = &outcomes[0];
        assert_eq!((two.events_refused, two.clients_refused), (3, 2));
        assert_eq!(two.longest_wait, 58 * SECOND, "63 waits for 61 to leave");
        assert_eq!(two.first_and_last, Some((20 * SECOND, 63 * SECOND)));
        assert_eq!(two.refused_by, [3]);
        assert_eq!(two.heaviest, [(0, 2), (2, 1)]);
        let refused_in: Vec<usize> = (0..slots.count()).filter(|slot| two.over_time[*slot] > 0).collect();
        assert_eq!(refused_in, [20, 30, 63]);
        // 62 is refused by the second policy, so that 63 is the second that the first one admits.
        assert_eq!(outcomes[1].refused_by, [2, 1]);
    }

    #[test]
    fn any_number_of_shares_is_the_same_outcome() {
        let timeline = |client: u64| {
            (0..client * 7 % 50 + 1)
                .map(|event| event * (client % 9) * 250_000 + client)
                .collect()
        };
        let clients = Timelines::given(&(1..300).map(timeline).collect::<Vec<_>>());
        let slots = Slots::between(0, 200 * SECOND);
        let stack = policies(&["3 and one more each 2s", "20 in 1m"]);
        let whole = part(&[&stack], &clients, 0..clients.clients(), &slots, &|_| ());
        assert!(whole[0].events_refused > 1_000 && whole[0].refused_by.iter().all(|refused| *refused > 10));
        for shares in [1, 2, 3, 7, 500] {
            let ranges = shares_of(&clients, shares);
            assert!(ranges.len() <= shares && ranges.iter().map(Range::len).sum::<usize>() == clients.clients());
            let mut sum = vec![Outcome::new(2, slots.count())];
            for range in ranges {
                for (sum, outcome) in sum.iter_mut().zip(part(&[&stack], &clients, range, &slots, &|_| ())) {
                    sum.add(outcome);
                }
            }
            assert_eq!(sum, whole, "{shares} shares");
        }
    }
}
