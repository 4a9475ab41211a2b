//! One flow, on every store.

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{Said, json, rate_limit, said};
use crate::deployment::{EMAIL, UUID, call};
use crate::support::{MariaDbServer, PostgresServer, RedisCluster, RedisSentinels, RedisServer};

/// A store, and what has to live as long.
struct Place {
    url: String,
    _server: Box<dyn std::any::Any>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Redis,
    Cluster,
    Sentinels,
    Postgres,
    MariaDb,
    Sqlite,
}

fn start(kind: Kind) -> Place {
    let fresh = |database: std::pin::Pin<Box<dyn Future<Output = String>>>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(database)
    };
    let (url, server): (String, Box<dyn std::any::Any>) = match kind {
        Kind::Redis => {
            let server = RedisServer::start();
            (server.url(), Box::new(server))
        }
        Kind::Cluster => {
            let cluster = RedisCluster::start();
            (format!("redis-cluster://{}", cluster.addresses()), Box::new(cluster))
        }
        Kind::Sentinels => {
            let sentinels = RedisSentinels::start();
            let url = format!("redis-sentinel://{}/{}", sentinels.addresses(), RedisSentinels::SERVICE);
            (url, Box::new(sentinels))
        }
        Kind::Postgres => (fresh(Box::pin(PostgresServer::shared().fresh_database())), Box::new(())),
        Kind::MariaDb => (fresh(Box::pin(MariaDbServer::shared().fresh_database())), Box::new(())),
        Kind::Sqlite => {
            let folder = TempDir::new().expect("a folder");
            let file = folder.path().join("database.sqlite");
            std::fs::write(&file, "").expect("it can be written");
            (format!("sqlite:{}", file.display()), Box::new(folder))
        }
    };
    Place { url, _server: server }
}

fn rows<'a>(report: &'a Value, name: &str) -> Vec<(&'a str, bool, u64)> {
    let rows = report[name].as_array().expect("a list");
    let row = |row: &'a Value| {
        let method = row["method"].as_str().expect("a name");
        let allowed = row["allowed"].as_bool().expect("it is judged");
        (method, allowed, row["used"].as_u64().expect("it is judged"))
    };
    rows.iter().map(row).collect()
}

#[rstest]
#[case(Kind::Redis)]
#[case(Kind::Cluster)]
#[case(Kind::Sentinels)]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
fn an_operator_finds_a_client_and_lets_it_go(#[case] kind: Kind) {
    let place = start(kind);
    let url = place.url.as_str();
    call(url, "several");
    let is_sql = matches!(kind, Kind::Postgres | Kind::MariaDb | Kind::Sqlite);
    let login = if is_sql {
        "3 and one more each 8m20s"
    } else {
        "3 in 10m"
    };

    let methods = json(url, &["methods"]);
    let of = |place: usize| {
        (
            methods["methods"][place]["method"].clone(),
            methods["methods"][place]["policy"].clone(),
        )
    };
    assert_eq!(of(0), ("portal::login".into(), login.into()));
    assert_eq!(of(1), ("portal::read".into(), "3 and one more each 8m20s".into()));

    let inspected = json(url, &["inspect", EMAIL]);
    let both = [("portal::login", false, 3), ("portal::read", true, 2)];
    assert_eq!(rows(&inspected, "counters"), both);
    let wait = inspected["counters"][0]["retry_after_seconds"]
        .as_f64()
        .expect("it is refused");
    assert!(wait > 400.0 && wait <= 600.0, "{wait}");
    let admitted = inspected["counters"][0]["admitted"].as_array().expect("a list");
    assert_eq!(admitted.len(), if is_sql { 0 } else { 3 }, "only a window keeps them");
    // A key of two parts, a UUID and a number, by the end of the name of the function.
    let one = json(url, &["inspect", "--method", "login", UUID, "7"]);
    assert_eq!(rows(&one, "counters"), [("portal::login", true, 1)]);
    let parts = said(url, &["inspect", "--method", "login", "7", UUID]);
    assert!(parts.failed(4).contains("in the order"), "{parts:?}");

    let top = json(url, &["top"]);
    let all = [
        ("portal::login", false, 3),
        ("portal::read", true, 2),
        ("portal::login", true, 1),
    ];
    assert_eq!(rows(&top, "counters"), all);
    assert_eq!((top["seen"].as_u64(), top["refused"].as_u64()), (Some(3), Some(1)));
    assert_eq!(top["counters"][0]["client"], inspected["counters"][0]["client"]);
    let only = json(url, &["top", "--method", "portal::login", "--limit", "1"]);
    assert_eq!(rows(&only, "counters"), all[..1]);
    assert_eq!(only["seen"], 2);

    let wrong_secret = rate_limit(url, &["inspect", EMAIL])
        .env("RATE_LIMIT_SECRET", "another secret than the one")
        .output();
    let wrong_secret = Said::from(wrong_secret.expect("it runs"));
    assert!(wrong_secret.failed(4).contains("RATE_LIMIT_SECRET"), "{wrong_secret:?}");
    let wrong_name = said(url, &["reset", "--yes", "--method", "portal::raed", EMAIL]);
    assert!(
        wrong_name
            .failed(4)
            .contains("there is no function `portal::raed`, but `portal::read`, `portal::login`"),
        "{wrong_name:?}"
    );
    let unconfirmed = said(url, &["reset", "--method", "portal::login", EMAIL]);
    let told = unconfirmed.failed(5);
    assert!(
        told.contains("portal::login, client") && told.contains("refused for"),
        "{told}"
    );
    assert!(told.contains("--yes") && !told.contains("portal::read"), "{told}");
    assert_eq!(
        rows(&json(url, &["inspect", EMAIL]), "counters"),
        both,
        "nothing was changed"
    );

    let reset = json(url, &["reset", "--yes", "--method", "portal::login", EMAIL]);
    assert_eq!(rows(&reset, "deleted"), both[..1]);
    assert_eq!(rows(&json(url, &["inspect", EMAIL]), "counters"), both[1..]);
    let again = said(url, &["reset", "--yes", "--method", "portal::login", EMAIL]);
    assert_eq!(again.code, Some(4), "{again:?}");

    call(url, "several");
    assert_eq!(said(url, &["forget", EMAIL]).code, Some(5));
    let forgotten = json(url, &["forget", "--yes", EMAIL]);
    assert_eq!(rows(&forgotten, "deleted").len(), 2);
    assert_eq!(said(url, &["inspect", EMAIL]).code, Some(4));
    assert_eq!(
        rows(&json(url, &["top"]), "counters"),
        [("portal::login", true, 2)],
        "of another client"
    );

    for report in [&methods, &inspected, &top, &reset, &forgotten] {
        let report = report.to_string();
        assert!(!report.contains("alice") && !report.contains("67e55044"), "{report}");
    }
}
