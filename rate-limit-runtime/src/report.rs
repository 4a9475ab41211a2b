//! What was decided within a part of the program, for who answers its caller.

use std::cell::Cell;
use std::future::Future;

use crate::decision::Decision;
use crate::method::Method;
use crate::permit::Permit;
use crate::rejection::Rejection;
use crate::scopes::Scope;

tokio::task_local! {
    static REPORT: Cell<Option<Report>>;
}

/// One decision, by the name of its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) decision: Decision,
}

/// Runs a future, and tells the tightest decision of all that were made in it.
#[cfg_attr(not(any(feature = "actix-web", feature = "axum")), allow(dead_code))]
pub(crate) fn collect<F: Future>(future: F) -> impl Future<Output = (F::Output, Option<Report>)> {
    Scope::new(REPORT.scope(Cell::new(None), async {
        let output = future.await;
        (output, REPORT.with(Cell::take))
    }))
}

/// Notes what was decided on a call, if somebody collects that.
pub(crate) fn note_answer(method: &Method, answer: &Result<Permit, Rejection>) {
    let decision = match answer {
        Ok(permit) => permit.decision(),
        Err(rejection) => rejection.decision(),
    };
    let Some(decision) = decision else { return };
    let _ = REPORT.try_with(|report| {
        let tighter = report.get().is_none_or(|before| {
            (decision.allowed, decision.remaining) < (before.decision.allowed, before.decision.remaining)
        });
        if tighter {
            let (name, decision) = (method.label(), *decision);
            report.set(Some(Report { name, decision }));
        }
    });
}
