//! Limited functions in a crate that makes it hard for their expansion: the dependency is renamed, all lints are
//! errors, names that generated code would lean on mean something else, and the edition is the one before.
#![forbid(unsafe_code)]
#![deny(
    warnings,
    missing_docs,
    unused,
    unreachable_code,
    clippy::all,
    clippy::pedantic,
    clippy::restriction
)]
// What is allowed concerns what is written here, and never what the attribute writes: these lints do not look into it.
#![allow(
    clippy::blanket_clippy_restriction_lints,
    reason = "the point is to have all of them; those that contradict each other cannot both hold"
)]
#![allow(
    clippy::implicit_return,
    clippy::arbitrary_source_item_ordering,
    clippy::missing_trait_methods,
    clippy::missing_inline_in_public_items,
    clippy::exhaustive_structs,
    clippy::missing_errors_doc,
    clippy::manual_async_fn,
    clippy::double_must_use,
    reason = "a matter of style, of the closures, items and documentation of this crate"
)]

pub mod arguments;
pub mod bare;
pub mod blocks;
pub mod fragments;
pub mod free;
pub mod futures;
pub mod hostile;
pub mod methods;
pub mod options;
pub mod responses;
pub mod stacked;
