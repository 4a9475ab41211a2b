//! The login of the student portal.

use serde_json::{Value, json};

use crate::example::Server;
use crate::support::RedisServer;

const RIGHT: &str = "correct-horse";

struct Answer {
    status: u16,
    retry_after: Option<String>,
    cache_control: Option<String>,
    content_type: Option<String>,
    body: String,
}

fn post(server: &Server, body: &str) -> Answer {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut response = agent
        .post(format!("{}/login", server.url))
        .header("content-type", "application/json")
        .send(body)
        .expect("the server answers");
    let header = |name| {
        response
            .headers()
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    Answer {
        status: response.status().as_u16(),
        retry_after: header("retry-after"),
        cache_control: header("cache-control"),
        content_type: header("content-type"),
        body: response.body_mut().read_to_string().expect("a body is text"),
    }
}

fn login(server: &Server, student_id: &str, password: &str) -> Answer {
    post(
        server,
        &json!({ "student_id": student_id, "password": password }).to_string(),
    )
}

fn guesses(server: &Server, student_id: &str, times: usize) -> Vec<u16> {
    (0..times).map(|_| login(server, student_id, "guess").status).collect()
}

fn the_sixth_wrong_password_is_refused(server: &Server) {
    assert_eq!(guesses(server, "20230001", 5), [401; 5]);
    let refused = login(server, "20230001", RIGHT);
    assert_eq!(refused.status, 429, "also with the right password");
    let wait: u64 = refused
        .retry_after
        .expect("a refusal says how long to wait")
        .parse()
        .expect("in whole seconds");
    assert!((590..=600).contains(&wait), "{wait}");
    assert_eq!(refused.cache_control.as_deref(), Some("no-store"));
    assert_eq!(refused.content_type.as_deref(), Some("application/problem+json"));
    let problem: Value = serde_json::from_str(&refused.body).expect("a problem is JSON");
    assert_eq!(
        problem["type"],
        "https://iana.org/assignments/http-problem-types#quota-exceeded"
    );
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["violated-policies"], json!(["login"]));
    assert!(!refused.body.contains("20230001"), "no identity in an answer");

    assert_eq!(
        login(server, "20230002", RIGHT).status,
        200,
        "another student is not affected"
    );
    assert_eq!(
        login(server, "99999999", "guess").status,
        401,
        "nor does it show who exists"
    );
}

fn a_right_password_clears_the_record(server: &Server) {
    assert_eq!(guesses(server, "20230003", 4), [401; 4]);
    let admitted = login(server, "20230003", RIGHT);
    assert_eq!(admitted.status, 200);
    let token: Value = serde_json::from_str(&admitted.body).expect("a token is JSON");
    assert_eq!(token["token"].as_str().map(str::len), Some(32));
    assert_eq!(guesses(server, "20230003", 6), [401, 401, 401, 401, 401, 429]);
}

fn bad_input_is_an_error_and_harms_nobody(server: &Server) {
    let long = "1".repeat(1 << 20);
    for id in [
        "",
        "  ",
        &long,
        "2023\u{0}0001",
        "20230004%",
        "%zz",
        "20230004%00",
        "２０２３",
    ] {
        for _ in 0..6 {
            let answer = login(server, id, "guess");
            assert_eq!(answer.status, 422, "{:.20} is no student number", id);
            assert!(answer.body.contains("1 to 16 digits"), "{}", answer.body);
        }
    }
    for body in [
        "",
        "{",
        "student_id=20230004",
        "{\"student_id\":null,\"password\":\"x\"}",
        "{\"student_id\":\"\u{0}\"}",
    ] {
        let answer = post(server, body);
        assert!(
            (400..500).contains(&answer.status) && answer.status != 429,
            "{body}: {}",
            answer.status
        );
    }
    assert_eq!(login(server, "20230004", RIGHT).status, 200);
}

#[test]
fn login_on_the_embedded_store() {
    let server = Server::start("login", &[]);
    the_sixth_wrong_password_is_refused(&server);
    a_right_password_clears_the_record(&server);
    bad_input_is_an_error_and_harms_nobody(&server);
}

#[test]
fn login_on_redis() {
    let redis = RedisServer::start();
    let server = Server::start("login", &[("REDIS_URL", &redis.url())]);
    the_sixth_wrong_password_is_refused(&server);
    a_right_password_clears_the_record(&server);
    bad_input_is_an_error_and_harms_nobody(&server);
}

#[test]
fn login_on_two_instances_is_one_budget() {
    let redis = RedisServer::start();
    let url = redis.url();
    let instances = [(); 2].map(|()| Server::start("login", &[("REDIS_URL", &url)]));
    let statuses: Vec<u16> = (0..7)
        .map(|n| login(&instances[n % 2], "20230001", "guess").status)
        .collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    assert_eq!(guesses(&instances[0], "20230002", 4), [401; 4]);
    assert_eq!(
        login(&instances[1], "20230002", RIGHT).status,
        200,
        "one instance clears what another counted"
    );
    assert_eq!(guesses(&instances[0], "20230002", 5), [401; 5]);
}

#[test]
fn login_goes_on_when_redis_stops() {
    let mut redis = RedisServer::start();
    let server = Server::start("login", &[("REDIS_URL", &redis.url())]);
    assert_eq!(guesses(&server, "20230001", 3), [401; 3]);
    redis.stop();
    // The limit then holds within the process, which has counted along.
    assert_eq!(guesses(&server, "20230001", 3), [401, 401, 429]);
    assert_eq!(login(&server, "20230002", RIGHT).status, 200);
}
