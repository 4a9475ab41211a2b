//! The admin page of the portal, as an operator and as an attacker see it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::example::Server;
use crate::support::RedisServer;

const TOKEN: &str = "0123456789abcdef";
const STUDENT: &str = "20230001";
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";

fn portal() -> Server {
    Server::start("portal", &[("ADMIN_TOKEN", TOKEN)])
}

/// The page, for who logs in as a browser does.
fn admin_url(server: &Server) -> String {
    server.url.replace("http://", &format!("http://admin:{TOKEN}@")) + "/admin"
}

/// The status of a log-in with a wrong password.
fn log_in(server: &Server, student: &str) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let body = json!({ "student_id": student, "password": "guess" });
    let request = agent
        .post(format!("{}/api/login", server.url))
        .header("content-type", "application/json");
    request
        .send(body.to_string())
        .expect("the server answers")
        .status()
        .as_u16()
}

fn is_refused(server: &Server) -> bool {
    log_in(server, STUDENT) == 429
}

fn lock_out(server: &Server) {
    let statuses: Vec<u16> = (0..6).map(|_| log_in(server, STUDENT)).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429]);
}

#[test]
fn admin_shows_who_is_refused_and_releases_him_without_naming_him() {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let server = Server::start_with_log("portal", &[("ADMIN_TOKEN", TOKEN)], log.reopen().expect("it is there"));
    let page = Browser::open(&admin_url(&server));
    page.wait_for("#connection", |text| text.contains("Live"));
    assert_eq!(page.run("return document.querySelectorAll('#refused li').length"), 0);
    page.run("window.stayed = true");

    lock_out(&server);
    let row = page.wait_for("#refused", |text| text.contains("login"));
    assert!(row.contains("5 in 10m") && row.contains("refused 1×"), "{row}");
    assert!(row.contains("9:5") || row.contains("10:00"), "{row}");
    assert!(is_refused(&server));
    page.wait_for("#refused", |text| text.contains("refused 2×"));
    page.wait_for("#functions", |text| text.contains("Near the limit"));

    page.fill("#part-1", STUDENT);
    page.click("#look-up");
    page.wait_for("#said", |text| text == "This client is refused at login.");
    let found = page.wait_for("#found", |text| {
        text.contains("refused for 9:5") || text.contains("refused for 10:00")
    });
    assert!(found.contains("Attempts: "), "{found}");
    let counted = page.run("return document.querySelector('#found .wait').innerText");
    page.wait_for("#found .wait", |text| text != counted);

    page.click("#found .row button");
    page.wait_for("#said", |text| text == "Released at login.");
    page.wait_for("#refused", str::is_empty);
    assert!(!is_refused(&server), "he is admitted again");
    assert_eq!(page.run("return window.stayed"), true, "the page was not loaded anew");

    let html = page.run("return document.documentElement.outerHTML");
    assert!(!html.as_str().expect("text").contains(STUDENT));
    let urls = page.run("return performance.getEntries().map(entry => entry.name).join(' ')");
    let urls = urls.as_str().expect("text");
    assert!(!urls.contains(STUDENT));
    let foreign = urls
        .split(' ')
        .filter(|url| url.starts_with("http") && !url.contains("127.0.0.1"));
    assert_eq!(foreign.count(), 0, "{urls}");
    drop(server);
    let logged = fs::read_to_string(log.path()).expect("a log");
    assert!(logged.contains("an operator released a client"), "{logged}");
    assert!(!logged.contains(STUDENT) && !logged.contains(TOKEN), "{logged}");
}

/// Who stands for all functions is looked up by the button beside him.
#[test]
fn admin_releases_who_is_listed_at_every_function() {
    let server = portal();
    lock_out(&server);
    let page = Browser::open(&admin_url(&server));
    page.wait_for("#refused", |text| text.contains("login"));
    page.click("#refused button");
    page.wait_for("#said", |text| text == "This client is refused at login.");
    page.click("#found .release-all");
    page.wait_for("#said", |text| text == "Released: 1 counter deleted.");
    assert!(!is_refused(&server));
}

