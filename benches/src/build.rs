//! Crates of annotated axum handlers beside crates of plain ones: the CPU time of `cargo build` and all that it starts, when nothing but
//! the crate itself is to be compiled. Debug builds, which are those that one waits for.

mod program;
mod workspace;

use self::program::Handlers;
use self::workspace::Workspace;
use crate::measure::alternate;
use crate::row::{Row, Table, Unit};

/// The handlers of a crate. None: what it takes to link the runtime.
const COUNTS: [usize; 3] = [0, 50, 200];

pub fn run(brief: bool, table: &Table) {
    let rounds = if brief { 1 } else { 9 };
    let workspace = Workspace::build(&COUNTS);
    for count in COUNTS {
        let medians = alternate(
            rounds,
            || workspace.rebuild(Handlers::Annotated, count),
            || workspace.rebuild(Handlers::Plain, count),
        );
        let name = format!("build, {count} axum handlers, half of them settled");
        let row = Row::new(name, Unit::Cost("s"), medians, rounds);
        table.add(&if count == 200 { row.goal(2.0) } else { row });
    }
}
