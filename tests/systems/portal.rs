//! The student portal, by its API.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::example::Server;
use crate::support::RedisServer;

const RIGHT: &str = "correct-horse";

struct Answer {
    status: u16,
    body: String,
    rate_limit: Option<String>,
    retry_after: Option<u64>,
}

fn ask(server: &Server, path: &str, body: Option<&Value>, token: Option<&str>) -> Answer {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let url = format!("{}{path}", server.url);
    let bearer = format!("Bearer {}", token.unwrap_or("none"));
    let answer = match body {
        Some(body) => {
            let request = agent
                .post(url)
                .header("content-type", "application/json")
                .header("authorization", bearer);
            request.send(body.to_string())
        }
        None => agent.get(url).header("authorization", bearer).call(),
    };
    let mut answer = answer.expect("the server answers");
    let header = |name| {
        answer
            .headers()
            .get(name)
            .map(|value| value.to_str().expect("ASCII").to_owned())
    };
    Answer {
        status: answer.status().as_u16(),
        rate_limit: header("ratelimit"),
        retry_after: header("retry-after").map(|wait| wait.parse().expect("whole seconds")),
        body: answer.body_mut().read_to_string().expect("text"),
    }
}

fn credentials(student: &str, password: &str) -> Value {
    json!({ "student_id": student, "password": password })
}

fn register(server: &Server, student: &str) {
    assert_eq!(
        ask(server, "/api/register", Some(&credentials(student, RIGHT)), None).status,
        201
    );
}

fn login(server: &Server, student: &str, password: &str) -> Answer {
    ask(server, "/api/login", Some(&credentials(student, password)), None)
}

fn token(server: &Server, student: &str) -> String {
    let answer = login(server, student, RIGHT);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer: Value = serde_json::from_str(&answer.body).expect("JSON");
    answer["token"].as_str().expect("a token").to_owned()
}

fn get(server: &Server, path: &str, token: &str) -> Answer {
    ask(server, path, None, Some(token))
}

fn statuses(server: &Server, path: &str, token: &str, times: usize) -> Vec<u16> {
    (0..times).map(|_| get(server, path, token).status).collect()
}

fn the_portal(server: &Server) {
    register(server, "20230001");
    register(server, "20230002");
    assert_eq!(
        ask(server, "/api/register", Some(&credentials("20230001", RIGHT)), None).status,
        409
    );

    // Log-in: five failures, told how many remain; a success clears them.
    for left in [4, 3, 2, 1] {
        let wrong = login(server, "20230001", "guess");
        assert_eq!(wrong.status, 401);
        assert_eq!(
            wrong.rate_limit.as_deref(),
            Some(format!("\"login\";r={left};t=600").as_str())
        );
    }
    let student = token(server, "20230001");
    for _ in 0..5 {
        assert_eq!(login(server, "20230001", "guess").status, 401);
    }
    let refused = login(server, "20230001", RIGHT);
    assert_eq!(refused.status, 429);
    assert!(refused.retry_after.is_some_and(|wait| (590..=600).contains(&wait)));
    let attempts: Vec<u64> = serde_json::from_str(&get(server, "/api/attempts", &student).body).expect("JSON");
    assert_eq!(attempts.len(), 5, "the attempts that failed since the last success");
    assert!(attempts.is_sorted() && attempts[4] - attempts[0] < 60);

    // The API: five a second by account and function, the nearest limit wins, and one function has none.
    let other = token(server, "20230002");
    assert_eq!(get(server, "/api/profile", "nobody's").status, 401);
    assert_eq!(statuses(server, "/api/transcript", &student, 2), [200, 429]);
    assert_eq!(statuses(server, "/api/transcript", &other, 1), [200]);
    assert_eq!(statuses(server, "/api/attempts", &student, 20), [200; 20]);
    // As many as fit in a moment; a slow machine may take more than a second for it, and is admitted then.
    let refused = (0..50).any(|_| statuses(server, "/api/courses", &student, 6) == [200, 200, 200, 200, 200, 429]);
    assert!(refused, "the sixth in a second");
    sleep(Duration::from_millis(1_001));
    assert_eq!(get(server, "/api/courses", &student).status, 200);
}

#[test]
fn portal_on_the_embedded_store() {
    the_portal(&Server::start("portal", &[]));
}

#[test]
fn portal_on_redis() {
    let redis = RedisServer::start();
    the_portal(&Server::start("portal", &[("REDIS_URL", &redis.url())]));
}

/// Accounts are each instance's own here; the limit is one.
#[test]
fn portal_on_two_instances_is_one_budget() {
    let redis = RedisServer::start();
    let url = redis.url();
    let instances = [(); 2].map(|()| Server::start("portal", &[("REDIS_URL", &url)]));
    for instance in &instances {
        register(instance, "20230001");
    }
    let statuses: Vec<u16> = (0..6)
        .map(|n| login(&instances[n % 2], "20230001", "guess").status)
        .collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429]);
}

#[test]
fn portal_goes_on_when_redis_stops() {
    let mut redis = RedisServer::start();
    let server = Server::start("portal", &[("REDIS_URL", &redis.url())]);
    register(&server, "20230001");
    assert_eq!(login(&server, "20230001", "guess").status, 401);
    redis.stop();
    let statuses: Vec<u16> = (0..5).map(|_| login(&server, "20230001", "guess").status).collect();
    assert_eq!(
        statuses,
        [401, 401, 401, 401, 429],
        "each instance by itself meanwhile, and it has counted along"
    );
}

/// What a person sees: what remains, a countdown when refused, and a welcome.
#[test]
fn portal_page_shows_what_remains_and_counts_down() {
    let server = Server::start("portal", &[]);
    let page = Browser::open(&server.url);
    let log_in = |student: &str, password: &str| {
        page.fill("#student", student);
        page.fill("#password", password);
        page.click("#login");
    };
    for student in ["20230001", "20230002"] {
        page.fill("#student", student);
        page.fill("#password", RIGHT);
        page.click("#register");
        page.wait_for("#state", |text| text.contains("Registered"));
        page.run("document.getElementById('state').textContent = ''");
    }
    for left in (0..5).rev() {
        log_in("20230001", "guess");
        page.wait_for("#state", |text| text.contains(&format!("{left} more attempts")));
    }
    log_in("20230001", RIGHT);
    let first = page.wait_for("#state", |text| text.contains("Try again in"));
    assert!(first.contains("in 9:5") || first.contains("in 10:00"), "{first}");
    assert_eq!(page.run("return document.getElementById('login').disabled"), true);
    page.wait_for("#state", |text| text.contains("Try again in") && text != first);

    // Another student, on a page of her own, is not affected.
    let other = Browser::open(&server.url);
    other.fill("#student", "20230002");
    other.fill("#password", "guess");
    other.click("#login");
    other.wait_for("#state", |text| text.contains("4 more attempts"));
    other.fill("#password", RIGHT);
    other.click("#login");
    other.wait_for("#state", |text| text == "Welcome, 20230002.");
    assert_eq!(
        other.run("return document.querySelectorAll('#attempts li').length"),
        0,
        "the success cleared them"
    );
}
