use rate_limit::{Rejection, limit_per_time};

struct User {
    id: u64,
}

#[limit_per_time(5, "10m", key = user, reset_on_success)]
async fn login(user: User) -> Result<u64, Rejection> {
    Ok(user.id)
}

fn main() {
    let _ = login(User { id: 7 });
}
