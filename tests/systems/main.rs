//! The examples as a person runs them: as processes, over real HTTP.

#[path = "../sql/database.rs"]
#[allow(dead_code, reason = "the tests of the store use all of it")]
mod database;
#[path = "../support/mod.rs"]
mod support;

mod admin;
mod browser;
mod example;
mod login;
mod login_guard;
mod portal;
mod portal_guard;
mod quickstart;
mod reading;
mod visits;
