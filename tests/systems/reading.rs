//! The reading counter, on each database.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::database::{Database, Kind, Pool, on_each};
use crate::example::{Server, command};

/// Whether a read counts, or the status instead.
fn read(server: &Server, member: &str) -> Result<bool, u16> {
    let answer = ureq::patch(format!("{}/articles/7/read", server.url))
        .header("x-member-id", member)
        .send_empty();
    match answer {
        Ok(mut response) => {
            let body = response.body_mut().read_to_string().expect("a body is text");
            let answer: Value = serde_json::from_str(&body).expect("JSON");
            let counted = answer["counted"].as_bool().expect("a flag");
            assert_eq!(answer, json!({ "counted": counted }));
            Ok(counted)
        }
        Err(ureq::Error::StatusCode(status)) => Err(status),
        Err(error) => panic!("{error}"),
    }
}

/// The reading count of a member, and the points of the pet.
fn standing(server: &Server, member: &str) -> (i64, i64) {
    let mut response = ureq::get(format!("{}/members/{member}", server.url))
        .call()
        .expect("it answers");
    let body = response.body_mut().read_to_string().expect("a body is text");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let number = |name| answer[name].as_i64().expect("a number");
    (number("reading_count"), number("pet_points"))
}

fn delete(server: &Server, member: &str) {
    let response = ureq::delete(format!("{}/members/{member}", server.url))
        .call()
        .expect("it answers");
    assert_eq!(response.status(), 204);
}

/// How many of so many reads count.
fn counted(server: &Server, member: &str, reads: u32) -> usize {
    (0..reads).filter(|_| read(server, member) == Ok(true)).count()
}

fn start(database: &Database) -> Server {
    Server::start("reading", &[("DATABASE_URL", &database.url)])
}

async fn run(pool: &Pool, statements: &'static str) {
    on_each!(pool, |pool| {
        let ran = sqlx::raw_sql(statements).execute(pool).await;
        ran.unwrap_or_else(|error| panic!("{statements}: {error}"));
    });
}

async fn number(pool: &Pool, statement: &'static str) -> i64 {
    on_each!(pool, |pool| sqlx::query_scalar(statement)
        .fetch_one(pool)
        .await
        .expect("a number"))
}

/// From now on no count can be raised.
async fn break_counts(pool: &Pool) {
    let statements = match pool {
        Pool::Postgres(_) => {
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$;
            CREATE TRIGGER broken BEFORE INSERT OR UPDATE ON reading_counts FOR EACH ROW EXECUTE FUNCTION fail()"
        }
        Pool::MariaDb(_) => {
            "CREATE TRIGGER broken BEFORE INSERT ON reading_counts FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'broken'"
        }
        Pool::Sqlite(_) => {
            "CREATE TRIGGER broken BEFORE INSERT ON reading_counts BEGIN SELECT RAISE(ABORT, 'broken'); END"
        }
    };
    run(pool, statements).await;
}

