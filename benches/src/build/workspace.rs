//! Generated crates, beside the program that measures them, so that their dependencies are built once.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use super::program::{Handlers, program};

pub struct Workspace(PathBuf);

impl Workspace {
    /// Two crates for each count, and all that they depend on.
    pub fn build(counts: &[usize]) -> Self {
        let program = std::env::current_exe().expect("a program knows where it is");
        let workspace = Self(program.with_file_name("handlers"));
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        write(
            &workspace.0.join("Cargo.toml"),
            "[workspace]\nmembers = [\"*-*\"]\nresolver = \"3\"\n",
        );
        // What is locked there can be built without a network.
        fs::copy(repository.join("Cargo.lock"), workspace.0.join("Cargo.lock")).expect("the lock file is copied");
        for handlers in [Handlers::Annotated, Handlers::Plain] {
            for count in counts {
                workspace.generate(handlers, *count, &repository);
            }
        }
        for handlers in [Handlers::Annotated, Handlers::Plain] {
            for count in counts {
                // Each alone, as its dependencies then have no more features than it needs.
                workspace.cargo_build(&name(handlers, *count));
            }
        }
        workspace
    }

    fn generate(&self, handlers: Handlers, count: usize, repository: &Path) {
        let name = name(handlers, count);
        let ours = match handlers {
            Handlers::Annotated => {
                format!("rate-limit = {{ path = {repository:?}, default-features = false, features = [\"axum\"] }}\n")
            }
            Handlers::Plain => String::new(),
        };
        write(
            &self.0.join(&name).join("Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[dependencies]\n\
                 axum = {{ version = \"0.8\", default-features = false, features = [\"http1\", \"tokio\"] }}\n{ours}"
            ),
        );
        write(&self.source(&name), &program(handlers, count));
    }

    fn source(&self, name: &str) -> PathBuf {
        self.0.join(name).join("src/main.rs")
    }

    /// Compiles one crate anew and tells how many seconds of CPU time that takes.
    pub fn rebuild(&self, handlers: Handlers, count: usize) -> f64 {
        let name = name(handlers, count);
        let source = File::options().write(true).open(self.source(&name));
        let touched = source.and_then(|source| source.set_modified(SystemTime::now()));
        touched.expect("the source is there");
        let before = cpu_time();
        let report = self.cargo_build(&name);
        let time = cpu_time() - before;
        assert_eq!(
            report.matches("Compiling").count(),
            1,
            "more or less than {name} was compiled: {report}"
        );
        time
    }

    fn cargo_build(&self, name: &str) -> String {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let build = Command::new(cargo)
            .args(["build", "--offline", "--target-dir", "target", "--package", name])
            .current_dir(&self.0)
            // Or it would see that nothing has changed.
            .env("CARGO_INCREMENTAL", "0")
            .output()
            .expect("cargo runs");
        let report = String::from_utf8_lossy(&build.stderr).into_owned();
        assert!(build.status.success(), "{report}");
        report
    }
}

fn name(handlers: Handlers, count: usize) -> String {
    match handlers {
        Handlers::Annotated => format!("annotated-{count}"),
        Handlers::Plain => format!("plain-{count}"),
    }
}

/// Leaves a file alone that has this text, so that what was built of it still holds.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return;
    }
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
    fs::write(path, text).expect("a file can be written");
}

/// In seconds, of all child processes that have ended, and of theirs.
fn cpu_time() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("it is known of children");
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
}
