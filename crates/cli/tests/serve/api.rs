//! The API: what it answers, and that every answer fits its description.

use serde_json::{Value, json};

use crate::client::{Request, Server, foreign_session, home, run};

#[test]
fn sessions_are_listed_with_facets_and_cursors() {
    let dir = home();
    foreign_session(dir.path());
    for number in 1..=4 {
        run(
            dir.path(),
            &["new", "chatlog", "--id", &format!("tale-{number}"), "--title", "A tale"],
            "",
        );
    }
    let server = Server::start(dir.path(), &[]);
    let all = server.get("/api/v1/sessions");
    assert_eq!(all["total"], 6);
    assert_eq!(all["next"], Value::Null);
    assert_eq!(all["facets"]["format"][0], json!({"value": "chatlog", "count": 4}));
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = server.get(&format!("/api/v1/sessions?limit=4{cursor}"));
        assert_eq!(page["total"], 6);
        let keys = page["sessions"].as_array().unwrap().iter().map(|one| one["key"].clone());
        seen.extend(keys);
        match page["next"].as_str() {
            Some(next) => {
                let next: String = next.bytes().map(|byte| format!("%{byte:02X}")).collect();
                cursor = format!("&cursor={next}");
            }
            None => break,
        }
    }
    let listed: Vec<Value> =
        all["sessions"].as_array().unwrap().iter().map(|one| one["key"].clone()).collect();
    assert_eq!(seen, listed);
    for (query, count) in [
        ("format=chatlog", 4),
        ("format=pi", 1),
        ("source=root", 5),
        ("text=TALE", 4),
        ("text=demo", 1),
        ("status=nothing", 0),
        ("until=2026-01-02", 1),
        ("since=1d", 5),
        ("sort=title&limit=2", 6),
        ("sort=turns&limit=2", 6),
        ("sort=created&limit=2", 6),
    ] {
        assert_eq!(server.get(&format!("/api/v1/sessions?{query}"))["total"], count, "{query}");
    }
    for query in ["limit=0", "limit=1001", "limit=x", "since=never", "unknown=1"] {
        let answer = server.ask(Request::new("GET", &format!("/api/v1/sessions?{query}")));
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (400, &"bad_request".into()),
            "{query}"
        );
    }
}

