//! Live events: nothing is missed and nothing comes twice, whatever is cut off in between.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Request, Server, everturn, foreign_session, home, run};

/// An event.
#[derive(Debug, Clone)]
struct Event {
    id: Option<String>,
    name: String,
    data: Value,
}

/// An open stream of events.
struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    fn open(server: &Server, path: &str, last: Option<&str>) -> Events {
        let request =
            Request::new("GET", path).header("Authorization", &format!("Bearer {}", server.token));
        let request = match last {
            Some(last) => request.header("Last-Event-ID", last),
            None => request,
        };
        let mut stream = server.connect();
        stream.write_all(&request.bytes(&server.address)).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line.trim_end() != "" {
            line.clear();
            lines.read_line(&mut line).unwrap();
            if line.to_ascii_lowercase().starts_with("content-type:") {
                assert!(line.contains("text/event-stream"), "{line}");
            }
        }
        Events { lines }
    }

    /// The next event; `None` if the stream has ended.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event { id: None, name: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            match self.lines.read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                event.id = Some(id.to_owned());
            } else if let Some(name) = line.strip_prefix("event: ") {
                event.name = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                event.data = serde_json::from_str(data).unwrap();
                return Some(event);
            }
        }
    }

    /// The next event with a name, which must come.
    #[track_caller]
    fn expect(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().unwrap_or_else(|| panic!("the stream ended before {name}"));
            assert_ne!((event.name.as_str(), name), ("reset", "turn"), "{event:?}");
            if event.name == name {
                return event;
            }
        }
    }
}

const EVENTS: &str = "/api/v1/sessions/demo/events";

