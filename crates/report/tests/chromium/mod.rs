//! A headless browser that a test drives as a person would: real mouse and key events, by the DevTools
//! protocol over a pipe (descriptors 3 and 4, a NUL after each message; no port is opened).
//!
//! Remembers every exception and every error on the page's console.

use std::{
    env,
    fs::File,
    io::{self, BufRead, BufReader, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use command_fds::{CommandFdExt, FdMapping};
use serde_json::{Value, json};
use tempfile::TempDir;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The browser; says so where there is none.
pub(crate) fn browser() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let found = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        skip::skip!("none of {} is installed", BROWSERS.join(", "));
    }
    found
}

/// How often a page is looked at until it has reacted: for 20 s at least, because the machine may be busy.
const LOOKS: u32 = 1000;

/// The size of a window or of an element, in pixels of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size<T> {
    pub(crate) width: T,
    pub(crate) height: T,
}

/// A place of the window, in its pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A page in a browser of its own.
pub(crate) struct Page {
    child: Child,
    orders: File,
    answers: BufReader<File>,
    session: Option<String>,
    last: u64,
    /// What the page complained of.
    pub(crate) wrong: Vec<String>,
    events: Vec<String>,
    _folder: TempDir,
}

impl Page {
    /// Opens a page from its text, in a window of so many pixels.
    pub(crate) fn open(browser: &Path, html: &str, window: Size<u32>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("page.html");
        std::fs::write(&file, html).expect("the page is written");
        let (theirs, orders) = io::pipe().expect("a pipe");
        let (answers, also_theirs) = io::pipe().expect("a pipe");
        let mut command = Command::new(browser);
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .fd_mappings(vec![
                FdMapping { parent_fd: OwnedFd::from(theirs), child_fd: 3 },
                FdMapping { parent_fd: OwnedFd::from(also_theirs), child_fd: 4 },
            ])
            .expect("two different descriptors");
        let child = command.spawn().expect("the browser starts");
        // The browser's ends are closed here, so that its end is seen.
        drop(command);
        let mut page = Self {
            child,
            orders: File::from(OwnedFd::from(orders)),
            answers: BufReader::new(File::from(OwnedFd::from(answers))),
            session: None,
            last: 0,
            wrong: Vec::new(),
            events: Vec::new(),
            _folder: folder,
        };
        page.begin(window, &format!("file://{}", file.display()));
        page
    }

    fn begin(&mut self, window: Size<u32>, address: &str) {
        let target = self.order("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.order("Target.attachToTarget", attach);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            self.order(&format!("{domain}.enable"), json!({}));
        }
        self.order(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": window.width,
                "height": window.height,
                "deviceScaleFactor": 1,
                "mobile": window.width < 500,
            }),
        );
        self.order("Page.navigate", json!({ "url": address }));
        self.await_event("Page.loadEventFired");
    }

    /// Lays the page out as for paper of so many pixels across, without the script's help.
    pub(crate) fn on_paper(&mut self, size: Size<u32>) {
        let order = json!({
            "width": size.width, "height": size.height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.order("Emulation.setDeviceMetricsOverride", order);
        self.order("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    }

    /// The page as a printer gets it, a PDF.
    pub(crate) fn print(&mut self) -> String {
        let printed = self.order("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        printed["data"].as_str().unwrap_or_default().to_owned()
    }

    /// What a screen reader says, node by node: role and name.
    pub(crate) fn heard(&mut self) -> Vec<(String, String)> {
        let tree = self.order("Accessibility.getFullAXTree", json!({}));
        let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        let nodes = tree["nodes"].as_array().cloned().unwrap_or_default();
        let heard = nodes.iter().filter(|node| node["ignored"] != json!(true));
        heard.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
    }

    /// The value of an expression of the page's script.
    pub(crate) fn read(&mut self, expression: &str) -> Value {
        let order =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.order("Runtime.evaluate", order);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self, expression: &str) -> String {
        self.read(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks at a place of the window, as a mouse does.
    pub(crate) fn click(&mut self, at: Point) {
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, at);
        }
    }

    /// Moves the mouse to a place of the window.
    pub(crate) fn point(&mut self, at: Point) {
        self.mouse("mouseMoved", at);
    }

    fn mouse(&mut self, kind: &str, at: Point) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event =
            json!({ "type": kind, "x": at.x, "y": at.y, "button": button, "clickCount": 1 });
        self.order("Input.dispatchMouseEvent", event);
    }

    /// Types into whatever has the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.order("Input.insertText", json!({ "text": text }));
    }

    /// Presses a key that types nothing.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.order("Input.dispatchKeyEvent", event);
        }
    }

    /// Waits until an expression of the page's script has this value, as a person waits for a page to react.
    pub(crate) fn await_text(&mut self, expression: &str, text: &str) {
        let mut seen = String::new();
        for _ in 0..LOOKS {
            seen = self.text(expression);
            if seen == text {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("{expression}: {seen:?}, and not {text:?}");
    }

    /// The middle of the first element that the selector finds, scrolled into sight and drawn there; and
    /// its size.
    pub(crate) fn find(&mut self, selector: &str) -> (Point, Size<f64>) {
        let found = self.read(&format!(
            "(async () => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             for (let i = 0; i < 2; i += 1) await new Promise(requestAnimationFrame); \
             const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2, b.width, b.height]; }})()"
        ));
        let number = |at: usize| found[at].as_f64().expect("a place");
        (Point { x: number(0), y: number(1) }, Size { width: number(2), height: number(3) })
    }

    fn order(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("an order is JSON");
        bytes.push(0);
        self.orders.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.message();
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn await_event(&mut self, name: &str) {
        while !self.events.iter().any(|seen| seen == name) {
            self.message();
        }
    }

    /// The next message; events are remembered.
    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.answers.read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&bytes).expect("an answer is JSON");
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(&parameters["exceptionDetails"]),
            Some("Log.entryAdded") => Some(&parameters["entry"]),
            Some("Runtime.consoleAPICalled") if parameters["type"] == "error" => Some(parameters),
            _ => None,
        };
        self.wrong.extend(complaint.map(Value::to_string));
        self.events.extend(message["method"].as_str().map(str::to_owned));
        message
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
