//! The `self` of a method.

use super::Grammar;
use super::parameter::{Binding, Kind};

pub struct Receiver {
    pub written: &'static str,
    /// The value that the method is called on, of `host`.
    pub argument: &'static str,
    /// What `host` is put into before.
    pub owner: Option<&'static str>,
    pub binding: Binding,
    pub borrows: bool,
}

impl Receiver {
    pub fn new(g: &mut Grammar, by_async_trait: bool) -> Self {
        let forms: &[(&str, &str, Kind)] = &[
            ("&self", "host", Kind::Host),
            ("&self", "host", Kind::Host),
            ("&mut self", "host", Kind::Host),
            ("self", "host", Kind::OwnedHost),
            ("mut self", "host", Kind::OwnedHost),
            ("self: Box<Self>", "Box::new(host)", Kind::Host),
            ("self: Arc<Self>", "Arc::new(host)", Kind::Host),
            ("self: &Self", "(&host)", Kind::Host),
            ("self: &Arc<Self>", "(&shared)", Kind::Host),
            ("self: Pin<&mut Self>", "Pin::new(&mut host)", Kind::Host),
            ("self: Rc<Self>", "Rc::new(host)", Kind::Host),
        ];
        let usual = match (by_async_trait, g.send) {
            (true, _) => 4,
            (false, true) => forms.len() - 1,
            (false, false) => forms.len(),
        };
        let (written, argument, kind) = g.one_of(&forms[..usual]);
        let written = match (written, g.life) {
            ("&self", "'a ") => "&'a self",
            ("&mut self", "'a ") => "&'a mut self",
            ("self: &Self", "'a ") => "self: &'a Self",
            ("self: &Arc<Self>", "'a ") => "self: &'a Arc<Self>",
            ("self: Pin<&mut Self>", "'a ") => "self: Pin<&'a mut Self>",
            (written, _) => written,
        };
        Self {
            written,
            argument,
            owner: (argument == "(&shared)").then_some("let shared = Arc::new(host);"),
            binding: Binding::new("self", kind),
            borrows: written.contains('&'),
        }
    }

    /// As it is declared in a trait, where nothing binds it.
    pub fn declared(&self) -> &'static str {
        self.written.strip_prefix("mut ").unwrap_or(self.written)
    }
}
