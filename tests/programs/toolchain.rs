//! The compiler with clippy's lints, and the crates that are built already.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::grammar::Edition;

/// What a generated program names.
const CRATES: [&str; 5] = ["async_trait", "axum", "rate_limit", "tokio", "tracing"];

/// Lints beside those that are on by themselves.
const LINTS: [&str; 9] = [
    "clippy::all",
    "clippy::pedantic",
    "clippy::nursery",
    "let_underscore_drop",
    "single_use_lifetimes",
    "trivial_casts",
    "unreachable_pub",
    "unused_lifetimes",
    "unused_qualifications",
];

pub struct Toolchain {
    driver: PathBuf,
    /// `NAME=PATH` of each crate.
    externs: Vec<String>,
}

/// What the compiler said.
pub struct Compiled {
    pub succeeded: bool,
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
pub struct Diagnostic {
    pub is_error: bool,
    /// The lint, or the code of an error.
    pub code: String,
    pub message: String,
    pub rendered: String,
    /// The primary ones.
    pub spans: Vec<Span>,
}

#[derive(Debug)]
pub struct Span {
    pub file: PathBuf,
    pub start: (u64, u64),
    pub end: (u64, u64),
}

impl Toolchain {
    /// Asks cargo where the crates are that the tests of the workspace are linked with, which builds nothing that is there.
    pub fn find() -> Self {
        let built = cargo()
            .args(["test", "--no-run", "--locked", "--offline", "--message-format=json"])
            .args(["--workspace", "--all-features", "--test", "programs"])
            .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
            .output()
            .expect("cargo runs");
        let log = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "the crates do not build: {log}");
        let messages = String::from_utf8(built.stdout).expect("cargo writes text");
        let artifacts: Vec<Value> = messages
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let externs = CRATES
            .iter()
            .map(|name| format!("{name}={}", artifact(&artifacts, name)))
            .collect();
        let driver = sysroot().join("bin/clippy-driver");
        assert!(driver.exists(), "this test needs clippy: `rustup component add clippy`");
        Self { driver, externs }
    }

    /// Compiles the source file `main` with clippy's lints, and writes the executable to `program`.
    pub fn compile(&self, main: &Path, edition: Edition, program: &Path) -> Compiled {
        let mut command = Command::new(&self.driver);
        command.arg(main).args([
            "--edition",
            edition.year(),
            "--crate-name",
            "programs",
            "--error-format=json",
        ]);
        command
            .args(["-C", "debuginfo=0", "-C", "strip=symbols"])
            .arg("-o")
            .arg(program);
        for lint in LINTS {
            command.args(["-W", lint]);
        }
        for library in &self.externs {
            command.args(["--extern", library]);
        }
        let (_, path) = self.externs[0].split_once('=').expect("a name and a path");
        let folder = Path::new(path).parent().expect("a file is in a folder");
        let output = command.arg("-L").arg(folder).output().expect("the compiler runs");
        let lines = String::from_utf8_lossy(&output.stderr).into_owned();
        let diagnostics: Vec<Diagnostic> = lines.lines().filter_map(diagnostic).collect();
        let (succeeded, said_why) = (output.status.success(), diagnostics.iter().any(|d| d.is_error));
        assert!(succeeded || said_why, "{}: {lines}", main.display());
        Compiled { succeeded, diagnostics }
    }
}

/// Cargo as it was called for this test: by what it tells a test of its package, build scripts would be run again.
fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    let told = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(told)) {
        cargo.env_remove(name);
    }
    cargo
}

/// Of those by this name, the one with most features: another may be of a build script.
fn artifact(artifacts: &[Value], name: &str) -> String {
    let named = artifacts
        .iter()
        .filter(|message| message["target"]["name"] == name && message["target"]["kind"][0] != "test");
    let found = named.max_by_key(|message| message["features"].as_array().map_or(0, Vec::len));
    let file = found.and_then(|message| message["filenames"][0].as_str());
    file.unwrap_or_else(|| panic!("cargo tells nothing of {name}"))
        .to_owned()
}

fn sysroot() -> PathBuf {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc runs");
    String::from_utf8(output.stdout).expect("a path").trim_end().into()
}

fn diagnostic(line: &str) -> Option<Diagnostic> {
    let message: Value = serde_json::from_str(line).ok()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let spans = message["spans"]
        .as_array()?
        .iter()
        .filter(|span| span["is_primary"] == true);
    let spans = spans.map(|span| Span {
        file: text(&span["file_name"]).into(),
        start: (number(&span["line_start"]), number(&span["column_start"])),
        end: (number(&span["line_end"]), number(&span["column_end"])),
    });
    Some(Diagnostic {
        is_error: text(&message["level"]).starts_with("error"),
        code: text(&message["code"]["code"]),
        message: text(&message["message"]),
        rendered: text(&message["rendered"]),
        spans: spans.collect(),
    })
}