async fn mend_counts(pool: &Pool) {
    let statement = match pool {
        Pool::Postgres(_) => "DROP TRIGGER broken ON reading_counts",
        Pool::MariaDb(_) | Pool::Sqlite(_) => "DROP TRIGGER broken",
    };
    run(pool, statement).await;
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn token_count_and_points_in_each_of_the_four_cases(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let server = start(&database);
    let pool = database.pool(1).await;
    assert_eq!(standing(&server, "alice"), (0, 0), "nobody knows her");

    // All goes well.
    assert_eq!(read(&server, "alice"), Ok(true));
    assert_eq!(standing(&server, "alice"), (1, 10));

    // Giving points fails: the rest is kept.
    run(&pool, "ALTER TABLE pets RENAME TO pets_elsewhere").await;
    assert_eq!(read(&server, "alice"), Ok(true));
    run(&pool, "ALTER TABLE pets_elsewhere RENAME TO pets").await;
    assert_eq!(standing(&server, "alice"), (2, 10));

    // Raising the count fails: the token is given back, for one is left below. No points either.
    break_counts(&pool).await;
    for _ in 0..4 {
        assert_eq!(read(&server, "alice"), Err(500));
    }
    mend_counts(&pool).await;
    assert_eq!(standing(&server, "alice"), (2, 10));

    // The third token, the one that was given back; those of the first two reads are taken.
    assert_eq!(read(&server, "alice"), Ok(true));
    assert_eq!(standing(&server, "alice"), (3, 20));

    // Over the limit: nothing changes.
    let before = number(&pool, "SELECT full_at FROM rate_limit").await;
    for _ in 0..3 {
        assert_eq!(read(&server, "alice"), Ok(false));
    }
    assert_eq!(standing(&server, "alice"), (3, 20));
    assert_eq!(number(&pool, "SELECT full_at FROM rate_limit").await, before);
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn of_39_reads_of_one_member_3_count(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let server = start(&database);
    let start = Instant::now();
    let counted = counted(&server, "alice", 39);
    assert!(
        start.elapsed() < Duration::from_secs(50),
        "no token came back meanwhile"
    );
    assert_eq!(counted, 3);
    assert_eq!(standing(&server, "alice"), (3, 30));
    assert_eq!(read(&server, "Alice"), Ok(true), "another member");
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn instances_that_start_at_once_on_one_database_have_one_budget(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let servers: Vec<Server> = thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| start(&database))).collect();
        starting
            .into_iter()
            .map(|server| server.join().expect("it starts"))
            .collect()
    });
    let counted: Vec<bool> = (0..8)
        .map(|n| read(&servers[n % 4], "alice").expect("an answer"))
        .collect();
    assert_eq!(counted, [true, true, true, false, false, false, false, false]);
    for server in &servers {
        assert_eq!(standing(server, "alice"), (3, 30));
    }
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn nothing_is_left_of_a_member_who_is_deleted(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let server = start(&database);
    let pool = database.pool(1).await;
    assert_eq!(counted(&server, "alice", 5), 3);
    assert_eq!(counted(&server, "bob", 5), 3);
    delete(&server, "alice");
    delete(&server, "alice");
    for count in [
        "SELECT count(*) FROM reading_counts",
        "SELECT count(*) FROM pets",
        "SELECT count(*) FROM rate_limit",
    ] {
        assert_eq!(number(&pool, count).await, 1, "{count}");
    }
    assert_eq!(
        (standing(&server, "alice"), standing(&server, "bob")),
        ((0, 0), (3, 30))
    );
    assert_eq!(counted(&server, "bob", 2), 0);
    assert_eq!(counted(&server, "alice", 5), 3, "as one who never was there");
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn of_20_reads_at_once_3_count_and_none_fails(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let server = start(&database);
    for _ in 0..3 {
        let answers: Vec<Result<bool, u16>> = thread::scope(|scope| {
            let reads: Vec<_> = (0..20).map(|_| scope.spawn(|| read(&server, "alice"))).collect();
            reads.into_iter().map(|read| read.join().expect("it ends")).collect()
        });
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(answers.iter().filter(|answer| **answer == Ok(true)).count(), 3);
        assert_eq!(standing(&server, "alice"), (3, 30));
        // And again with rows that the instance knows and that are gone.
        delete(&server, "alice");
    }
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn while_the_bucket_is_held_for_long_a_read_is_answered_503(#[case] kind: Kind) {
    let database = Database::new(kind).await;
    let server = start(&database);
    let pool = database.pool(1).await;
    assert_eq!(read(&server, "alice"), Ok(true));
    on_each!(&pool, |pool| {
        let mut tx = pool.begin().await.expect("it begins");
        sqlx::query("UPDATE rate_limit SET full_at = full_at + 0")
            .execute(&mut *tx)
            .await
            .expect("it is held");
        assert_eq!(read(&server, "alice"), Err(503));
        tx.rollback().await.expect("it lets go");
    });
    assert_eq!(read(&server, "alice"), Ok(true));
    assert_eq!(standing(&server, "alice"), (2, 20));
}

/// A server whose configuration changes.
struct Changing {
    server: Server,
    folder: TempDir,
    database: Database,
}

fn policies(capacity: &str) -> String {
    format!("read-count:\n  bucket-capacity: {capacity}\n  refill-seconds: 50\n")
}

impl Changing {
    /// On the file of this name, which is there.
    async fn start(kind: Kind, folder: TempDir, file: &str) -> Self {
        let database = Database::new(kind).await;
        let file = folder.path().join(file).display().to_string();
        let log = File::create(folder.path().join("log")).expect("a file");
        let variables = [("DATABASE_URL", &*database.url), ("CONFIG", &*file)];
        Self {
            server: Server::start_with_log("reading", &variables, log),
            folder,
            database,
        }
    }

    /// On a plain file, with a capacity of 3.
    async fn with_three(kind: Kind) -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("policies.yaml"), policies("3")).expect("it is written");
        Self::start(kind, folder, "policies.yaml").await
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, policies: &str) {
        fs::write(self.path().join("policies.yaml"), policies).expect("it is written");
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path().join("log")).expect("it is text")
    }

    /// Once the change is seen, so many more reads count and no more.
    fn admits(&self, more: usize) {
        wait_until(|| read(&self.server, "alice") == Ok(true), || self.log());
        assert_eq!(1 + counted(&self.server, "alice", 4), more);
    }
}

