//! Looks into a server past the library.

use std::collections::BTreeMap;

use redis::aio::MultiplexedConnection;
use redis::{Client, FromRedisValue};

use crate::support::RedisServer;

#[derive(Clone)]
pub(crate) struct Probe(MultiplexedConnection);

/// What lies under a key of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// How many slots a ring has, `None` for a list.
    pub(crate) ring: Option<usize>,
    /// Microseconds, as all times here.
    pub(crate) expiry: u64,
    /// The longest window that its entries are kept for.
    pub(crate) window: u64,
    pub(crate) entries: Vec<u64>,
}

impl Probe {
    pub(crate) async fn of(server: &RedisServer) -> Self {
        let client = Client::open(server.url()).expect("the URL is ours");
        let connection = client.get_multiplexed_async_connection().await;
        Self(connection.expect("the server answers"))
    }

    /// Sends one command, written as words.
    pub(crate) async fn ask<T: FromRedisValue>(&self, command: &str) -> T {
        let mut words = command.split(' ');
        let mut cmd = redis::cmd(words.next().expect("a command has a name"));
        words.for_each(|word| {
            cmd.arg(word);
        });
        let answer = cmd.query_async(&mut self.0.clone()).await;
        answer.unwrap_or_else(|error| panic!("`{command}`: {error}"))
    }

    pub(crate) async fn set(&self, key: &str, value: &[u8]) {
        let mut cmd = redis::cmd("SET");
        cmd.arg(key).arg(value).arg("EX").arg(100);
        cmd.exec_async(&mut self.0.clone())
            .await
            .expect("the server takes a value");
    }

    /// All that is of a client. The names of methods and their policies are written in the background, and stay.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.ask("KEYS *").await;
        keys.retain(|key| !["rl1:methods", "rl1:policies"].iter().any(|own| key.ends_with(own)));
        keys
    }

    /// The one key there is.
    pub(crate) async fn key(&self) -> String {
        let keys = self.keys().await;
        assert_eq!(keys.len(), 1, "{keys:?}");
        keys.into_iter().next().expect("there is one")
    }

    pub(crate) async fn value(&self, key: &str) -> Vec<u8> {
        self.ask(&format!("GET {key}")).await
    }

    pub(crate) async fn log(&self, key: &str) -> Option<Log> {
        let value = self.value(key).await;
        (!value.is_empty()).then(|| Log::read(&value))
    }

    /// All that the server holds, but for when it goes.
    pub(crate) async fn dump(&self) -> BTreeMap<String, Vec<u8>> {
        let mut dump = BTreeMap::new();
        for key in self.keys().await {
            let value = self.ask(&format!("DUMP {key}")).await;
            dump.insert(key, value);
        }
        dump
    }

    /// How many hits the server holds, under all keys.
    pub(crate) async fn hits(&self) -> usize {
        let mut hits = 0;
        for key in self.keys().await {
            hits += self.log(&key).await.map_or(0, |log| log.entries.len());
        }
        hits
    }

    /// The clock of the server.
    pub(crate) async fn time(&self) -> u64 {
        let (seconds, micros): (u64, u64) = self.ask("TIME").await;
        seconds * 1_000_000 + micros
    }

    /// A number of `INFO`: of `calls` in `cmdstat_eval:calls=3,usec=..`, or the whole of `expired_keys:3`.
    pub(crate) async fn info(&self, section: &str, line: &str) -> u64 {
        let info: String = self.ask(&format!("INFO {section}")).await;
        let value = info.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':'));
        let number = value.map(|value| value.trim_start_matches("calls=").split(',').next().unwrap_or_default());
        number.map_or(0, |number| number.trim().parse().expect("it is a number"))
    }
}

impl Log {
    fn read(value: &[u8]) -> Self {
        // Behind a block, or room for one.
        let value = if value[0] == b't' { &value[15..] } else { value };
        let (ring, entries) = match value[0] {
            b'l' => (None, value[15..].chunks(7).map(number).collect()),
            b'r' => {
                let [size, head, length] = [15, 19, 23].map(|at| number(&value[at..at + 4]) as usize);
                let slot = |i| 27 + 7 * ((head + i) % size);
                let entry = |i| number(&value[slot(i)..slot(i) + 7]);
                (Some(size), (0..length).map(entry).collect())
            }
            tag => panic!("a value of ours is a list or a ring, not {tag}"),
        };
        Self {
            ring,
            expiry: number(&value[1..8]),
            window: number(&value[8..15]),
            entries,
        }
    }
}

pub(crate) fn number(little_endian: &[u8]) -> u64 {
    assert!(little_endian.len() <= 7, "an entry is 7 bytes");
    little_endian
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
