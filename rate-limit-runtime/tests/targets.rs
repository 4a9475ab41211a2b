//! Which targets the crate refuses to be built for.

use std::process::Command;

/// A target without a clock is refused when the crate is built. None is installed here, so the compiler tells what it would set there.
#[test]
fn f_40_a_target_without_a_clock_is_refused_and_wasip1_is_not() {
    let (_, guarded) = include_str!("../src/lib.rs")
        .split_once("#[cfg(all(")
        .expect("there is a guard");
    let (conditions, error) = guarded.split_once("))]").expect("it ends");
    assert!(error.trim_start().starts_with("compile_error!("), "{error}");
    let conditions: Vec<String> = conditions
        .split(", ")
        .map(|condition| condition.replace(" = ", "="))
        .collect();
    let refused = |target| {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let printed = Command::new(rustc)
            .args(["--print", "cfg", "--target", target])
            .output();
        let printed = String::from_utf8(printed.expect("the compiler runs").stdout).expect("it is text");
        let set: Vec<&str> = printed.lines().collect();
        assert!(
            set.contains(&"panic=\"abort\"") || set.contains(&"panic=\"unwind\""),
            "{target}: {set:?}"
        );
        conditions.iter().all(|condition| set.contains(&&**condition))
    };
    assert!(refused("wasm32-unknown-unknown"));
    assert!(refused("wasm64-unknown-unknown"));
    for target in [
        "wasm32-wasip1",
        "wasm32-unknown-emscripten",
        "x86_64-unknown-linux-musl",
        "x86_64-unknown-linux-gnu",
    ] {
        assert!(!refused(target), "{target}");
    }
}
