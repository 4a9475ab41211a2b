//! The names of clients, each once.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Gives each name a number, in the order of their first events.
#[derive(Debug, Default)]
pub struct Clients {
    names: Vec<u8>,
    /// Where each name ends, and the next begins.
    ends: Vec<usize>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Clients {
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a name. `None` if there are no more numbers.
    pub fn number(&mut self, name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        let (names, ends) = (&self.names, &self.ends);
        if let Some(number) = self
            .numbers
            .find(hash, |number| name_of(names, ends, *number as usize) == name)
        {
            return Some(*number);
        }
        let number = u32::try_from(ends.len()).ok()?;
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len());
        let (names, ends, hasher) = (&self.names, &self.ends, &self.hasher);
        let rehash = |number: &u32| hasher.hash_one(name_of(names, ends, *number as usize));
        self.numbers.insert_unique(hash, number, rehash);
        Some(number)
    }

    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// As it is shown.
    pub fn name(&self, number: usize) -> String {
        String::from_utf8_lossy(name_of(&self.names, &self.ends, number)).into_owned()
    }

    /// Without what finds numbers by names.
    pub fn finished(self) -> Self {
        Self {
            numbers: HashTable::new(),
            ..self
        }
    }
}

fn name_of<'a>(names: &'a [u8], ends: &[usize], number: usize) -> &'a [u8] {
    let begin = number.checked_sub(1).map_or(0, |before| ends[before]);
    &names[begin..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_number() {
        let mut clients = Clients::new();
        let names: Vec<String> = (0..5_000_u32).map(|n| format!("client-{}", n * n % 1_777)).collect();
        let numbers: Vec<u32> = names
            .iter()
            .map(|name| clients.number(name.as_bytes()).expect("few"))
            .collect();
        let mut apart = names.clone();
        apart.sort_unstable();
        apart.dedup();
        assert_eq!(clients.len(), apart.len());
        for (name, number) in names.iter().zip(&numbers) {
            assert_eq!(clients.name(*number as usize), *name);
        }
        assert_eq!(clients.number(b"client-0"), Some(0));
        assert_eq!(clients.number(b"client-"), Some(clients.len() as u32 - 1), "it is new");
    }
}
