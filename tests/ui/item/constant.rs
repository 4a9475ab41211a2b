use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
const LOGIN: u64 = 7;

fn main() {
    let _ = LOGIN;
}
