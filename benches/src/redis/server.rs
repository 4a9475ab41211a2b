//! The servers that are measured, and what they say of themselves.

use std::ops::Deref;

use redis::{Client, Cmd, Connection, FromRedisValue, Pipeline};

use crate::support::{RedisServer, ValkeyServer};

/// Whichever it is, it is stopped when dropped.
enum Process {
    Redis(RedisServer),
    Valkey(ValkeyServer),
}

/// A server of our own, and a connection that is not measured.
pub struct Server {
    process: Process,
    control: Connection,
    pub name: &'static str,
}

impl Server {
    pub fn redis() -> Self {
        Self::of("redis", Process::Redis(RedisServer::start()))
    }

    /// `None` if there is none: see `scripts/valkey`.
    pub fn valkey() -> Option<Self> {
        std::env::var_os("VALKEY_SERVER")?;
        Some(Self::of("valkey", Process::Valkey(ValkeyServer::start())))
    }

    fn of(name: &'static str, process: Process) -> Self {
        let server = match &process {
            Process::Redis(server) => server,
            Process::Valkey(server) => server.deref(),
        };
        let control = Client::open(server.url()).and_then(|client| client.get_connection());
        Self {
            control: control.expect("it has started"),
            process,
            name,
        }
    }

    pub fn url(&self) -> String {
        match &self.process {
            Process::Redis(server) => server.url(),
            Process::Valkey(server) => server.url(),
        }
    }

    pub fn ask<T: FromRedisValue>(&mut self, cmd: &Cmd) -> T {
        cmd.query(&mut self.control).expect("it answers")
    }

    pub fn tell(&mut self, pipeline: &Pipeline) {
        pipeline.exec(&mut self.control).expect("it answers");
    }

    /// How often it was asked for these commands so far, and the microseconds that it spent in them.
    pub fn spent(&mut self, commands: &[&str]) -> (u64, f64) {
        let info: String = self.ask(redis::cmd("INFO").arg("commandstats"));
        let (mut calls, mut usec) = (0, 0.0);
        for command in commands {
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(':'));
            let fields = line.into_iter().flat_map(|line| line.split(','));
            for (name, value) in fields.filter_map(|field| field.split_once('=')) {
                match name {
                    "calls" => calls += value.parse::<u64>().expect("it is a number"),
                    "usec" => usec += value.parse::<f64>().expect("it is a number"),
                    _ => {}
                }
            }
        }
        (calls, usec)
    }

    /// Its clock, in microseconds.
    pub fn time(&mut self) -> u64 {
        let (seconds, micros): (u64, u64) = self.ask(&redis::cmd("TIME"));
        seconds * 1_000_000 + micros
    }

    /// The keys of a pattern.
    pub fn keys(&mut self, pattern: &str) -> Vec<String> {
        self.ask(redis::cmd("KEYS").arg(pattern))
    }

    pub fn bytes(&mut self, key: &str) -> u64 {
        self.ask(redis::cmd("MEMORY").arg(&["USAGE", key, "SAMPLES", "0"]))
    }
}
