use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
struct Login {
    user: u64,
}

fn main() {
    let _ = Login { user: 7 }.user;
}
