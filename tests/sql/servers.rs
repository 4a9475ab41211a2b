//! The servers that the tests start: apart from each other, and gone with the tests.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{Connection as _, MySqlConnection, PgConnection};
use tokio::time::timeout;

use crate::support::{MariaDbServer, PostgresServer};

const CHILD: &str = "RATE_LIMIT_TEST_SERVERS";
/// Before the line that is meant for the parent: the harness prints too.
const SERVER: &str = "server ";

async fn postgres(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("it answers")
}

async fn mariadb(url: &str) -> MySqlConnection {
    MySqlConnection::connect(url).await.expect("it answers")
}

#[tokio::test]
async fn postgres_answers() -> sqlx::Result<()> {
    let mut connection = postgres(&PostgresServer::shared().fresh_database().await).await;
    let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut connection).await?;
    assert_eq!(one, 1);
    Ok(())
}

#[tokio::test]
async fn mariadb_answers() -> sqlx::Result<()> {
    let mut connection = mariadb(&MariaDbServer::shared().fresh_database().await).await;
    let one: i32 = sqlx::query_scalar("SELECT 1").fetch_one(&mut connection).await?;
    assert_eq!(one, 1);
    Ok(())
}

#[tokio::test]
async fn two_databases_of_postgres_are_apart() -> sqlx::Result<()> {
    let server = PostgresServer::shared();
    let mut first = postgres(&server.fresh_database().await).await;
    let mut second = postgres(&server.fresh_database().await).await;
    sqlx::query("CREATE TABLE t (n INT)").execute(&mut first).await?;
    assert!(sqlx::query("SELECT * FROM t").execute(&mut second).await.is_err());
    sqlx::query("CREATE TABLE t (n INT)").execute(&mut second).await?;
    Ok(())
}

#[tokio::test]
async fn two_databases_of_mariadb_are_apart() -> sqlx::Result<()> {
    let server = MariaDbServer::shared();
    let mut first = mariadb(&server.fresh_database().await).await;
    let mut second = mariadb(&server.fresh_database().await).await;
    sqlx::query("CREATE TABLE t (n INT)").execute(&mut first).await?;
    assert!(sqlx::query("SELECT * FROM t").execute(&mut second).await.is_err());
    sqlx::query("CREATE TABLE t (n INT)").execute(&mut second).await?;
    Ok(())
}

#[tokio::test]
async fn a_paused_postgres_does_not_answer_until_it_goes_on() -> sqlx::Result<()> {
    let server = PostgresServer::start();
    // A session has a process of its own.
    let mut session = postgres(&server.fresh_database().await).await;
    server.pause();
    let mut answer = Box::pin(sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&mut session));
    assert!(timeout(Duration::from_millis(100), &mut answer).await.is_err());
    server.resume();
    assert_eq!(answer.await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_paused_mariadb_does_not_answer_until_it_goes_on() -> sqlx::Result<()> {
    let server = MariaDbServer::start();
    let mut session = mariadb(&server.fresh_database().await).await;
    server.pause();
    let mut answer = Box::pin(sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(&mut session));
    assert!(timeout(Duration::from_millis(100), &mut answer).await.is_err());
    server.resume();
    assert_eq!(answer.await?, 1);
    Ok(())
}

#[test]
fn a_dropped_server_is_gone() {
    let (postgres, mariadb) = (PostgresServer::start(), MariaDbServer::start());
    let servers = [
        (postgres.port(), postgres.folder().to_owned()),
        (mariadb.port(), mariadb.folder().to_owned()),
    ];
    assert!(servers.iter().all(|(port, folder)| is_there(*port, folder)));
    drop((postgres, mariadb));
    for (port, folder) in servers {
        assert!(!listens(port) && !folder.exists());
    }
}

#[test]
fn servers_are_gone_after_their_process_is_killed() {
    killed("running");
}

#[test]
fn paused_servers_are_gone_after_their_process_is_killed() {
    killed("paused");
}

/// Has another process start servers, which then are in that state, and kills it.
fn killed(state: &str) {
    let mut child = Command::new(std::env::current_exe().expect("it has a path"))
        .args([
            "--ignored",
            "--exact",
            "servers::holds_servers_until_it_is_killed",
            "--nocapture",
        ])
        .env(CHILD, state)
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
        .take(2)
        .collect();
    let were_there = servers.len() == 2 && servers.iter().all(|(port, folder)| is_there(*port, folder));
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    assert!(were_there, "{servers:?}");

    let deadline = Instant::now() + Duration::from_secs(10);
    while servers.iter().any(|(port, folder)| listens(*port) || folder.exists()) {
        assert!(Instant::now() < deadline, "left behind: {servers:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
#[ignore = "run by `servers_are_gone_after_their_process_is_killed`"]
async fn holds_servers_until_it_is_killed() {
    let Ok(state) = std::env::var(CHILD) else { return };
    let (first, second) = (PostgresServer::start(), MariaDbServer::start());
    let _sessions = (
        postgres(&first.fresh_database().await).await,
        mariadb(&second.fresh_database().await).await,
    );
    if state == "paused" {
        first.pause();
        second.pause();
    }
    println!("{SERVER}{} {}", first.port(), first.folder().display());
    println!("{SERVER}{} {}", second.port(), second.folder().display());
    // Should the parent end without killing it, so does its input.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn is_there(port: u16, folder: &Path) -> bool {
    listens(port) && folder.exists()
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
