//! Measures rate-limit beside what a user would take instead, on the same work in one run.
//!
//! ```text
//! cargo run --release -p rate-limit-benches -- GROUP [--json] [--brief]
//! ```

mod attack;
mod build;
mod embedded;
mod handler;
mod log;
mod measure;
mod redis;
mod row;
mod support;

use clap::{Parser, ValueEnum};

use crate::row::Table;

/// Measures rate-limit beside what a user would take instead, and tells the ratios: below 1 is better than the peer.
#[derive(Parser)]
#[command(name = "rate-limit-benches")]
struct Args {
    /// What to measure
    group: Group,
    /// Print one JSON object a row instead of a table
    #[arg(long)]
    json: bool,
    /// Measure in fewer and shorter rounds: to see that it works, not to compare
    #[arg(long)]
    brief: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Group {
    /// Refusals of one key at full speed, with a store in Redis
    Attack,
    /// Compiling annotated axum handlers beside plain ones
    Build,
    /// Decisions in memory beside governor, trypema and leaky-bucket
    Embedded,
    /// An axum handler beside the plain one, and beside tower_governor
    Handler,
    /// `rate-limit advise` and `replay` on ten million events beside an awk program that counts them
    Log,
    /// Decisions in Redis beside scripts that a user would take instead
    Redis,
}

fn main() {
    let args = Args::parse();
    let table = Table::new(args.json);
    match args.group {
        Group::Attack => attack::run(args.brief, &table),
        Group::Build => build::run(args.brief, &table),
        Group::Embedded => embedded::run(args.brief, &table),
        Group::Handler => handler::run(args.brief, &table),
        Group::Log => log::run(args.brief, &table),
        Group::Redis => redis::run(args.brief, &table),
    }
}
