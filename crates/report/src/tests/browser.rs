//! A headless Chromium, driven over the DevTools protocol: just enough of it to open a page, ask it
//! questions and hear everything it complains of or fetches.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

use assay_ports::child::{self, Child};

const PATIENCE: Duration = Duration::from_secs(300);

/// A running browser with one page; both end when it is dropped.
pub(super) struct Browser {
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    session: String,
    last_id: u64,
    events: Vec<Value>,
    process: Child,
    _profile: tempfile::TempDir,
}

/// How the page is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) is_dark: bool,
}

/// The browser to test with, or nothing, said aloud, where there is none.
pub(super) fn start() -> Option<Browser> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let is_wanted = assay_testing::scope() != assay_testing::Scope::Check;
    let found = std::env::split_paths(&directories)
        .filter(|_| is_wanted)
        .flat_map(|directory| names.map(|name| directory.join(name)))
        .find(|path| path.is_file());
    let Some(program) = found else {
        assay_testing::skip("chromium on PATH; install the package chromium");
        return None;
    };
    Some(Browser::launch(&program))
}

impl Browser {
    fn launch(program: &Path) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let (said, says) = std::io::pipe().unwrap();
        let mut command = Command::new(program);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(says);
        let process = child::spawn(command, &[]).unwrap();
        let mut lines = BufReader::new(said).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("DevTools listening on ")?.1.trim().to_string()))
            .expect("chromium ended without listening");
        // The browser must never wait for us to read what else it says.
        std::thread::spawn(move || lines.for_each(drop));
        let (mut socket, _) = tungstenite::connect(address.as_str()).unwrap();
        if let MaybeTlsStream::Plain(stream) = socket.get_mut() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let mut browser = Browser {
            socket,
            session: String::new(),
            last_id: 0,
            events: Vec::new(),
            process,
            _profile: profile,
        };
        browser.open_tab();
        browser
    }

    fn open_tab(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", target);
        self.session = attached["sessionId"].as_str().unwrap().into();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
    }

    /// Calls a method of the protocol and gives its result; events on the way are kept.
    pub(super) fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn read(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("chromium stopped answering") {
                let message: Value = serde_json::from_str(&text).unwrap();
                if message.get("method").is_some() {
                    self.events.push(message.clone());
                }
                return message;
            }
        }
    }

    /// Sets size and theme for the pages opened from now on.
    pub(super) fn look(&mut self, look: Look) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": look.width, "height": look.height, "deviceScaleFactor": 1, "mobile": false
            }),
        );
        let theme = if look.is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Opens `url` and waits until it has loaded; what was heard of earlier pages is forgotten.
    pub(super) fn open(&mut self, url: &str) {
        self.events.clear();
        // The page that was open before may also still say that it has loaded.
        let loader = self.call("Page.navigate", json!({"url": url}))["loaderId"].take();
        assert!(loader.is_string(), "{url} is the page that is open");
        let has_loaded = |event: &Value| {
            event["method"] == "Page.lifecycleEvent"
                && event["params"]["name"] == "load"
                && event["params"]["loaderId"] == loader
        };
        let deadline = Instant::now() + PATIENCE;
        while !self.events.iter().any(has_loaded) {
            assert!(Instant::now() < deadline, "{url} did not load");
            self.read();
        }
    }

    /// The value of a JavaScript expression; of a promise, what it comes to.
    pub(super) fn ask(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    /// Everything the page complained of: errors and warnings on the console, uncaught exceptions,
    /// refusals.
    pub(super) fn complaints(&mut self) -> Vec<String> {
        self.ask("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
        let complaint = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => {
                    let is_bad =
                        ["error", "warning", "assert"].contains(&parameters["type"].as_str()?);
                    is_bad.then(|| parameters["args"].to_string())
                }
                "Log.entryAdded" => {
                    let entry = &parameters["entry"];
                    let is_bad = ["error", "warning"].contains(&entry["level"].as_str()?);
                    is_bad.then(|| entry["text"].to_string())
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// Addresses that were asked for, but for the page itself and what it made within itself.
    pub(super) fn fetched(&self, page: &str) -> Vec<String> {
        let page = page.split('?').next().unwrap_or(page);
        self.events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent")
            .filter_map(|event| event["params"]["request"]["url"].as_str())
            .filter(|url| !url.starts_with(page))
            .filter(|url| !url.starts_with("data:") && !url.starts_with("blob:"))
            .map(String::from)
            .collect()
    }

    /// Pictures of the whole page from top to bottom, `PATH-0.png` and so on, none longer than a
    /// screen shows.
    pub(super) fn pictures(&mut self, path: &str) {
        const LONGEST: u64 = 1400;
        let size = self
            .ask("[document.documentElement.clientWidth, document.documentElement.scrollHeight]");
        let (width, height) = (size[0].as_u64().unwrap(), size[1].as_u64().unwrap());
        for (number, top) in (0..height).step_by(LONGEST as usize).enumerate() {
            let height = LONGEST.min(height - top);
            let clip = json!({"x": 0, "y": top, "width": width, "height": height, "scale": 1});
            let shot = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
            let answer = self.call("Page.captureScreenshot", shot);
            let picture = decode_base64(answer["data"].as_str().unwrap());
            std::fs::write(format!("{path}-{number}.png"), picture).unwrap();
        }
    }
}

impl Drop for Browser {
    /// A browser that is only killed leaves helpers that still write into the profile while it is
    /// removed.
    fn drop(&mut self) {
        let close = json!({"id": self.last_id + 1, "method": "Browser.close"});
        if self.socket.send(Message::text(close.to_string())).is_ok() {
            let _ = self.process.wait(Duration::from_secs(10));
        }
    }
}

/// Decodes base64.
pub(super) fn decode_base64(text: &str) -> Vec<u8> {
    let digit = |sign: u8| match sign {
        b'A'..=b'Z' => sign - b'A',
        b'a'..=b'z' => sign - b'a' + 26,
        b'0'..=b'9' => sign - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let word = four.iter().fold(0_u32, |word, sign| word << 6 | u32::from(digit(*sign)));
        let word = word << (6 * (4 - four.len()));
        bytes.extend(&word.to_be_bytes()[1..four.len()]);
    }
    bytes
}
