#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use async_trait::async_trait;
use rate_limit::limit_per_time;
use support::{Error, run};

#[async_trait]
trait Api: Sync {
    async fn get(&self, user: u64) -> Result<u64, Error>;

    async fn with_default(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

struct OnMethods(u64);

#[async_trait]
impl Api for OnMethods {
    #[limit_per_time(9, "1h", key = (self.0, user))]
    #[limit_per_time(1, "1h", key = (self.0, user))]
    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user + self.0)
    }

    #[limit_per_time(1, "1h", key = user, skip_if = self.0 == 0, refund_on_error)]
    async fn with_default(&self, user: u64) -> Result<u64, Error> {
        if user == self.0 { Err(Error::Wrong) } else { Ok(user) }
    }
}

struct Above;

#[limit_per_time(1, "1h", key = user)]
#[async_trait]
impl Api for Above {
    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

struct Below;

#[async_trait]
#[limit_per_time(1, "1h", key = user)]
impl Api for Below {
    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[limit_per_time(1, "1h", key = user)]
#[async_trait]
trait LimitedAbove: Sync {
    async fn list(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }

    async fn get(&self, user: u64) -> Result<u64, Error>;
}

#[async_trait]
#[limit_per_time(1, "1h", key = user)]
trait LimitedBelow: Sync {
    async fn list(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }

    async fn get(&self, user: u64) -> Result<u64, Error>;
}

#[limit_per_time(key = user)]
#[async_trait]
impl LimitedAbove for Above {
    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

#[async_trait]
#[limit_per_time(key = user)]
impl LimitedBelow for Below {
    async fn get(&self, user: u64) -> Result<u64, Error> {
        Ok(user)
    }
}

fn main() {
    let api = OnMethods(1);
    assert_eq!([run(api.get(7)), run(api.get(7))], [Ok(8), Err(Error::Limited)]);
    assert_eq!(run(OnMethods(2).get(7)), Ok(9));
    assert_eq!(
        [run(api.with_default(1)), run(api.with_default(1))],
        [Err(Error::Wrong), Err(Error::Wrong)]
    );
    assert_eq!(
        [run(api.with_default(7)), run(api.with_default(7))],
        [Ok(7), Err(Error::Limited)]
    );
    assert_eq!(run(OnMethods(0).with_default(7)), Ok(7));
    let above: &dyn Api = &Above;
    assert_eq!([run(above.get(7)), run(above.get(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(above.with_default(7)), run(above.with_default(7))], [Ok(7), Ok(7)]);
    let below: &dyn Api = &Below;
    assert_eq!([run(below.get(7)), run(below.get(7))], [Ok(7), Err(Error::Limited)]);
    let above: &dyn LimitedAbove = &Above;
    assert_eq!([run(above.get(7)), run(above.get(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(above.list(7)), run(above.list(7))], [Ok(7), Err(Error::Limited)]);
    let below: &dyn LimitedBelow = &Below;
    assert_eq!([run(below.get(7)), run(below.get(7))], [Ok(7), Err(Error::Limited)]);
    assert_eq!([run(below.list(7)), run(below.list(7))], [Ok(7), Err(Error::Limited)]);
}
