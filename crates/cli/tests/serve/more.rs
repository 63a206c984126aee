//! Titles, attachments, searches in states, comparisons, graphs, retention, campaigns, and pages without JavaScript.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::client::{Request, Server, foreign_session, home, run};

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn a_title_is_changed_where_the_format_has_one() {
    let dir = home();
    foreign_session(dir.path());
    run(dir.path(), &["new", "chatlog", "--id", "tale", "--title", "Old"], "");
    run(dir.path(), &["new", "linggen", "--id", "sess-1700000000-abcd1234"], "");
    let server = Server::start(dir.path(), &[]);
    let put = |session: &str, title: &str| {
        let body = json!({"title": title}).to_string();
        let path = format!("/api/v1/sessions/{session}/title");
        let answer = server.ask(Request::new("PUT", &path).json(&body));
        (answer.status, answer.json())
    };
    for session in ["tale", "sess-1700000000-abcd1234"] {
        assert_eq!(put(session, " 夜 The Long Night ").0, 200, "{session}");
        let stored = server.get(&format!("/api/v1/sessions/{session}"));
        assert_eq!(stored["title"], "夜 The Long Night", "{session}");
    }
    for title in ["", "  ", "two\nlines", &"x".repeat(501)] {
        assert_eq!(put("tale", title).0, 400, "{title:?}");
    }
    let (status, refused) = put("demo", "A title");
    assert_eq!((status, &refused["code"]), (422, &"unsupported".into()), "{refused}");
    let (status, refused) = put("aaaa1111-0000-4000-8000-000000000001", "A title");
    assert_eq!((status, &refused["code"]), (403, &"read_only".into()), "{refused}");
}

#[test]
fn only_pictures_in_the_session_are_served_as_files() {
    let dir = home();
    run(dir.path(), &["new", "chatlog", "--id", "tale"], "");
    let secret = dir.path().join("secret.png");
    std::fs::write(&secret, "secret").unwrap();
    let files = [
        ("image", format!("data:image/png;base64,{PIXEL}")),
        // The bytes decide, not the name.
        ("image", format!("data:text/html;base64,{PIXEL}")),
        ("image", "data:image/svg+xml;base64,PHN2Zy8+".to_owned()),
        ("image", "https://example.com/a.png".to_owned()),
        ("image", secret.display().to_string()),
        ("image", "../../secret.png".to_owned()),
    ];
    let files: Vec<Value> =
        files.iter().map(|(kind, url)| json!({"type": kind, "url": url})).collect();
    let content = json!({"text": "Look.", "attachments": files});
    let message = json!({"type": "narrator", "content": content});
    run(dir.path(), &["append", "tale"], &message.to_string());
    let server = Server::start(dir.path(), &[]);
    let listed = server.get("/api/v1/sessions/tale/attachments");
    let listed = listed["attachments"].as_array().unwrap();
    assert_eq!(listed.len(), 6, "{listed:?}");
    for (at, one) in listed.iter().enumerate() {
        let path = format!(
            "/api/v1/sessions/tale/attachment?turn=1&seq={}&number={}",
            one["seq"], one["number"]
        );
        let answer = server.ask(Request::new("GET", &path));
        if at < 2 {
            assert_eq!(one["media"], "image/png");
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/png")));
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert!(answer.header("content-security-policy").unwrap().contains("sandbox"));
            assert!(answer.body.starts_with(b"\x89PNG"));
        } else {
            assert_eq!((answer.status, &one["media"]), (404, &Value::Null), "{one}");
        }
    }
    for query in ["turn=1&seq=1&number=0", "turn=9&seq=1&number=1", "turn=1&seq=1&number=7"] {
        let path = format!("/api/v1/sessions/tale/attachment?{query}");
        assert_eq!(server.ask(Request::new("GET", &path)).status, 404, "{query}");
    }
}