#[test]
fn admin_works_by_keyboard_alone_and_on_a_phone() {
    let server = portal();
    lock_out(&server);
    let page = Browser::open(&admin_url(&server));
    page.narrow(320);
    page.wait_for("#refused", |text| text.contains("login"));
    let focused = |what: &str| page.run(&format!("return document.activeElement.matches({what:?})"));
    let visibly = "return getComputedStyle(document.activeElement).outlineStyle === 'solid'";
    let tab_to = |what: &str| {
        for _ in 0..10 {
            page.press(TAB);
            // Behind the last one comes the page itself.
            assert!(
                focused("body") == true || page.run(visibly) == true,
                "the focus is seen"
            );
            if focused(what) == true {
                return;
            }
        }
        panic!("there is no way to {what} by keyboard");
    };
    tab_to("#refused button");
    // It stays where it is while the list is brought up to date.
    assert!(is_refused(&server));
    page.wait_for("#refused", |text| text.contains("refused 2×"));
    assert_eq!(focused("#refused button"), true);
    tab_to("#part-1");
    page.press(STUDENT);
    page.press(ENTER);
    page.wait_for("#said", |text| text == "This client is refused at login.");
    let wide = page.run("return document.documentElement.scrollWidth");
    assert_eq!(wide, 320, "nothing is wider than the screen");
    tab_to("#found .row button");
    page.press(" ");
    page.wait_for("#said", |text| text == "Released at login.");
    assert!(!is_refused(&server));

    // A key in two parts.
    tab_to("#add-part");
    page.press(ENTER);
    assert_eq!(focused("#part-2"), true);
    page.press("7");
    page.press(ENTER);
    page.wait_for("#said", |text| text == "Nothing is counted of this client.");
    let unlabelled = "return [...document.querySelectorAll('input')].filter(input => !input.labels.length).length";
    assert_eq!(page.run(unlabelled), 0);
    assert_eq!(page.run("return document.documentElement.scrollWidth"), 320);
}

#[test]
fn admin_is_closed_to_who_has_no_token() {
    let server = portal();
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let get = |path: &str, authorization: Option<&str>| {
        let mut request = agent.get(format!("{}{path}", server.url));
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        let mut answer = request.call().expect("it answers");
        let text = answer.body_mut().read_to_string().expect("text");
        (answer.status().as_u16(), text)
    };
    for path in [
        "/admin",
        "/admin/",
        "/admin/page.js",
        "/admin/state",
        "/admin/events",
        "/admin/nothing",
    ] {
        assert_eq!(get(path, None), (401, String::new()), "{path}");
    }
    // `admin:0123456789abcdeX`, and then the right one.
    let wrong = "Basic YWRtaW46MDEyMzQ1Njc4OWFiY2RlWA==";
    let right = "Basic YWRtaW46MDEyMzQ1Njc4OWFiY2RlZg==";
    assert_eq!(get("/admin/state", Some(right)).0, 200);
    for _ in 0..10 {
        assert_eq!(get("/admin/state", Some(wrong)), (401, String::new()));
    }
    assert_eq!(get("/admin/state", Some(right)).0, 429, "guessing has an end");

    let without = Server::start("portal", &[]);
    let answer = agent.get(format!("{}/admin", without.url)).call().expect("it answers");
    assert_eq!(answer.status(), 404, "without a token there is no page");
}

/// A page on another port, that somebody opens who is logged in to the admin page.
fn attacker() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it has one").port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            // A browser opens some that it asks nothing on.
            std::thread::spawn(move || {
                let _ = connection.read(&mut [0; 4_096]);
                let html = "<!doctype html><title>evil</title>";
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n";
                let _ = write!(connection, "{head}content-length: {}\r\n\r\n{html}", html.len());
            });
        }
    });
    format!(":{port}/")
}

