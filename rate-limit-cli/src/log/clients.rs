//! The names of clients, each once.

use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Gives each name a number, in the order of their first events.
#[derive(Debug, Default)]
pub struct Clients {
    text: Vec<u8>,
    /// By number.
    names: Vec<Name>,
    numbers: HashTable<(Name, u32)>,
    hasher: RandomState,
}

/// Where a name stands in the text of all.
#[derive(Clone, Copy, Debug)]
struct Name {
    start: u32,
    length: u32,
}

impl Name {
    fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start as usize..][..self.length as usize]
    }
}

impl Clients {
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a name. `None` if there is no more room: all names together are of four billion bytes at most.
    pub fn number(&mut self, name: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        let is_it = |(known, _): &(Name, u32)| known.of(&self.text) == name;
        if let Some((_, number)) = self.numbers.find(hash, is_it) {
            return Some(*number);
        }
        let new = Name {
            start: u32::try_from(self.text.len()).ok()?,
            length: u32::try_from(name.len()).ok()?,
        };
        // There are no more than bytes of them.
        let number = self.names.len() as u32;
        self.text.extend_from_slice(name);
        self.names.push(new);
        let (text, hasher) = (&self.text, &self.hasher);
        let rehash = |(known, _): &(Name, u32)| hasher.hash_one(known.of(text));
        self.numbers.insert_unique(hash, (new, number), rehash);
        Some(number)
    }

    pub const fn len(&self) -> usize {
        self.names.len()
    }

    /// As it is shown.
    pub fn name(&self, number: usize) -> String {
        String::from_utf8_lossy(self.names[number].of(&self.text)).into_owned()
    }

    /// Without what finds numbers by names.
    pub fn finished(self) -> Self {
        Self {
            numbers: HashTable::new(),
            ..self
        }
    }
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
