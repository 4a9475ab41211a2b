//! What a user would write or take instead: scripts and commands, each in one place for what it costs and for how many go through.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::Value;

use super::lines::{Lines, Script};
use super::server::Server;

/// The student portal's script.
pub struct SortedSet {
    script: Script,
    /// A part of the ids, each as long as a UUID without hyphens.
    next: AtomicU64,
}

impl SortedSet {
    pub async fn over(server: &mut Server, lines: usize) -> Self {
        Self {
            script: Script::new(server, include_str!("sorted_set.lua"), lines).await,
            next: AtomicU64::new(1 << 60),
        }
    }

    /// As long as ours.
    pub fn key(client: usize) -> String {
        format!("sorted:{client:033}")
    }

    pub fn id(&self) -> String {
        format!("{:032x}", self.next.fetch_add(0x9e37_79b9, Ordering::Relaxed))
    }

    /// Decides a call of the client, and tells whether it is admitted.
    pub async fn ask(&self, task: usize, client: usize, limit: u32, window: Duration) -> bool {
        let window = window.as_micros() as u64;
        let mut cmd = self.script.on(Self::key(client));
        cmd.arg(window).arg(limit).arg(self.id()).arg(window / 1_000);
        match self.script.lines.ask(task, &cmd).await {
            Value::Int(counted) => counted > 0,
            other => panic!("{other:?}"),
        }
    }
}

/// A GCRA script.
pub struct Gcra(Script);

impl Gcra {
    pub async fn over(server: &mut Server, lines: usize) -> Self {
        Self(Script::new(server, include_str!("gcra.lua"), lines).await)
    }

    pub fn key(client: usize) -> String {
        format!("gcra:{client:035}")
    }

    /// As [`SortedSet::ask`], of a bucket that gains room for a call each `step` microseconds, up to `burst` of them.
    pub async fn ask(&self, task: usize, client: usize, step: u64, burst: u64) -> bool {
        let mut cmd = self.0.on(Self::key(client));
        cmd.arg(step).arg(burst);
        match self.0.lines.ask(task, &cmd).await {
            Value::Array(fields) => fields[0] == Value::Int(1),
            other => panic!("{other:?}"),
        }
    }
}

/// The commands of actix-limitation 0.6, which opens a connection for them each time; here it has one. A counter, set up to go with the
/// window, that also counts what it refuses.
pub struct ActixLimitation(Lines);

impl ActixLimitation {
    pub async fn over(server: &Server, lines: usize) -> Self {
        Self(Lines::to(server, lines).await)
    }

    pub fn key(client: usize) -> String {
        format!("actix:{client:034}")
    }

    /// As [`SortedSet::ask`].
    pub async fn ask(&self, task: usize, client: usize, limit: u32, window: Duration) -> bool {
        let key = Self::key(client);
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        pipeline
            .cmd("SET")
            .arg(&key)
            .arg(0)
            .arg("EX")
            .arg(window.as_secs())
            .arg("NX")
            .ignore();
        pipeline.cmd("INCR").arg(&key).cmd("TTL").arg(&key);
        let mut line = self.0.of(task);
        let (count, _): (u32, u64) = pipeline.query_async(&mut line).await.expect("it answers");
        count <= limit
    }
}