#[test]
fn admin_releases_nobody_for_a_page_of_another_origin() {
    let server = portal();
    lock_out(&server);
    let page = Browser::open(&admin_url(&server));
    page.wait_for("#connection", |text| text.contains("Live"));
    let release = format!("{}/admin/release", server.url);
    let attacker = attacker();
    let send = |options: &str| {
        let body = format!("JSON.stringify({{ parts: ['{STUDENT}'] }})");
        let script = format!(
            "return fetch('{release}', {{ method: 'POST', credentials: 'include', body: {body}, {options} }})
                .then(answer => answer.type + ' ' + answer.status, () => 'failed')"
        );
        page.run(&script)
    };
    // Another port, and another site.
    for host in ["http://127.0.0.1", "http://localhost"] {
        page.go(&format!("{host}{attacker}"));
        for options in [
            "mode: 'no-cors'",
            "mode: 'no-cors', headers: { 'content-type': 'text/plain' }",
            "mode: 'no-cors', headers: { 'content-type': 'application/json', 'x-rate-limit-admin': '1' }",
            "headers: { 'content-type': 'application/json', 'x-rate-limit-admin': '1' }",
            "headers: {}",
        ] {
            assert_eq!(send(options), "failed", "{options}");
            assert!(is_refused(&server), "{options}");
        }
        let form = format!(
            "const form = document.createElement('form');
             form.method = 'post'; form.enctype = 'text/plain'; form.action = '{release}';
             const input = document.createElement('input');
             input.name = '{{\"parts\":[\"{STUDENT}\"],\"function\":\"'; input.value = '\"}}';
             form.append(input); document.body.append(form); form.submit();"
        );
        page.run(&form);
        page.wait_for("html", |text| text.contains("content-type: application/json"));
        assert!(is_refused(&server), "a form of {host}");
        page.go(&format!("{host}{attacker}"));
        let frame = format!(
            "const frame = document.createElement('iframe'); frame.src = '{}/admin'; document.body.append(frame);
             return new Promise(done => frame.onload = () => done(frame.contentDocument === null))",
            server.url
        );
        assert_eq!(
            page.run(&frame),
            true,
            "a frame shows nothing of it that can be clicked"
        );
    }
    // The page itself does the same and is heard.
    page.go(&format!("{}/admin", server.url));
    let seen = send("headers: { 'content-type': 'application/json', 'x-rate-limit-admin': '1' }");
    assert_eq!(seen, "basic 200");
    assert!(!is_refused(&server));
}

#[test]
fn admin_releases_on_one_instance_who_was_refused_on_another() {
    let mut redis = RedisServer::start();
    let url = redis.url();
    let variables = [("ADMIN_TOKEN", TOKEN), ("REDIS_URL", &url)];
    let [first, second] = [(); 2].map(|()| Server::start("portal", &variables));
    lock_out(&first);
    // The second knows the numbers of the function by its first call.
    assert_eq!(log_in(&second, "20230002"), 401);

    let page = Browser::open(&admin_url(&second));
    page.wait_for("#decides", |text| text == "yes (redis)");
    page.wait_for("#refused", str::is_empty);
    page.fill("#part-1", STUDENT);
    page.click("#look-up");
    page.wait_for("#said", |text| text == "This client is refused at login.");
    page.click("#found .row button");
    page.wait_for("#said", |text| text == "Released at login.");
    assert_eq!(log_in(&second, STUDENT), 401);
    // The first may remember for a second that he was refused.
    let released = Instant::now();
    while is_refused(&first) {
        assert!(released.elapsed() < Duration::from_secs(3), "he is still refused");
        sleep(Duration::from_millis(100));
    }
    let other = Browser::open(&admin_url(&first));
    other.wait_for("#connection", |text| text.contains("Live"));
    other.wait_for("#refused", str::is_empty);

    redis.stop();
    page.click("#look-up");
    let said = page.wait_for("#said", |text| text.contains("store does not answer"));
    assert!(!said.contains(STUDENT), "{said}");
    assert_eq!(log_in(&second, "20230002"), 401, "the fallback decides");
    page.wait_for("#decides", |text| text == "no: calls go by the fallback");
    page.wait_for("#breakers", |text| text == "1");
    page.wait_for("#functions", |text| text.contains("By the fallback"));
}

/// A page that is open keeps nobody from shutting the server down, and comes back with it.
#[test]
fn admin_lets_a_server_shut_down() {
    let server = portal();
    let page = Browser::open(&admin_url(&server));
    page.wait_for("#connection", |text| text.contains("Live"));
    let took = server.shut_down();
    assert!(took < Duration::from_secs(8), "{took:?}");
    page.wait_for("#connection", |text| text.contains("Not connected"));
    let listed: Value = page.run("return document.querySelectorAll('#functions li.card').length > 0");
    assert_eq!(listed, true, "what was shown stays");
}
