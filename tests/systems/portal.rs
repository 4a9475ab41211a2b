//! The student portal, by its API.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

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
            let request = agent.post(url).header("content-type", "application/json").header("authorization", bearer);
            request.send(body.to_string())
        }
        None => agent.get(url).header("authorization", bearer).call(),
    };
    let mut answer = answer.expect("the server answers");
    let header = |name| answer.headers().get(name).map(|value| value.to_str().expect("ASCII").to_owned());
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
    assert_eq!(ask(server, "/api/register", Some(&credentials(student, RIGHT)), None).status, 201);
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
    assert_eq!(ask(server, "/api/register", Some(&credentials("20230001", RIGHT)), None).status, 409);

    // Log-in: five failures, told how many remain; a success clears them.
    for left in [4, 3, 2, 1] {
        let wrong = login(server, "20230001", "guess");
        assert_eq!(wrong.status, 401);
        assert_eq!(wrong.rate_limit.as_deref(), Some(format!("\"login\";r={left};t=600").as_str()));
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

#[test]
fn portal_goes_on_when_redis_stops() {
    let mut redis = RedisServer::start();
    let server = Server::start("portal", &[("REDIS_URL", &redis.url())]);
    register(&server, "20230001");
    assert_eq!(login(&server, "20230001", "guess").status, 401);
    redis.stop();
    let statuses: Vec<u16> = (0..6).map(|_| login(&server, "20230001", "guess").status).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429], "each instance by itself meanwhile");
}
