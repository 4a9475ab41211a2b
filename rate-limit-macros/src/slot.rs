//! The place of one argument: empty, or filled once.

use proc_macro2::Span;
use syn::{Error, Result};

/// An argument that was given, and where.
#[derive(Clone)]
struct Given<T> {
    span: Span,
    value: T,
}

/// The place of an argument.
#[derive(Clone)]
pub(crate) struct Slot<T> {
    name: &'static str,
    given: Option<Given<T>>,
}

impl<T> Slot<T> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, given: None }
    }

    /// Fills the place. A second time is an error, at the second.
    pub(crate) fn fill(&mut self, span: Span, value: T) -> Result<()> {
        if self.given.is_some() {
            return Err(Error::new(
                span,
                format_args!("`{}` is given twice: leave out one of them", self.name),
            ));
        }
        self.given = Some(Given { span, value });
        Ok(())
    }

    /// Where it was given.
    pub(crate) fn span(&self) -> Option<Span> {
        self.given.as_ref().map(|given| given.span)
    }

    /// Takes over what another place for the same argument holds: one of the two may.
    pub(crate) fn merge(&mut self, other: &mut Self) -> Result<()> {
        match other.given.take() {
            Some(given) => self.fill(given.span, given.value),
            None => Ok(()),
        }
    }

    pub(crate) fn value(self) -> Option<T> {
        self.given.map(|given| given.value)
    }
}
