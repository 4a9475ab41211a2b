//! A refusal over HTTP, whatever the framework.

pub(crate) mod problem;
