//! What a program is told at its start. It is a binary of its own: all of its functions are verified, and a warning comes once a
//! process.

use std::time::Duration;

use rate_limit::{Limiter, MemoryStore, Policies, Policy, Rejection, StoreErrorKind, limit_per_time};

#[path = "behaviour/log.rs"]
mod log;
#[path = "support/remote_store.rs"]
#[allow(dead_code, reason = "it need not fail here")]
mod remote_store;

use remote_store::RemoteStore;

macro_rules! functions {
    ($($(#[limit_per_time($($limit:tt)*)])+ $name:ident;)*) => {$(
        $(#[limit_per_time($($limit)*)])+
        #[allow(dead_code)]
        pub async fn $name(user: u64) -> Result<u64, Rejection> {
            Ok(user)
        }
    )*};
}

const SEVEN: u32 = 7;

mod over_http {
    use super::*;

    functions! {
        #[limit_per_time(10, "1h", key = "everybody", name = "unlike numbers")] numbers;
        #[limit_per_time(5, "1h", key = "everybody", name = "unlike algorithms")] algorithms;
        #[limit_per_time(5, "1h", key = "everybody", name = "unlike second limits")] #[limit_per_time(9, "1d", key = "everybody")] second;
        #[limit_per_time(policy = "read", key = "everybody", name = "unlike policies")] policies;
        #[limit_per_time(5, "1h", key = "everybody", block = "1h", name = "unlike blocks")] blocks;
        #[limit_per_time(5, "1h", key = "everybody", name = "alike")] #[limit_per_time(8, "1d", key = "everybody")] alike;
        #[limit_per_time(count = SEVEN, window = "1h", key = "everybody", name = "unknown before it is called")] unknown;
    }
}

mod over_grpc {
    use super::*;

    functions! {
        #[limit_per_time(3, "1h", key = "everybody", name = "unlike numbers")] numbers;
        #[limit_per_time(algorithm = fixed_window, count = 5, window = "1h", key = "everybody", name = "unlike algorithms")] algorithms;
        #[limit_per_time(5, "1h", key = "everybody", name = "unlike second limits")] #[limit_per_time(8, "1d", key = "everybody")] second;
        #[limit_per_time(policy = "write", key = "everybody", name = "unlike policies")] policies;
        #[limit_per_time(5, "1h", key = "everybody", name = "unlike blocks")] blocks;
        #[limit_per_time(5, "60m", key = "everybody", name = "alike")] alike;
        #[limit_per_time(9, "1h", key = "everybody", name = "unknown before it is called")] unknown;
    }
}

fn window(count: u32) -> Policy {
    Policy::sliding_window(count, Duration::from_secs(3_600))
}

#[test]
fn f_01_functions_of_one_name_have_one_limit() {
    let named = |read, write| Policies::new().with("read", window(read)).with("write", window(write));
    let limiter = Limiter::builder()
        .policies(named(2, 3))
        .build()
        .expect("no secret is set");
    let error = limiter.verify().expect_err("they are unlike").to_string();
    let lines: Vec<&str> = error.lines().collect();
    let unlike = ["algorithms", "blocks", "numbers", "policies", "second limits"];
    assert_eq!(lines.len(), unlike.len(), "{error}");
    for (line, what) in lines.iter().zip(unlike) {
        assert!(line.contains(&format!("`unlike {what}")), "{line}");
        for module in ["start::over_http", "start::over_grpc"] {
            assert!(line.contains(module), "{line}");
        }
        assert!(
            line.contains("give them one limit, or one of them another name"),
            "{line}"
        );
    }
    assert!(
        lines[2].contains("10 in 1h") && lines[2].contains("3 in 1h"),
        "{}",
        lines[2]
    );
    assert!(
        lines[4].contains("9 in 1d") && lines[4].contains("8 in 1d"),
        "{}",
        lines[4]
    );

    // An entry by the name holds for both, and what two policies say alike is one limit.
    let one = |policies: Policies| {
        [
            "unlike numbers",
            "unlike algorithms",
            "unlike blocks",
            "unlike second limits#2",
        ]
        .into_iter()
        .fold(policies, |policies, name| policies.with(name, window(4)))
    };
    limiter.set_policies(one(named(2, 2))).expect("all are there");
    let verified = limiter.verify();
    assert!(verified.is_ok(), "{verified:?}");
}

#[test]
fn f_60_a_store_that_others_read_without_a_secret_is_warned_of_once() {
    log::install();
    let build = |remote: bool| {
        let memory = MemoryStore::new();
        let builder = match remote {
            true => Limiter::builder().store(RemoteStore::new(memory, StoreErrorKind::Timeout)),
            false => Limiter::builder().store(memory),
        };
        log::take();
        builder.build().expect("no secret is set");
        log::take()
            .iter()
            .filter(|line| line.contains("RATE_LIMIT_SECRET"))
            .count()
    };
    assert_eq!([false, true, true].map(build), [0, 1, 0]);
}
