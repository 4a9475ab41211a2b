//! The values that generated functions take, make and drop.

use std::time::Duration;

use super::answers::{Own, Show};
use super::record::{input, note};

pub const ONE: u32 = 1;
pub const TWO: u32 = 2;
pub const THREE: u32 = 3;
pub const HOUR: Duration = Duration::from_secs(3_600);

/// Notes when it is made, used and dropped.
#[derive(Debug)]
pub struct D(pub &'static str);

impl Drop for D {
    fn drop(&mut self) {
        note(format_args!("drop {}", self.0));
    }
}

impl D {
    pub fn new(name: &'static str) -> Self {
        note(format_args!("new {name}"));
        Self(name)
    }

    pub fn id(&self) -> u32 {
        self.0.len() as u32
    }

    pub fn text(&self) -> &str {
        self.0
    }

    pub fn change(&mut self) {
        note(format_args!("change {}", self.0));
    }

    pub fn peek(&self) -> Option<u32> {
        note(format_args!("peek {}", self.0));
        (input() % 2 == 0).then(|| self.id())
    }

    pub async fn later(&self) -> u32 {
        tokio::task::yield_now().await;
        self.touch()
    }
}

/// What generic functions ask of their arguments.
pub trait Touch: Show + Send + Sync {
    fn touch(&self) -> u32;
}

impl Touch for D {
    fn touch(&self) -> u32 {
        note(format_args!("use {}", self.0));
        self.id()
    }
}

#[derive(Debug)]
pub struct Pair {
    pub x: D,
    pub y: D,
}

#[derive(Debug)]
pub struct Wrap(pub D);

#[derive(Debug)]
pub struct Outer {
    pub pair: Pair,
    pub n: u32,
}

#[derive(Debug)]
pub enum Side {
    Left(D),
    Right(D),
}

pub fn consume(value: D) {
    note(format_args!("consume {}", value.0));
}

pub async fn consume_later(value: D) {
    tokio::task::yield_now().await;
    note(format_args!("consume {}", value.0));
}

pub fn step(at: u32) -> Result<u32, Own> {
    note(format_args!("step {at}"));
    if input() == at { Err(Own(at)) } else { Ok(at + 1) }
}

pub fn maybe(at: u32) -> Option<u32> {
    note(format_args!("maybe {at}"));
    (input() != at).then_some(at)
}

#[must_use]
pub fn important(n: u32) -> u32 {
    n
}

#[deprecated]
pub fn outdated() {
    note("outdated");
}
