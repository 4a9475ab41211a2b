use rate_limit::limit_per_time;

struct Portal;

#[limit_per_time(5, "10m", key = user)]
impl Portal {
    fn login(&self, user: u64) -> u64 {
        user
    }
}

fn main() {
    let _ = Portal.login(7);
}
