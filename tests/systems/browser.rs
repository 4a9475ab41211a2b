//! A headless Chromium, driven over WebDriver.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a page may take to show something.
const PATIENCE: Duration = Duration::from_secs(20);

/// One page. Dropping it closes the browser.
pub struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub fn open(url: &str) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("this test needs `chromium` and `chromedriver` on the PATH: `scripts/test` installs them on Debian and Ubuntu");
        let mut lines = BufReader::new(driver.stdout.take().expect("it is piped"))
            .lines()
            .map_while(Result::ok);
        let port: u16 = lines
            .find_map(|line| {
                line.strip_suffix('.')?
                    .rsplit_once("successfully on port ")?
                    .1
                    .parse()
                    .ok()
            })
            .expect("it says on which port it is");
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::TempDir::new().expect("a folder");
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let mut browser = Self {
            driver,
            session: format!("http://127.0.0.1:{port}/session"),
            _profile: profile,
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": arguments } } } });
        let session = browser.ask("", &wanted);
        let id = session["sessionId"].as_str().expect("a session").to_owned();
        browser.session = format!("{}/{id}", browser.session);
        browser.ask("/url", &json!({ "url": url }));
        browser
    }

    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.ask(&format!("/element/{element}/clear"), &json!({}));
        self.ask(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    pub fn click(&self, selector: &str) {
        self.ask(&format!("/element/{}/click", self.element(selector)), &json!({}));
    }

    /// Another page in the place of this one.
    pub fn go(&self, url: &str) {
        self.ask("/url", &json!({ "url": url }));
    }

    /// Presses keys, one after the other, wherever the focus is. What is no character has one of WebDriver's private use area.
    pub fn press(&self, keys: &str) {
        let presses = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })));
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": presses.collect::<Vec<_>>() });
        self.ask("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Makes the screen that of a phone, so many points wide.
    pub fn narrow(&self, width: u32) {
        let screen = json!({ "width": width, "height": 640, "deviceScaleFactor": 1, "mobile": true });
        self.ask(
            "/goog/cdp/execute",
            &json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": screen }),
        );
    }

    /// What a script answers.
    pub fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until the element shows a text that satisfies this.
    pub fn wait_for(&self, selector: &str, shown: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.run(&format!("return document.querySelector('{selector}').innerText"));
            let text = text.as_str().unwrap_or_default();
            if shown(text) {
                return text.to_owned();
            }
            assert!(Instant::now() < deadline, "{selector} still shows {text:?}");
            sleep(Duration::from_millis(50));
        }
    }

    fn element(&self, selector: &str) -> String {
        let found = self.ask("/element", &json!({ "using": "css selector", "value": selector }));
        let found = found
            .as_object()
            .and_then(|found| found.values().next())
            .and_then(Value::as_str);
        found.expect("there is such an element").to_owned()
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = agent
            .post(format!("{}{path}", self.session))
            .header("content-type", "application/json");
        let mut answer = request.send(body.to_string()).expect("the driver answers");
        let text = answer.body_mut().read_to_string().expect("text");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        assert!(answer.status().is_success(), "{path}: {}", value["value"]["message"]);
        value["value"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let agent = ureq::agent();
        let _ = agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