fn trust(server: &Server, value: u64) {
    let body = json!({"data": {"actor": "player", "narration": format!("Trust is {value}."),
        "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "npcs.luna.trust", "value": value}]}]}});
    let (status, answer) = server.post("/api/v1/sessions/demo/append", &body.to_string());
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn values_are_found_in_the_history_and_sessions_are_compared() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    for value in [5, 6, 7, 5] {
        trust(&server, value);
    }
    let found = server.get("/api/v1/sessions/demo/changes?path=Luna.trust&value=5");
    let turns: Vec<&Value> =
        found["changes"].as_array().unwrap().iter().map(|one| &one["turn"]).collect();
    assert_eq!(turns, [2, 5], "{found}");
    assert_eq!(found["changes"][0]["path"], "world.npcs.luna.trust");
    let first = server.get("/api/v1/sessions/demo/changes?limit=1");
    assert_eq!((first["changes"].as_array().unwrap().len(), &first["more"]), (1, &true.into()));

    let (_, fork) = server.post("/api/v1/sessions/demo/fork", r#"{"turn":3,"session":"other"}"#);
    assert_eq!(fork["session"], "other", "{fork}");
    let turn = json!({"data": {"actor": "player", "narration": "Another way."}}).to_string();
    assert_eq!(server.post("/api/v1/sessions/other/append", &turn).0, 200);
    let (_, deep) = server.post("/api/v1/sessions/other/fork", r#"{"turn":2,"session":"deep"}"#);
    assert_eq!(deep["session"], "deep", "{deep}");
    let compared = server.get("/api/v1/compare?left=demo&right=other");
    assert_eq!((&compared["common"], &compared["left"]["turns"]), (&3.into(), &5.into()));
    assert_eq!(compared["turns"][0]["turn"], 4);
    assert_eq!(compared["turns"][0]["right"][0]["text"], "Another way.", "{compared}");
    // Both ended with trust 5.
    let same = server.get("/api/v1/compare?left=demo&right=demo");
    assert_eq!((&same["common"], &same["state"]), (&5.into(), &json!([])), "{same}");
    trust(&server, 9);
    let compared = server.get("/api/v1/compare?left=demo&right=other&from=1&limit=2");
    let trust = &compared["state"].as_array().unwrap().iter().find(|one| one["left"] == 9);
    assert_eq!(trust.unwrap()["right"], 6, "{compared}");
    assert_eq!((&compared["turns"][0]["same"], &compared["next"]), (&true.into(), &3.into()));

    for session in ["demo", "other", "deep"] {
        let graph = server.get(&format!("/api/v1/sessions/{session}/graph"));
        let nodes: Vec<(&str, &Value, u64)> = graph["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["id"].as_str().unwrap(), &one["parent"], one["from"].as_u64().unwrap()))
            .collect();
        assert_eq!(
            nodes,
            [("demo", &Value::Null, 0), ("other", &0.into(), 3), ("deep", &1.into(), 2)]
        );
        let current = graph["nodes"].as_array().unwrap().iter().find(|one| one["current"] == true);
        assert_eq!(current.unwrap()["id"], session);
    }
}

#[test]
fn retention_is_planned_before_it_is_applied() {
    let dir = home();
    foreign_session(dir.path());
    for id in ["one", "two", "three"] {
        run(dir.path(), &["new", "game", "--id", id], "");
    }
    let server = Server::start(dir.path(), &[]);
    let pin = Request::new("PUT", "/api/v1/sessions/one/pin").json("{}");
    assert_eq!(server.ask(pin).status, 200);
    assert_eq!(server.ask(Request::new("GET", "/api/v1/retention")).status, 400);
    let plan = server.get("/api/v1/retention?count=2");
    let names: Vec<&str> = plan["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["expires"] == true)
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!((names.len(), &plan["expired"]), (1, &1.into()), "{plan}");
    assert_eq!(server.get("/api/v1/sessions")["total"], 5, "a plan changes nothing");
    let (status, done) = server.post("/api/v1/retention", r#"{"count":2}"#);
    assert_eq!((status, &done["sessions"][0]["id"]), (200, &names[0].into()), "{done}");
    assert_eq!(server.get("/api/v1/sessions")["total"], 4);
    let name = done["sessions"][0]["trashed"].as_str().unwrap();
    assert_eq!(server.post(&format!("/api/v1/trash/{name}/restore"), "{}").0, 200);
    assert_eq!(server.get("/api/v1/sessions")["total"], 5);
}

#[test]
fn a_campaign_is_created_and_played() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let (status, made) = server.post("/api/v1/sessions", r#"{"format":"campaign","id":"camp"}"#);
    assert_eq!(status, 201, "{made}");
    let play = |body: &str, headers: &[(&str, &str)]| {
        let mut request = Request::new("POST", "/api/v1/sessions/camp/play").json(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let answer = server.ask(request);
        (answer.status, answer.json())
    };
    let (status, opened) = play(r#"{"do":"say","line":""}"#, &[]);
    assert_eq!((status, &opened["turn"]), (200, &1.into()), "{opened}");
    assert!(!opened["text"].as_str().unwrap().is_empty(), "{opened}");
    let look = r#"{"do":"say","line":"look around"}"#;
    let (status, said) = play(look, &[("If-Match", "\"1\""), ("Idempotency-Key", "k1")]);
    assert_eq!((status, &said["turn"]), (200, &2.into()), "{said}");
    let (status, late) = play(look, &[("If-Match", "\"1\"")]);
    assert_eq!((status, &late["code"]), (412, &"conflict".into()), "{late}");
    let (status, again) = play(r#"{"do":"retry"}"#, &[]);
    assert_eq!((status, &again["turn"]), (200, &3.into()), "{again}");
    let table = server.get("/api/v1/sessions/camp/table");
    assert_eq!((table["versions"].as_array().unwrap().len(), &table["version"]), (2, &2.into()));
    assert_eq!(table["narrator"], "embedded");
    assert!(!table["party"].as_array().unwrap().is_empty(), "{table}");
    let here = table["areas"].as_array().unwrap().iter().filter(|one| one["visited"] == true);
    assert!(here.count() > 0, "{table}");
    assert_eq!(play(r#"{"do":"choose","version":1}"#, &[]).0, 200);
    assert_eq!(server.get("/api/v1/sessions/camp/table")["version"], 1);
    assert_eq!(play(r#"{"do":"edit","line":"go north"}"#, &[]).0, 200);
    assert_eq!(play(r#"{"do":"undo","turns":1}"#, &[]).0, 200);
    assert_eq!(play(r#"{"do":"redo","turns":1}"#, &[]).0, 200);
    let hero = table["party"][0]["id"].as_str().unwrap();
    assert_eq!(play(&json!({"do": "actor", "id": hero}).to_string(), &[]).0, 200);
    assert_eq!(play(r#"{"do":"actor","id":"nobody-here"}"#, &[]).0, 400);
    assert_eq!(play(r#"{"do":"dance"}"#, &[]).0, 400);
    let (_, refused) = server.post("/api/v1/sessions", r#"{"format":"game","id":"game"}"#);
    assert_eq!(refused["id"], "game");
    let (status, refused) = server.post("/api/v1/sessions/game/play", look);
    assert_eq!((status, &refused["code"]), (422, &"unsupported".into()), "{refused}");
    run(dir.path(), &["check"], "");
}

#[test]
fn the_answer_of_a_narrator_is_streamed() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/api/v1/sessions", r#"{"format":"campaign","id":"camp"}"#).0, 201);
    let stream = |body: &str, key: Option<&str>| {
        let request = Request::new("POST", "/api/v1/sessions/camp/play/stream").json(body);
        let request = request.header("Authorization", &format!("Bearer {}", server.token));
        let request = match key {
            Some(key) => request.header("If-Match", key),
            None => request,
        };
        let mut connection = server.connect();
        connection.write_all(&request.bytes(&server.address)).unwrap();
        let lines = BufReader::new(connection).lines().map_while(Result::ok);
        lines.filter(|line| line.starts_with("event: ") || line.starts_with("data: ")).collect()
    };
    let said: Vec<String> = stream(r#"{"do":"say","line":""}"#, None);
    assert_eq!(said[said.len() - 2], "event: turn", "{said:?}");
    assert!(said.last().unwrap().contains("\"turn\":1"), "{said:?}");
    let late: Vec<String> = stream(r#"{"do":"say","line":"wait"}"#, Some("\"7\""));
    assert_eq!(late[0], "event: problem", "{late:?}");
    assert!(late[1].contains("\"status\":412"), "{late:?}");
    server.wait_for_log("streamPlay");
}

#[test]
fn sessions_are_read_without_javascript() {
    let dir = home();
    foreign_session(dir.path());
    let turn = r#"{"actor":"<b>Eve</b>","narration":"<script>alert(1)</script> & a lantern 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"}"#;
    run(dir.path(), &["append", "demo"], turn);
    let server = Server::start(dir.path(), &[]);
    let page = |path: &str| {
        let answer = server.ask(Request::new("GET", path));
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    let (status, list) = page("/plain");
    assert!(status == 200 && list.contains("/plain/root%3Agame%3Ademo"), "{list}");
    assert!(list.contains("2 sessions"), "{list}");
    let (_, text) = page("/plain/root%3Agame%3Ademo");
    assert!(text.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; a lantern"), "{text}");
    assert!(!text.contains("<script") && !text.contains("ghp_wWPw"), "{text}");
    let (_, hits) = page("/plain?q=lantern");
    assert!(hits.contains("2 hits") && hits.contains("/plain/root%3Agame%3Ademo?from=2"), "{hits}");
    let refused = server.send(&Request::new("GET", "/plain"));
    assert_eq!(refused.status, 401);
}

#[test]
fn an_overview_and_a_search_fit_into_few_tokens() {
    let dir = home();
    foreign_session(dir.path());
    let server = Server::start(dir.path(), &[]);
    let about = server.get("/api/v1/sessions/demo/overview");
    assert_eq!((&about["entries"], &about["first"]["text"]), (&1.into(), &"You go in.".into()));
    assert_eq!(about["scopes"], json!(["world", "player", "scene"]), "{about}");
    let found = server.get("/api/v1/context?q=lantern&tokens=100");
    let text = found["text"].as_str().unwrap();
    assert!(text.contains(":pi:aaaa1111-0000-4000-8000-000000000001#1 "), "{found}");
    assert!(found["tokens"].as_u64().unwrap() <= 100, "{found}");
    assert_eq!(server.get("/api/v1/context?q=lantern&tokens=1")["left_out"], 1);
}