fn turn(text: &str) -> String {
    json!({"actor": "player", "narration": text,
        "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "last", "value": text}]}]})
    .to_string()
}

fn append_here(server: &Server, text: &str) {
    let body = format!(r#"{{"data":{}}}"#, turn(text));
    assert_eq!(server.post("/api/v1/sessions/demo/append", &body).0, 200);
}

fn append_elsewhere(dir: &Path, text: &str) {
    run(dir, &["append", "demo", "--wait", "20"], &turn(text));
}

#[test]
fn turns_of_this_and_of_other_processes_are_sent() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let mut events = Events::open(&server, EVENTS, None);
    events.expect("ready");
    append_here(&server, "here");
    let event = events.expect("turn");
    assert_eq!(
        (&event.data["turn"], &event.data["entries"][0]["text"]),
        (&2.into(), &"here".into())
    );
    assert_eq!(event.data["changes"][0]["value"], "here", "{event:?}");
    append_elsewhere(dir.path(), "elsewhere");
    let start = Instant::now();
    let event = events.expect("turn");
    assert_eq!(event.data["entries"][0]["text"], "elsewhere");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // From the beginning.
    let mut all = Events::open(&server, &format!("{EVENTS}?after=0"), None);
    let texts: Vec<Value> =
        (0..3).map(|_| all.expect("turn").data["entries"][0]["text"].clone()).collect();
    assert_eq!(texts, ["You go in.", "here", "elsewhere"]);
    let answer = server.ask(Request::new("GET", EVENTS).header("Last-Event-ID", "nonsense"));
    assert_eq!(answer.status, 400);
    assert_eq!(server.ask(Request::new("GET", "/api/v1/sessions/nothing/events")).status, 404);
    assert_eq!(server.send(&Request::new("GET", EVENTS)).status, 401);
}

#[test]
fn nothing_is_missed_or_repeated_across_reconnects_kills_and_restarts() {
    const TURNS: u64 = 120;
    let dir = home();
    let mut server = Server::start(dir.path(), &[]);
    // Another process writes all the time.
    let mut writer = everturn(dir.path())
        .args(["append", "demo", "--lines", "--json"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    let writing = std::thread::spawn(move || {
        for number in 0..TURNS {
            writeln!(input, "{}", turn(&number.to_string())).unwrap();
            std::thread::sleep(Duration::from_millis(number % 7));
        }
    });
    let (mut seen, mut last) = (Vec::new(), "0".to_owned());
    let mut connections = 0_u64;
    while (seen.len() as u64) < TURNS + 1 {
        connections += 1;
        if connections.is_multiple_of(7) {
            // A kill, as a crash of the server.
            server = Server::start(dir.path(), &[]);
        }
        let mut events = Events::open(&server, EVENTS, Some(&last));
        // Each connection reads a few events, and goes away with others on the way.
        for _ in 0..connections % 11 + 1 {
            let Some(event) = events.next() else { break };
            assert_ne!(event.name, "reset", "{event:?}");
            if event.name == "turn" {
                seen.push(event.data["turn"].as_u64().unwrap());
                last = event.id.unwrap();
            }
            if seen.len() as u64 == TURNS + 1 {
                break;
            }
        }
    }
    writing.join().unwrap();
    assert!(writer.wait().unwrap().success());
    assert_eq!(seen, (1..=TURNS + 1).collect::<Vec<_>>(), "{connections} connections");
}

#[test]
fn a_rewound_session_is_loaded_again() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    append_here(&server, "two");
    append_here(&server, "three");
    let mut events = Events::open(&server, EVENTS, None);
    let ready = events.expect("ready");
    assert_eq!(server.post("/api/v1/sessions/demo/rewind", r#"{"turn":1}"#).0, 200);
    assert_eq!(events.expect("reset").data["turn"], 1);
    append_here(&server, "other");
    assert_eq!(events.expect("turn").data["entries"][0]["text"], "other");
    // Also for a client that was away.
    append_here(&server, "three again");
    let mut late = Events::open(&server, EVENTS, ready.id.as_deref());
    assert_eq!(late.expect("reset").data["turn"], 3);
    assert_eq!(server.post("/api/v1/sessions/demo/trash", "{}").0, 200);
    late.expect("removed");
}

#[test]
fn a_slow_client_blocks_nobody_and_costs_little() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let mut slow: Vec<Events> = (0..8).map(|_| Events::open(&server, EVENTS, Some("0"))).collect();
    let text = "x".repeat(20_000);
    let start = Instant::now();
    for number in 0..150 {
        append_here(&server, &format!("{number} {text}"));
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 400 << 10, "{kib} KiB");
    // Everything is there when it is read at last.
    let events = slow.first_mut().unwrap();
    for number in 1..=151_u64 {
        assert_eq!(events.expect("turn").data["turn"], number);
    }
}

#[test]
fn changes_of_the_list_are_sent() {
    let dir = home();
    let file = foreign_session(dir.path());
    let server = Server::start(dir.path(), &[]);
    let mut events = Events::open(&server, "/api/v1/events", None);
    let first = events.expect("reset");
    assert_eq!(server.post("/api/v1/sessions", r#"{"format":"game","id":"second"}"#).0, 201);
    assert_eq!(events.expect("added").data["key"], "root:game:second");
    // Another program appends to its own file.
    let line = r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T10:05:01.000Z","message":{"role":"user","content":[{"type":"text","text":"The second lantern."}],"timestamp":1767261901000}}"#;
    let mut foreign =
        Events::open(&server, "/api/v1/sessions/aaaa1111-0000-4000-8000-000000000001/events", None);
    foreign.expect("ready");
    let mut open = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    // A line that is written in two parts is sent once, whole.
    let (one, two) = line.split_at(60);
    open.write_all(one.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    open.write_all(format!("{two}\n").as_bytes()).unwrap();
    assert_eq!(foreign.expect("turn").data["entries"][0]["text"], "The second lantern.");
    // The new game may be reported once more, as its files are completed.
    while !events.expect("changed").data["key"].as_str().unwrap().starts_with("pi:pi:") {}
    // What was missed is sent, and after a restart the list must be loaded.
    assert_eq!(server.post("/api/v1/sessions/second/trash", "{}").0, 200);
    let mut again = Events::open(&server, "/api/v1/events", first.id.as_deref());
    assert_eq!(again.expect("added").data["key"], "root:game:second");
    assert_eq!(again.expect("removed").data["key"], "root:game:second");
    let server = Server::start(dir.path(), &[]);
    let mut again = Events::open(&server, "/api/v1/events", first.id.as_deref());
    assert_eq!(again.next().unwrap().name, "reset");
}
