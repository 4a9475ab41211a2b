//! What keeps servers from outliving the test process, however that ends.

use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

/// A shell in a folder of its own, whose input ends when this process does. Dropping it waits until it has ended and
/// the folder is gone.
pub struct Guardian {
    shell: Child,
    folder: PathBuf,
}

impl Guardian {
    /// `script` runs in the folder and prints to `log` there. It reads its input to the end, and then stops what it
    /// has started.
    pub fn spawn(script: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rate-limit-{}", uuid::Uuid::new_v4().simple()));
        // When this process ends while a server is paused, the kernel sends `HUP` to the shell and to the server.
        let script = format!(
            r#"
            trap '' HUP
            mkdir -m 755 "$1" && cd "$1" || exit
            exec >log 2>&1
            {script}
            wait
            rm -rf "$PWD"
            "#
        );
        let path = std::env::var("PATH").unwrap_or_default();
        let shell = Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(&folder)
            .env_clear()
            .env("PATH", format!("{path}:/usr/sbin:/usr/bin:/bin"))
            .stdin(Stdio::piped())
            // What ends the tests from a terminal would end the shell too early.
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        Self { shell, folder }
    }

    /// Writes a line to its input.
    pub fn tell(&mut self, line: &str) {
        let input = self.shell.stdin.as_mut().expect("it is piped");
        writeln!(input, "{line}").expect("the shell reads");
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was printed.
    pub fn log(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    pub fn has_ended(&mut self) -> bool {
        self.shell.try_wait().expect("it is our child").is_some()
    }

    /// The number in this file of the folder, once it is written.
    pub fn pid(&self, file: &str) -> Option<Pid> {
        let pid = fs::read_to_string(self.folder.join(file)).ok()?;
        Pid::from_raw(pid.strip_suffix('\n')?.parse().ok()?)
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Ends its input first.
        let _ = self.shell.wait();
    }
}

/// Whether the process runs, or is paused. Of one that ends, the last thread closes what is open.
pub fn is_alive(pid: Pid) -> bool {
    let threads = || fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())).map_or(0, Iterator::count);
    stat(pid).is_some_and(|(state, _)| state != 'Z' || threads() > 1)
}

/// The state of a process, and its parent.
pub fn stat(pid: Pid) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    // After the name, which may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
