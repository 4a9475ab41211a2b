//! The attribute of the crate `rate-limit`, which re-exports it and holds its manual: name that one.
//!
//! It works in stages: `args` and `target` read tokens, `model` decides what is meant and whether it can be, and
//! `expand` writes tokens.

#![forbid(unsafe_code)]

mod args;
mod attrs;
mod constants;
mod error;
mod expand;
mod future;
mod groups;
mod items;
mod model;
mod neighbours;
mod params;
mod ret;
mod slot;
mod suggest;
mod target;
mod window;

use proc_macro::TokenStream;

/// Limits how often an async function runs for each client. The manual is at its re-export in `rate-limit`.
#[proc_macro_attribute]
pub fn limit_per_time(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::limit_per_time(args.into(), item.into()).into()
}