fn wait_until(holds: impl Fn() -> bool, told: impl Fn() -> String) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "it never comes: {}", told());
        sleep(Duration::from_millis(20));
    }
}

#[rstest]
#[case(Kind::Postgres)]
#[case(Kind::MariaDb)]
#[case(Kind::Sqlite)]
#[tokio::test]
async fn a_larger_capacity_holds_at_once_and_no_count_is_lost(#[case] kind: Kind) {
    let changing = Changing::with_three(kind).await;
    assert_eq!(counted(&changing.server, "alice", 5), 3);
    changing.write(&policies("5"));
    changing.admits(2);
    assert_eq!(standing(&changing.server, "alice"), (5, 50));
    // Tools are told what it is judged by now.
    let store = changing.database.pool(1).await.store().build();
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let rules = store.rules().await.expect("the database answers");
        let policies: Vec<_> = rules.iter().filter_map(|rule| rule.policy).collect();
        if policies == ["5 and one more each 50s".parse().expect("a policy")] {
            break;
        }
        assert!(Instant::now() < deadline, "{rules:?}");
        sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn a_file_that_is_replaced_is_seen() {
    let changing = Changing::with_three(Kind::Sqlite).await;
    assert_eq!(counted(&changing.server, "alice", 5), 3);
    for capacity in ["5", "7"] {
        let new = changing.path().join("new");
        fs::write(&new, policies(capacity)).expect("it is written");
        fs::rename(&new, changing.path().join("policies.yaml")).expect("it takes its place");
        changing.admits(2);
    }
}

/// As Kubernetes does: the file is a link through a link to a folder, and that link is replaced.
#[tokio::test]
async fn a_link_that_leads_elsewhere_is_seen() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().to_owned();
    let lead_to = |version: &str| {
        fs::create_dir(path.join(version)).expect("a folder");
        fs::write(path.join(version).join("policies.yaml"), policies(version)).expect("it is written");
        symlink(version, path.join("..data_tmp")).expect("a link");
        fs::rename(path.join("..data_tmp"), path.join("..data")).expect("it takes its place");
    };
    lead_to("3");
    symlink("..data/policies.yaml", path.join("policies.yaml")).expect("a link");
    let changing = Changing::start(Kind::Sqlite, folder, "policies.yaml").await;
    assert_eq!(counted(&changing.server, "alice", 5), 3);
    lead_to("5");
    changing.admits(2);
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_the_log_names_the_field() {
    let changing = Changing::with_three(Kind::Sqlite).await;
    assert_eq!(counted(&changing.server, "alice", 5), 3);
    for (text, told) in [
        (
            policies("0"),
            "read-count.bucket-capacity: a capacity of 0 admits nobody: write 1 or more at line 2, column 20",
        ),
        (
            policies("10000001"),
            "read-count.bucket-capacity: a capacity is a whole number from 1 to 10,000,000",
        ),
        (policies("seven"), "and not the text \"seven\""),
        (
            format!("{}  windw: 1m\n", policies("9")),
            "read-count.windw: there is no such field",
        ),
        (format!("{}\"", policies("9")), "line 4"),
        (
            "read-cuont: {capacity: 9, refill: 1ms}".to_owned(),
            "`reading::reads::count_read` asks for the policy `read-count`",
        ),
        (
            "read-count: {count: 9, window: 1ms}".to_owned(),
            "is not for this store",
        ),
        (String::new(), "`read-count`, which is missing: add it"),
    ] {
        let before = changing.log().len();
        changing.write(&text);
        let log = || changing.log().split_off(before);
        wait_until(|| log().contains(told), || format!("{told}: {}", log()));
        assert_eq!(read(&changing.server, "alice"), Ok(false), "{told}");
    }
    fs::remove_file(changing.path().join("policies.yaml")).expect("it was there");
    wait_until(|| changing.log().contains("No such file"), || changing.log());
    assert_eq!(read(&changing.server, "alice"), Ok(false));
    changing.write(&policies("4"));
    changing.admits(1);
}

/// What it says before it ends.
fn ends(policies: &str) -> String {
    let folder = TempDir::new().expect("a folder");
    let path = |name| folder.path().join(name);
    fs::write(path("policies.yaml"), policies).expect("it is written");
    let mut child = command("reading")
        .env("ADDR", "127.0.0.1:0")
        .env("CONFIG", path("policies.yaml"))
        .env("DATABASE_URL", format!("sqlite:{}", path("database").display()))
        .stdout(Stdio::null())
        .stderr(File::create(path("log")).expect("a file"))
        .spawn()
        .expect("an example runs");
    let deadline = Instant::now() + Duration::from_secs(10);
    let status = loop {
        match child.try_wait().expect("it is ours") {
            Some(status) => break status,
            None if Instant::now() < deadline => sleep(Duration::from_millis(10)),
            None => {
                let _ = child.kill();
                panic!("it does not end");
            }
        }
    };
    assert!(!status.success());
    fs::read_to_string(path("log")).expect("it is text")
}

#[rstest]
#[case("{}", &["`reading::reads::count_read`", "`read-count`"])]
#[case("read-cuont: {capacity: 3, refill: 50s}", &["`reading::reads::count_read`", "`read-count`", "did you mean `read-cuont`"])]
#[case("read-count: {count: 3, window: 50s}", &["`read-count`", "is not for this store"])]
#[case("read-count: {capacity: 3, refil: 50s}", &["policies.yaml", "read-count.refil: there is no such field: did you mean `refill`"])]
fn it_does_not_start_without_its_policy(#[case] policies: &str, #[case] told: &[&str]) {
    let log = ends(policies);
    for part in told {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[tokio::test]
async fn who_reads_is_told_what_is_wrong_with_the_request() {
    let database = Database::new(Kind::Sqlite).await;
    let server = start(&database);
    let wrong = |path: &str, ids: &[&[u8]]| {
        let agent = ureq::Agent::new_with_config(ureq::Agent::config_builder().http_status_as_error(false).build());
        let mut request = agent.patch(format!("{}{path}", server.url));
        for id in ids {
            request = request.header("x-member-id", *id);
        }
        let mut response = request.send_empty().expect("it answers");
        assert_eq!(response.status(), 400);
        response.body_mut().read_to_string().expect("a body is text")
    };
    let read = "/articles/7/read";
    assert_eq!(wrong(read, &[]), "X-Member-Id: it is missing: say which member reads\n");
    for blank in [&b""[..], b"  ", b"\t"] {
        assert_eq!(wrong(read, &[blank]), "X-Member-Id: the id of a member is not blank\n");
    }
    let long = [b'a'; 65];
    assert_eq!(
        wrong(read, &[&long]),
        "X-Member-Id: the id of a member is at most 64 bytes long\n"
    );
    assert_eq!(wrong(read, &[b"\xff"]), "X-Member-Id: the id of a member is UTF-8\n");
    assert_eq!(
        wrong(read, &[b"alice", b"bob"]),
        "X-Member-Id: there is more than one\n"
    );
    assert!(wrong("/articles/seven/read", &[b"alice"]).contains("`seven`"));
    assert_eq!(self::read(&server, "álice"), Ok(true));
    assert_eq!(self::read(&server, &"a".repeat(64)), Ok(true));
    assert_eq!(standing(&server, "%C3%A1lice"), (1, 10));
}
