//! Functions made by chance, in the grammar of what the attribute is written on.

mod answer;
mod baits;
mod body;
mod host;
mod limit;
mod moves;
mod parameter;
mod receiver;
mod shape;
mod statements;
mod text;
mod uses;

pub use self::shape::case;

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    Of2021,
    Of2024,
}

impl Edition {
    pub fn year(self) -> &'static str {
        match self {
            Self::Of2021 => "2021",
            Self::Of2024 => "2024",
        }
    }
}

/// What a case is made by: chance, and what holds for all of its parts.
pub struct Grammar {
    pub random: Random,
    pub edition: Edition,
    names: usize,
    /// Whether all of it has to be `Send`.
    send: bool,
    /// The lifetime of references, `'a` and a space, or nothing where it is left out.
    life: &'static str,
    /// Whether a pattern may refer to a part of its argument, as one of an `async fn` may.
    refers: bool,
    /// What type parameters are asked for beside their trait.
    bound: &'static str,
}

impl Grammar {
    pub fn new(random: Random, edition: Edition) -> Self {
        Self {
            random,
            edition,
            names: 0,
            send: false,
            life: "",
            refers: true,
            bound: "",
        }
    }

    /// Returns a name that nothing else has.
    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Returns a droppable value, by a name that its events tell.
    fn made(&mut self, prefix: &str) -> String {
        format!("D::new(\"{}\")", self.fresh(prefix))
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.random.one_in(chances)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.random.one_of(choices)
    }
}
