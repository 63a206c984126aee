//! A running server, and an HTTP client that sends exactly what it is told.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The binary with an empty environment, in a directory that is also its home.
pub(crate) fn everturn(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
    command.current_dir(directory).env_clear().env("HOME", directory);
    command.env("EVERTURN_MOUNTINFO", "/dev/null");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command that must succeed.
pub(crate) fn run(directory: &Path, words: &[&str], input: &str) -> String {
    let mut child = everturn(directory).args(words).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) code: String,
    pub(crate) token: String,
    /// What the server has written to stderr so far.
    pub(crate) log: Arc<Mutex<String>>,
}

fn collect(stderr: ChildStderr) -> Arc<Mutex<String>> {
    let log = Arc::new(Mutex::new(String::new()));
    let shared = Arc::clone(&log);
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut log = shared.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
    log
}

impl Server {
    /// Starts a server, and exchanges its code for a token.
    pub(crate) fn start(directory: &Path, words: &[&str]) -> Server {
        let mut server = Server::start_only(directory, words);
        let body = format!(r#"{{"code":"{}"}}"#, server.code);
        let answer = server.send(&Request::new("POST", "/api/v1/token").json(&body));
        assert_eq!(answer.status, 200, "{answer:?}");
        server.token = answer.json()["token"].as_str().unwrap().to_owned();
        server
    }

    /// Starts a server, and leaves its code unused.
    pub(crate) fn start_only(directory: &Path, words: &[&str]) -> Server {
        let mut command = everturn(directory);
        command.args(["serve", "--json"]).args(words);
        let mut child = command.spawn().unwrap();
        let log = collect(child.stderr.take().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            std::thread::sleep(Duration::from_millis(200));
            panic!("{line:?} {}", log.lock().unwrap())
        });
        let base = ready["base"].as_str().unwrap();
        let address = base.strip_prefix("http://").unwrap().to_owned();
        let code = ready["code"].as_str().unwrap().to_owned();
        assert_eq!(ready["url"], format!("{base}/login?code={code}"));
        Server { child, address, code, token: String::new(), log }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for the end, and returns the exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn send(&self, request: &Request) -> Answer {
        let mut stream = self.connect();
        // A server that refuses early may close the connection while the body is sent.
        stream.write_all(&request.bytes(&self.address)).ok();
        Answer::read(&mut BufReader::new(stream))
    }

    /// Sends a request with the token.
    pub(crate) fn ask(&self, request: Request) -> Answer {
        self.send(&request.header("Authorization", &format!("Bearer {}", self.token)))
    }

    /// Gets JSON that must be there.
    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.ask(Request::new("GET", path));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Posts JSON, and returns status and answer.
    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let answer = self.ask(Request::new("POST", path).json(body));
        (answer.status, answer.json())
    }

    /// Waits until the log contains a text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        let start = Instant::now();
        while !self.log.lock().unwrap().contains(text) {
            assert!(start.elapsed() < PATIENCE, "no {text:?} in {}", self.log.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A request, as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    line: (String, String),
    headers: Vec<(String, String)>,
    host: Option<String>,
    body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Request {
        let line = (method.to_owned(), path.to_owned());
        Request { line, headers: Vec::new(), host: None, body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends another host than the address; none at all if it is empty.
    pub(crate) fn host(self, host: &str) -> Request {
        Request { host: Some(host.to_owned()), ..self }
    }

    pub(crate) fn json(self, body: &str) -> Request {
        let request = self.header("Content-Type", "application/json");
        Request { body: body.as_bytes().to_vec(), ..request }
    }

    pub(crate) fn body(self, media: &str, body: &[u8]) -> Request {
        let request = self.header("Content-Type", media);
        Request { body: body.to_vec(), ..request }
    }

    pub(crate) fn bytes(&self, address: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.line.0, self.line.1);
        let host = self.host.as_deref().unwrap_or(address);
        if !host.is_empty() {
            head.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("Connection: close\r\n\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(stream: &mut impl BufRead) -> Answer {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {line:?}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut body = Vec::new();
        stream.read_to_end(&mut body).unwrap();
        Answer { status, headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// A directory with a game of one turn; its root is `.everturn` below it, as for a user.
pub(crate) fn home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["new", "game", "--id", "demo"], "");
    let turn = r#"{"actor":"player","narration":"You go in.","deltas":[{"scope":"world","deltas":[{"op":"set","path":"gate","value":"open"}]}]}"#;
    run(dir.path(), &["append", "demo"], turn);
    dir
}

/// A file of a program that the binary only reads.
pub(crate) fn foreign_session(home: &Path) -> PathBuf {
    let dir = home.join(".pi/agent/sessions/--srv-app--");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("2026-01-01T10-00-00-000Z_aaaa1111-0000-4000-8000-000000000001.jsonl");
    let lines = [
        r#"{"type":"session","version":3,"id":"aaaa1111-0000-4000-8000-000000000001","timestamp":"2026-01-01T10:00:00.000Z","cwd":"/srv/app"}"#,
        r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"The foreign lantern."}],"timestamp":1767261601000}}"#,
    ];
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    file
}
