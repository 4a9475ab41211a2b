//! What the compiler and clippy warn of on both sides.

use std::collections::BTreeSet;

use crate::batch::{Batch, Difference};
use crate::case::{Case, Side};
use crate::toolchain::{Compiled, Diagnostic};

/// Where a lint is not the same with the attribute.
#[derive(Clone, Copy)]
enum Where {
    Everywhere,
    /// Where the body is within a block that owns the arguments.
    Wrapped,
    /// Where `#[instrument]` or `#[async_trait]` puts the body into a block too.
    Rewritten,
    /// Where a macro makes the function of fragments.
    Fragments,
}

const EXCEPTIONS: [(&str, Where); 10] = [
    // It waits for the store.
    ("clippy::unused_async", Where::Everywhere),
    // A mention of an argument is a use of it, or its own warning.
    ("clippy::collection_is_never_read", Where::Wrapped),
    ("clippy::needless_pass_by_ref_mut", Where::Wrapped),
    ("unused_assignments", Where::Wrapped),
    ("unused_variables", Where::Wrapped),
    // The block is of an expansion, which clippy leaves out.
    ("clippy::manual_async_fn", Where::Wrapped),
    // It points at `async` instead of the macro's call.
    ("clippy::too_many_arguments", Where::Fragments),
    // The mention of an argument that a macro was given is a use of it.
    ("clippy::ptr_arg", Where::Fragments),
    // It warns of what stands in two blocks, and not of what stands in one.
    ("clippy::items_after_statements", Where::Rewritten),
    // These attributes hide it in the plain function, and not in a block of ours.
    ("clippy::needless_return", Where::Rewritten),
];

fn is_excepted(lint: &str, case: &Case) -> bool {
    EXCEPTIONS.iter().any(|(excepted, place)| {
        *excepted == lint
            && match place {
                Where::Everywhere => true,
                Where::Wrapped => case.is_wrapped,
                Where::Rewritten => case.is_rewritten,
                Where::Fragments => case.is_of_fragments,
            }
    })
}

/// A warning by what has to be the same: its case, lint, place within the case, and message.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Warning<'a> {
    case: u64,
    lint: &'a str,
    place: String,
    message: String,
}

pub fn differences(batch: &Batch, compiled: &Compiled) -> Vec<Difference> {
    let [plain, limited] = Side::BOTH.map(|side| warnings(batch, compiled, side));
    let lost = plain
        .difference(&limited)
        .map(|warning| ("no longer warned of", warning));
    let new = limited.difference(&plain).map(|warning| ("warned of", warning));
    let counts = |(_, warning): &(&str, &Warning<'_>)| {
        let case = batch.cases.iter().find(|case| case.number == warning.case);
        case.is_some_and(|case| !is_excepted(warning.lint, case))
    };
    let difference = |(what, warning): (&str, &Warning<'_>)| Difference {
        case: warning.case,
        what: format!("{what} {} at {}: {}", warning.lint, warning.place, warning.message),
    };
    lost.chain(new).filter(counts).map(difference).collect()
}

fn warnings<'a>(batch: &Batch, compiled: &'a Compiled, side: Side) -> BTreeSet<Warning<'a>> {
    let warnings = batch.of_side(side, &compiled.diagnostics).into_iter();
    warnings
        .map(|(case, diagnostic)| Warning {
            case,
            lint: &diagnostic.code,
            place: place(diagnostic, batch.starts[&case]),
            message: diagnostic.message.replace(side.name(), "side"),
        })
        .collect()
}

/// Returns the place of a diagnostic relative to `start`, the first line of its case.
fn place(diagnostic: &Diagnostic, start: u64) -> String {
    let spans = diagnostic.spans.iter().map(|span| {
        let ((from, column), (to, end)) = (span.start, span.end);
        let [from, to] = [from, to].map(|line| (line + 1).saturating_sub(start));
        format!("{from}:{column} to {to}:{end}")
    });
    spans.collect::<Vec<_>>().join(", ")
}
