//! Errors, collected so that all are reported together.

use syn::Error;

/// What is wrong so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    pub(crate) fn push(&mut self, error: Error) {
        let errors = std::mem::take(self);
        self.0 = Some(errors.and(error));
    }

    /// The value, if nothing is wrong with it; else notes what is.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// All that is wrong, this too.
    pub(crate) fn and(self, error: Error) -> Error {
        match self.0 {
            Some(mut errors) => {
                errors.combine(error);
                errors
            }
            None => error,
        }
    }

    /// `value`, if nothing was wrong.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}
