//! The place of one argument: empty, or filled once.

use proc_macro2::Span;
use syn::{Error, Result};

/// An argument that was given, and where.
pub(crate) struct Given<T> {
    pub(crate) span: Span,
    pub(crate) value: T,
}

/// The place of an argument.
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

    pub(crate) fn given(self) -> Option<Given<T>> {
        self.given
    }

    pub(crate) fn value(self) -> Option<T> {
        self.given.map(|given| given.value)
    }
}
