//! Bodies: statements by what is in scope, and a value at the end.

use super::Grammar;
use super::answer::Answer;
use super::parameter::{Binding, State};

/// How deep blocks are nested.
const DEEPEST: u32 = 3;

/// What may be written at a place.
#[derive(Clone, Copy)]
pub struct Place {
    pub depth: u32,
    /// Whether `return` and `?` leave the function.
    pub leaves: bool,
    pub waits: bool,
    /// Whether it is run once at most, so that values can be moved.
    pub moves: bool,
}

impl Place {
    pub fn deeper(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    pub fn is_deepest(self) -> bool {
        self.depth >= DEEPEST
    }
}

/// Returns `true` if no later binding shadows this one.
pub fn is_visible(scope: &[Binding], at: usize) -> bool {
    scope.iter().rposition(|other| other.name == scope[at].name) == Some(at)
}

pub struct Body<'g> {
    pub g: &'g mut Grammar,
    pub answer: Answer,
    pub scope: Vec<Binding>,
}

impl Body<'_> {
    /// Returns the lines of a whole body, without its braces. The bindings of `used` are used in any case.
    pub fn write(mut self, used: &[String]) -> Vec<String> {
        let mut lines = vec!["enter();".to_owned()];
        let used = self.scope.iter().filter(|binding| used.contains(&binding.name));
        lines.extend(used.filter_map(Binding::used));
        let place = Place {
            depth: 0,
            leaves: true,
            waits: true,
            moves: true,
        };
        let count = self.g.random.below(8);
        self.statements(count, place, &mut lines);
        lines.extend(self.tail());
        lines
    }

    /// Returns statements in a block of their own: what they bind is out of scope after it.
    pub fn block(&mut self, count: u64, place: Place) -> Vec<String> {
        let outer = self.scope.len();
        let mut lines = Vec::new();
        self.statements(count, place.deeper(), &mut lines);
        self.scope.truncate(outer);
        lines
    }

    fn statements(&mut self, count: u64, place: Place, lines: &mut Vec<String>) {
        for _ in 0..count {
            lines.extend(self.statement(place));
        }
    }

    pub fn value(&mut self) -> String {
        self.answer.value(self.g, &self.scope)
    }

    /// Returns what the body ends with.
    fn tail(&mut self) -> Vec<String> {
        let value = self.value();
        if self.answer.is_unit() && self.g.one_in(2) {
            return Vec::new();
        }
        let other = self.value();
        // A value that is moved in one way to end is not in the other: each is a branch.
        match self.g.random.below(10) {
            0 => vec![format!("return {value};")],
            1 => vec![format!("return {value}")],
            2 => vec![
                "if input() > 1 {".to_owned(),
                value,
                "} else {".to_owned(),
                other,
                "}".to_owned(),
            ],
            3 => vec![
                "match step(input()) {".to_owned(),
                format!("Ok(_) => {value},"),
                format!("Err(_) => return {other},"),
                "}".to_owned(),
            ],
            4 => vec!["{".to_owned(), value, "}".to_owned()],
            // The type of a variable is found before what it is coerced to.
            5 if !value.contains("Box::new") => vec![format!("let answer = {value};"), "answer".to_owned()],
            6 => {
                let made = self.g.made("tail");
                vec![
                    format!("match {made}.touch() {{"),
                    format!("4 => {value},"),
                    format!("_ => {other},"),
                    "}".to_owned(),
                ]
            }
            _ => vec![value],
        }
    }

    /// Returns a binding in scope for which `wanted` holds.
    pub fn find(&mut self, wanted: impl Fn(&Binding) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.scope.len())
            .filter(|at| is_visible(&self.scope, *at) && wanted(&self.scope[*at]) && !self.scope[*at].is_ignored())
            .collect();
        match found.len() {
            0 => None,
            len => Some(found[self.g.random.below(len as u64) as usize]),
        }
    }

    pub fn set(&mut self, at: usize, state: State) {
        self.scope[at].state = state;
    }
}
