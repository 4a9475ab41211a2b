use rate_limit::limit_per_time;

#[limit_per_time(5, "10m", key = user)]
unsafe extern "C" {
    safe fn getpid() -> i32;
}

fn main() {
    let _ = getpid();
}