#[test]
fn a_session_is_created_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    // Not even the root exists.
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.get("/api/v1/sessions")["total"], 0);
    let (status, created) =
        server.post("/api/v1/sessions", r#"{"format":"game","id":"new","name":"Vex"}"#);
    assert_eq!((status, &created["key"]), (201, &"root:game:new".into()), "{created}");
    let path = "/api/v1/sessions/root:game:new";
    for turn in 1..=3 {
        let body = json!({"data": {"actor": "player", "narration": format!("Step {turn}."),
            "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "steps", "value": turn}]}]}});
        let (status, answer) = server.post(&format!("{path}/append"), &body.to_string());
        assert_eq!((status, &answer["turn"]), (200, &turn.into()), "{answer}");
    }
    assert_eq!(server.get(&format!("{path}/state?path=world.steps"))["state"], 3);
    assert_eq!(server.get(&format!("{path}/state?path=/world/steps&turn=1"))["state"], 1);
    let diff = server.get(&format!("{path}/diff?from=1&to=3"));
    assert_eq!(diff["changes"][0]["value"], 3, "{diff}");
    let entries = server.get(&format!("{path}/entries?around=2&limit=3"));
    assert_eq!(entries["entries"].as_array().unwrap().len(), 3, "{entries}");
    assert_eq!(server.get(&format!("{path}/entries?last=1"))["entries"][0]["text"], "Step 3.");
    // Another process sees the same, while the server holds the session.
    let shown = run(dir.path(), &["show", "new"], "");
    assert!(shown.contains("Step 3."), "{shown}");
    let (_, undone) = server.post(&format!("{path}/undo"), r#"{"turns":1}"#);
    assert_eq!(undone["turn"], 4);
    let (_, forked) = server.post(&format!("{path}/fork"), r#"{"turn":2,"session":"what-if"}"#);
    assert_eq!((&forked["session"], &forked["turn"]), (&"what-if".into(), &2.into()));
    assert_eq!(server.get("/api/v1/sessions/what-if")["parent"], "new");
    let (_, rewound) = server.post(&format!("{path}/rewind"), r#"{"turn":1}"#);
    let branch = rewound["branch"].as_str().unwrap();
    assert_eq!(server.get(&format!("/api/v1/sessions/{branch}"))["turns"], 4);
    let (_, mark) = server.post(&format!("{path}/marks"), r#"{"name":"here"}"#);
    let id = mark["mark"]["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("{path}/marks"))["marks"][0]["name"], "here");
    assert_eq!(server.ask(Request::new("DELETE", &format!("{path}/marks/{id}"))).status, 200);
    let (status, paused) = server.post(&format!("{path}/pause"), "{}");
    assert_eq!((status, &paused["status"]), (200, &"paused".into()));
    let (status, refused) =
        server.post(&format!("{path}/append"), r#"{"data":{"actor":"gm","narration":"x"}}"#);
    assert_eq!((status, &refused["code"]), (409, &"wrong_status".into()));
    assert_eq!(server.post(&format!("{path}/resume"), "{}").0, 200);
    assert_eq!(server.get(path)["status"], "active");
}

#[test]
fn two_tabs_never_overwrite_each_other() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let session = server.ask(Request::new("GET", "/api/v1/sessions/demo"));
    let etag = session.header("etag").unwrap().to_owned();
    assert!(etag.starts_with("\"1."), "{etag}");
    let append = |text: &str, condition: &str| {
        let body = json!({"data": {"actor": "player", "narration": text}}).to_string();
        server.ask(
            Request::new("POST", "/api/v1/sessions/demo/append")
                .json(&body)
                .header("If-Match", condition),
        )
    };
    assert_eq!(append("first tab", &etag).status, 200);
    let late = append("second tab", &etag);
    assert_eq!((late.status, &late.json()["code"]), (412, &"conflict".into()));
    assert_eq!(append("second tab", "\"2\"").status, 200);
    assert_eq!(append("third", "2").status, 400);
    let late = server.ask(
        Request::new("POST", "/api/v1/sessions/demo/undo").json("{}").header("If-Match", &etag),
    );
    assert_eq!(late.status, 412);
    assert_eq!(server.get("/api/v1/sessions/demo")["turns"], 3);
}

#[test]
fn a_turn_with_a_key_is_stored_once() {
    let dir = home();
    let body = json!({"data": {"actor": "player", "narration": "once"}}).to_string();
    let append = |server: &Server| {
        let request = Request::new("POST", "/api/v1/sessions/demo/append").json(&body);
        server.ask(request.header("Idempotency-Key", "7f3c")).json()
    };
    let server = Server::start(dir.path(), &[]);
    assert_eq!(append(&server)["stored"], "now");
    assert_eq!(append(&server)["stored"], "before");
    drop(server);
    // Also after a kill.
    let server = Server::start(dir.path(), &[]);
    let again = append(&server);
    assert_eq!((&again["stored"], &again["turn"]), (&"before".into(), &2.into()));
    let other = Request::new("POST", "/api/v1/sessions/demo/undo").json("{}");
    let other = server.ask(other.header("Idempotency-Key", "7f3d"));
    assert_eq!((other.status, &other.json()["path"]), (400, &"Idempotency-Key".into()));
}

#[test]
fn unchanged_answers_are_not_sent_again_and_long_ones_are_compressed() {
    let dir = home();
    let turns: String = (0..200)
        .map(|number| {
            format!("{{\"actor\":\"player\",\"narration\":\"A long walk, step {number}.\"}}\n")
        })
        .collect();
    run(dir.path(), &["append", "demo", "--lines"], &turns);
    let server = Server::start(dir.path(), &[]);
    let path = "/api/v1/sessions/demo/entries?limit=1000";
    let first = server.ask(Request::new("GET", path));
    let etag = first.header("etag").unwrap();
    let again = server.ask(Request::new("GET", path).header("If-None-Match", etag));
    assert_eq!((again.status, again.body.len()), (304, 0));
    let packed = server.ask(Request::new("GET", path).header("Accept-Encoding", "gzip, br"));
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(
        packed.body.len() * 4 < first.body.len(),
        "{} of {}",
        packed.body.len(),
        first.body.len()
    );
    assert_eq!(server.post("/api/v1/sessions/demo/undo", "{}").0, 200);
    let changed = server.ask(Request::new("GET", path).header("If-None-Match", etag));
    assert_eq!(changed.status, 200);
}

#[test]
fn problems_have_codes_and_hints() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    for (method, path, body, status, code) in [
        ("GET", "/api/v1/sessions/nothing", "", 404, "not_found"),
        ("GET", "/api/v1/sessions/demo/state?turn=99", "", 404, "not_found"),
        ("GET", "/api/v1/sessions/demo/state?path=world.none", "", 404, "not_found"),
        ("GET", "/api/v1/sessions/demo/entries?cursor=x", "", 400, "bad_request"),
        ("GET", "/api/v1/nothing", "", 404, "not_found"),
        ("DELETE", "/api/v1/sessions", "", 405, "wrong_method"),
        ("POST", "/api/v1/sessions/demo/append", "{", 400, "bad_json"),
        ("POST", "/api/v1/sessions/demo/append", "{}", 400, "bad_request"),
        ("POST", "/api/v1/sessions/demo/append", r#"{"data":{},"typo":1}"#, 400, "bad_request"),
        ("POST", "/api/v1/sessions", r#"{"format":"novel"}"#, 400, "bad_request"),
        ("POST", "/api/v1/sessions", r#"{"format":"game","id":"demo"}"#, 409, "taken"),
    ] {
        let request = Request::new(method, path);
        let request = if body.is_empty() { request } else { request.json(body) };
        let answer = server.ask(request);
        let problem = answer.json();
        assert_eq!((answer.status, &problem["code"]), (status, &code.into()), "{path}: {problem}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:everturn:problem:{code}"));
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
}
