//! The servers that the tests start: they fail over, move slots, and are gone with the tests.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind};

use crate::support::{RedisCluster, RedisNodes, RedisSentinels, RedisServer, ValkeyServer};

const CHILD: &str = "RATE_LIMIT_TEST_REDIS_SERVERS";
/// Before the lines that are meant for the parent: the harness prints too.
const SERVER: &str = "server ";

fn get(nodes: &RedisNodes, port: u16, key: &str) -> RedisResult<Option<String>> {
    nodes.ask(port, &format!("GET {key}"))
}

fn redirected(error: &RedisError) -> (ServerErrorKind, u16) {
    let ErrorKind::Server(kind) = error.kind() else {
        panic!("{error}");
    };
    let (address, _) = error.redirect_node().expect("it says where to");
    let port = address.rsplit(':').next().expect("an address has a port");
    (kind, port.parse().expect("it is a port"))
}

#[test]
fn sentinels_promote_a_replica_and_take_the_old_primary_back_as_one() {
    let mut all = RedisSentinels::start();
    let old = all.primary_port();
    all.nodes().order(old, "SET kept 1");
    // Replication is asynchronous: without this the write might be lost.
    let replicas = all.server_ports().iter().filter(|port| **port != old);
    all.nodes().wait_for_copies(old, &replicas.copied().collect::<Vec<_>>());
    let named = all.sentinel_ports().len();
    assert_eq!((named, all.server_ports().len()), (3, 3));

    assert_eq!(all.kill_primary(), old);
    let new = all.wait_for_failover(old);
    assert!(all.server_ports().contains(&new) && new != old);
    assert_eq!(all.primary_port(), new);
    assert_eq!(get(all.nodes(), new, "kept").expect("it answers"), Some("1".into()));
    all.nodes().order(new, "SET more 1");

    all.restart(old);
    let deadline = Instant::now() + Duration::from_secs(60);
    while all.role(old).as_deref() != Some("slave") {
        assert!(Instant::now() < deadline, "it stays {:?}", all.role(old));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(all.primary_port(), new);
}

#[test]
fn sentinels_promote_a_replica_of_a_paused_primary() {
    let all = RedisSentinels::start();
    let old = all.primary_port();
    all.pause(old);
    let new = all.wait_for_failover(old);
    all.resume(old);
    assert_ne!(new, old);
}

#[test]
fn a_cluster_sends_a_client_to_where_a_slot_is() {
    let cluster = RedisCluster::start();
    let mut primaries = cluster.primaries();
    primaries.sort_unstable();
    primaries.dedup();
    assert_eq!(primaries.len(), 3);
    assert!(primaries.iter().all(|port| cluster.replicas_of(*port).len() == 1));

    let slot = cluster.slot_of("{a}1");
    assert_eq!(slot, cluster.slot_of("{a}2"));
    let from = cluster.primary_of(slot);
    let to = *primaries.iter().find(|port| **port != from).expect("there are three");
    let nodes = cluster.nodes();
    nodes.order(from, "MSET {a}1 one {a}2 two");
    let moved = get(nodes, to, "{a}1").expect_err("it is elsewhere");
    assert_eq!(redirected(&moved), (ServerErrorKind::Moved, from));

    let step = cluster.begin_move(slot, to);
    assert_eq!(step.from(), from);
    assert_eq!(step.keys().len(), 2);
    assert_eq!(get(nodes, from, "{a}1").expect("it is there"), Some("one".into()));
    step.move_key("{a}1");
    assert_eq!(step.keys(), ["{a}2"]);
    let gone = get(nodes, from, "{a}1").expect_err("it is gone");
    assert_eq!(redirected(&gone), (ServerErrorKind::Ask, to));
    let torn: RedisResult<Vec<String>> = nodes.ask(from, "MGET {a}1 {a}2");
    let torn = torn.expect_err("one of them is gone");
    assert_eq!(torn.kind(), ErrorKind::Server(ServerErrorKind::TryAgain));

    step.finish();
    assert_eq!(cluster.primary_of(slot), to);
    let moved = get(nodes, from, "{a}2").expect_err("it has moved");
    assert_eq!(redirected(&moved), (ServerErrorKind::Moved, to));
    assert_eq!(get(nodes, to, "{a}2").expect("it is there"), Some("two".into()));
    cluster.move_slot(slot, from);
    assert_eq!(get(nodes, from, "{a}2").expect("it is back"), Some("two".into()));
}

#[test]
fn a_cluster_promotes_the_replica_and_takes_the_old_primary_back_as_one() {
    let mut cluster = RedisCluster::start();
    let slot = cluster.slot_of("a");
    let old = cluster.primary_of(slot);
    let replicas = cluster.replicas_of(old);
    cluster.nodes().order(old, "SET a 1");
    cluster.nodes().wait_for_copies(old, &replicas);

    cluster.kill(old);
    let new = cluster.wait_for_failover(slot, old);
    assert_eq!(replicas, [new]);
    assert_eq!(get(cluster.nodes(), new, "a").expect("it answers"), Some("1".into()));

    cluster.restart(old);
    let deadline = Instant::now() + Duration::from_secs(60);
    while cluster.replicas_of(new) != [old] {
        assert!(Instant::now() < deadline, "it does not follow");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(cluster.primary_of(slot), new);
}

#[test]
fn valkey_is_no_redis() {
    let mut server = ValkeyServer::start();
    let ask = |port| -> String {
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).expect("the URL is ours");
        let mut connection = client.get_connection().expect("it answers");
        redis::cmd("INFO")
            .arg("server")
            .query(&mut connection)
            .expect("it answers")
    };
    assert!(ask(server.port()).contains("valkey_version:"));
    server.restart();
    assert!(ask(server.port()).contains("valkey_version:"));
}

#[test]
fn a_server_that_was_stopped_starts_empty_on_its_port() {
    let mut server = RedisServer::start();
    let client = redis::Client::open(server.url()).expect("the URL is ours");
    let mut connection = client.get_connection().expect("it answers");
    redis::cmd("SET")
        .arg("a")
        .arg(1)
        .exec(&mut connection)
        .expect("it answers");
    server.stop();
    assert!(!listens(server.port()));
    server.restart();
    let mut connection = client.get_connection().expect("it answers");
    let keys: u32 = redis::cmd("DBSIZE").query(&mut connection).expect("it answers");
    assert_eq!(keys, 0);
}

#[test]
fn dropped_servers_are_gone() {
    let (sentinels, cluster, server) = (RedisSentinels::start(), RedisCluster::start(), ValkeyServer::start());
    // One that is paused, and one that was killed before.
    server.pause();
    cluster.kill(cluster.ports()[0]);
    let folders = [sentinels.nodes().folder(), cluster.nodes().folder(), server.folder()].map(Path::to_owned);
    let ports = [sentinels.nodes().ports(), cluster.nodes().ports(), vec![server.port()]].concat();
    assert_eq!(ports.len(), 13);
    assert_eq!(ports.iter().filter(|port| listens(**port)).count(), 12);
    drop((sentinels, cluster, server));
    assert!(!ports.iter().any(|port| listens(*port)) && !folders.iter().any(|folder| folder.exists()));
}

#[test]
fn servers_are_gone_after_their_process_is_killed() {
    let mut child = Command::new(std::env::current_exe().expect("it has a path"))
        .args([
            "--ignored",
            "--exact",
            "servers::holds_servers_until_it_is_killed",
            "--nocapture",
        ])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran a moment ago");
    let servers: Vec<(u16, PathBuf)> = BufReader::new(child.stdout.take().expect("it is piped"))
        .lines()
        .filter_map(|line| {
            let line = line.expect("it prints text");
            // What the harness prints without a line end stands before it.
            let (port, folder) = line.split_once(SERVER)?.1.split_once(' ')?;
            Some((port.parse().expect("it is a port"), folder.into()))
        })
        .take(14)
        .collect();
    let were_there = servers.len() == 14 && servers.iter().all(|(port, folder)| listens(*port) && folder.exists());
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(were_there, "{servers:?}");

    let deadline = Instant::now() + Duration::from_secs(10);
    while servers.iter().any(|(port, folder)| listens(*port) || folder.exists()) {
        assert!(Instant::now() < deadline, "left behind: {servers:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "run by `servers_are_gone_after_their_process_is_killed`"]
fn holds_servers_until_it_is_killed() {
    if std::env::var(CHILD).is_err() {
        return;
    }
    let (sentinels, cluster) = (RedisSentinels::start(), RedisCluster::start());
    let (server, valkey) = (RedisServer::start(), ValkeyServer::start());
    server.pause();
    cluster.pause(cluster.primaries()[0]);
    let print = |port: u16, folder: &Path| println!("{SERVER}{port} {}", folder.display());
    for nodes in [sentinels.nodes(), cluster.nodes()] {
        nodes.ports().iter().for_each(|port| print(*port, nodes.folder()));
    }
    print(server.port(), server.folder());
    print(valkey.port(), valkey.folder());
    // Should the parent end without killing it, so does its input.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
