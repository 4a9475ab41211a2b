use rate_limit::{Rejection, limit_per_time};

struct User {
    id: u64,
}

impl User {
    fn into_id(self) -> u64 {
        self.id
    }
}

#[limit_per_time(5, "10m", key = user.into_id())]
async fn login(user: User) -> Result<u64, Rejection> {
    Ok(user.id)
}

fn main() {
    let _ = login(User { id: 7 });
}
