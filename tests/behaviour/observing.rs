//! A limit that observes: it reports, and refuses nobody.

use rate_limit::limit_per_time;

use crate::log;
use crate::support::{Failure, World, refused};

#[limit_per_time(2, "1m", key = user, observe)]
#[limit_per_time(4, "1m", key = user)]
async fn observed(user: &str) -> Result<(), Failure> {
    let _ = user;
    Ok(())
}

#[tokio::test]
async fn a_limit_that_observes_reports_whom_it_would_refuse() {
    let world = World::new();
    let mut reports = Vec::new();
    for _ in 0..4 {
        log::take();
        assert_eq!(world.run(observed("alice@example.org")).await, Ok(()));
        reports.push(log::take());
    }
    assert!(
        refused(&world.run(observed("alice@example.org")).await),
        "the other limit holds"
    );
    assert_eq!(reports[..2], [[""; 0], [""; 0]]);
    let report = &reports[2];
    assert_eq!(report.len(), 1, "{report:?}");
    assert!(report[0].contains("would have refused"), "{report:?}");
    assert!(
        report[0].contains("observing::observed") && report[0].contains("2 in 1m"),
        "{report:?}"
    );
    assert!(!report[0].contains("alice"), "no identity in the log");
    assert_eq!(reports[3], [""; 0], "once a minute");
}
