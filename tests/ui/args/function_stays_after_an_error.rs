use rate_limit::{Rejection, limit_per_time};

struct Portal;

impl Portal {
    const LIMIT: u32 = 5;

    #[limit_per_time(Self::LIMIT, "10 mins", key = user)]
    async fn login<const N: usize>(&self, user: [u8; N], (first, _): (u8, u8)) -> Result<u8, Rejection> {
        Ok(user.first().copied().unwrap_or(first))
    }
}

// Were the method gone, or changed, the calls would be errors too.
fn main() {
    let _ = Portal.login([7; 2], (1, 2));
    let _ = Portal::login::<3>;
    let _ = Portal::LIMIT;
}
