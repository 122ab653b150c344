//! A real browser, controlled through the WebDriver protocol of `chromedriver`. It ends with its test in any case.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// The key of element references in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A headless Chromium with one window.
pub struct Browser {
    driver: Driver,
    session: String,
    /// The browser's process, killed if it does not respond.
    process: Option<u64>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser.
    pub fn start() -> Self {
        let [binary, chromedriver] = programs().expect("Chromium and chromedriver");
        let driver = Driver::start(&chromedriver);
        let profile = tempfile::tempdir().unwrap();
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--window-size=1200,900",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let options = json!({ "binary": binary, "args": arguments });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let answer = driver.ask("POST", "/session", Some(&wanted)).expect("a session of Chromium");
        let session = answer["sessionId"].as_str().unwrap().to_string();
        let process = answer["capabilities"]["goog:processID"].as_u64();
        Self { driver, session, process, _profile: profile }
    }

    /// Opens a file. Reloads it even if only the fragment differs.
    pub fn open(&self, file: &Path, fragment: &str) {
        self.visit(&format!("file://{}{fragment}", file.display()));
    }

    /// Opens an address and reloads it.
    pub fn visit(&self, address: &str) {
        self.post("url", json!({ "url": "about:blank" }));
        self.post("url", json!({ "url": address }));
    }

    /// Types into an element. For a file input, `text` is the path.
    pub fn type_into(&self, selector: &str, text: &str) {
        self.post(&format!("element/{}/value", self.find(selector)), json!({ "text": text }));
    }

    /// Waits until a script returns something true.
    pub fn wait_for(&self, what: &str) {
        let script = format!("return Boolean({what})");
        let start = std::time::Instant::now();
        while self.run(&script) != json!(true) {
            let seen = || self.run("return document.body.innerText");
            assert!(start.elapsed() < Duration::from_secs(60), "{what}: not in a minute; the page says {}", seen());
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The window as a PNG file.
    pub fn screenshot(&self, file: &Path) {
        let png = self.devtools("Page.captureScreenshot", json!({ "format": "png" }));
        let digits = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let encoded: Vec<u8> = png["data"].as_str().unwrap().bytes().filter(|c| *c != b'=').map(digits).collect();
        let mut bytes = Vec::new();
        for four in encoded.chunks(4) {
            let bits = four.iter().fold(0u32, |bits, six| bits << 6 | u32::from(*six)) << (6 * (4 - four.len()));
            bytes.extend(&bits.to_be_bytes()[1..four.len()]);
        }
        std::fs::write(file, bytes).unwrap();
    }

    /// Runs a script, which the page's policy does not restrict, and returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.post("execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Whether a user can see the element that a selector finds first.
    pub fn shows(&self, selector: &str) -> bool {
        let path = format!("element/{}/displayed", self.find(selector));
        self.get(&path).as_bool().unwrap()
    }

    /// The visible text of an element.
    pub fn text(&self, selector: &str) -> String {
        self.get(&format!("element/{}/text", self.find(selector))).as_str().unwrap().to_string()
    }

    /// How many elements a selector finds.
    pub fn count(&self, selector: &str) -> usize {
        self.post("elements", json!({ "using": "css selector", "value": selector })).as_array().unwrap().len()
    }

    /// Clicks on the middle of an element. Fails if another element covers it.
    pub fn click(&self, selector: &str) {
        self.post(&format!("element/{}/click", self.find(selector)), json!({}));
    }

    /// Presses a key in the focused element.
    pub fn press(&self, key: &str) {
        let actions = [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })];
        self.post("actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }));
    }

    /// Sends a command of the DevTools protocol, such as one that emulates a media type.
    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    fn find(&self, selector: &str) -> String {
        let found = self.post("element", json!({ "using": "css selector", "value": selector }));
        found[ELEMENT].as_str().unwrap().to_string()
    }

    fn get(&self, path: &str) -> Value {
        self.driver.ask("GET", &format!("/session/{}/{path}", self.session), None).unwrap()
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.driver.ask("POST", &format!("/session/{}/{path}", self.session), Some(&body)).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let ended = self.driver.ask("DELETE", &format!("/session/{}", self.session), None);
        if let (Err(_), Some(process)) = (ended, self.process) {
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
        }
    }
}

/// A running `chromedriver`.
struct Driver {
    process: Child,
    /// Kept open, so that the process can continue to write.
    output: BufReader<ChildStdout>,
    address: String,
    agent: ureq::Agent,
}

impl Driver {
    fn start(program: &Path) -> Self {
        // It chooses a free port and prints it on standard output.
        let mut process =
            Command::new(program).arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let agent = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let mut driver = Self { process, output, address: String::new(), agent: agent.into() };
        let port = (&mut driver.output)
            .lines()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_string()));
        driver.address = format!("http://127.0.0.1:{}", port.expect("chromedriver says its port"));
        driver
    }

    /// The value of the answer, or its error.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let address = format!("{}{path}", self.address);
        let request = ureq::http::Request::builder().method(method).uri(address);
        let request = request.header("content-type", "application/json");
        let sent = match body {
            Some(body) => self.agent.run(request.body(body.to_string()).unwrap()),
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut response = sent.map_err(|error| error.to_string())?;
        let text =
            response.body_mut().with_config().limit(64 << 20).read_to_string().map_err(|error| error.to_string())?;
        let mut answer: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        let value = answer["value"].take();
        if response.status().is_success() { Ok(value) } else { Err(format!("{method} {path}: {}", value["message"])) }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The paths of Chromium and chromedriver, if both are installed.
pub fn programs() -> Option<[PathBuf; 2]> {
    Some([BROWSERS.iter().find_map(|name| installed(name))?, installed("chromedriver")?])
}

/// The path of a program, if it is in `PATH`.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
