use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
enum Login {
    User(u64),
}

fn main() {
    let Login::User(_) = Login::User(7);
}
