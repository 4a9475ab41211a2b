#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use rate_limit::limit_per_time;
use support::{Error, run};

struct Portal {
    account: u64,
}

#[limit_per_time(1, "1h", key = self.account)]
/// With a comment between.
#[limit_per_time(2, "1d", key = "everybody")]
impl Portal {
    async fn grades(&self) -> Result<u64, Error> {
        Ok(self.account)
    }

    #[limit_per_time(3, "1h", key = self.account)]
    async fn nearest(&self) -> Result<u64, Error> {
        Ok(self.account)
    }
}

fn main() {
    let grades = |account| run(Portal { account }.grades());
    assert_eq!([grades(1), grades(1)], [Ok(1), Err(Error::Limited)]);
    assert_eq!([grades(2), grades(3)], [Ok(2), Err(Error::Limited)], "two in a day");
    let nearest = || run(Portal { account: 1 }.nearest());
    assert_eq!(
        [nearest(), nearest(), nearest(), nearest()],
        [Ok(1), Ok(1), Ok(1), Err(Error::Limited)]
    );
}
