//! The examples as a person runs them: as processes, over real HTTP.

#[path = "../support/mod.rs"]
mod support;

mod browser;
mod example;
mod login;
mod login_guard;
mod portal;
mod quickstart;
mod visits;
