//! Lines that are not requests, and requests that fail: an error each, and the conversation goes on.

use everturn_requests::{Request, RequestLine, SessionHandler};

use crate::conversation::{Conversation, Kind, open_root};

#[test]
fn no_line_ends_the_conversation_or_changes_anything() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut game = Conversation::open(&root, &id);
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let cases = [
        ("{", "bad_json"),
        ("nothing", "bad_json"),
        ("[1]", "bad_json"),
        ("null", "bad_json"),
        ("\"append\"", "bad_json"),
        ("{} {}", "bad_json"),
        (&*deep, "bad_json"),
        ("{}", "bad_request"),
        (r#"{"request":1}"#, "bad_request"),
        (r#"{"request":"dance"}"#, "unknown_request"),
        (r#"{"request":"info","request":"sync"}"#, "bad_request"),
        (r#"{"request":"info","id":[1]}"#, "bad_request"),
        (r#"{"request":"info","id":null}"#, "bad_request"),
        (r#"{"request":"info","turn":1}"#, "bad_request"),
        (r#"{"request":"append"}"#, "bad_request"),
        (r#"{"request":"append","data":1}"#, "bad_request"),
        (r#"{"request":"append","data":{}}"#, "bad_request"),
        (r#"{"request":"append","data":{"actor":"gm"},"kee":"x"}"#, "bad_request"),
        (r#"{"request":"append","data":{"actor":"gm"},"data":{"actor":"gm"}}"#, "bad_request"),
        (r#"{"request":"append","data":{"actor":"gm"},"key":""}"#, "bad_request"),
        (r#"{"request":"append","data":{"actor":"gm"},"key":7}"#, "bad_request"),
        (r#"{"request":"append","data":{"actor":"gm"},"after":-1}"#, "bad_request"),
        (r#"{"request":"undo","turns":"all"}"#, "bad_request"),
        (r#"{"request":"undo","key":"x"}"#, "bad_request"),
        (r#"{"request":"undo"}"#, "bad_request"),
        (r#"{"request":"state","path":7}"#, "bad_request"),
        (r#"{"request":"rewind"}"#, "bad_request"),
        (r#"{"request":"rewind","turn":18446744073709551616}"#, "bad_request"),
    ];
    for (line, code) in cases {
        let shown: String = line.chars().take(80).collect();
        assert_eq!(game.error(line), code, "{shown}");
        assert_eq!(game.ok(r#"{"request":"info"}"#)["turns"], 0, "{shown}");
    }
    let answer = game.send(b"{\"request\":\"info\",\"x\":\"\xff\"}");
    assert_eq!(answer["error"]["code"], "bad_json");
    let data = format!(r#"{{"actor":"gm","deep":{deep}}}"#);
    assert_eq!(
        game.ok(&format!(r#"{{"request":"append","data":{}}}"#, Kind::Game.turn(1)))["turn"],
        1
    );
    let answer = game.send(format!(r#"{{"id":"d","request":"append","data":{data}}}"#).as_bytes());
    assert_eq!(answer["id"], "d");
}

#[test]
fn an_error_names_the_field_and_the_next_step() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut game = Conversation::open(&root, &id);
    let mut error = |line: &str| game.send(line.as_bytes())["error"].clone();
    let unknown = error(r#"{"request":"dance"}"#);
    assert_eq!(unknown["path"], "request");
    assert!(unknown["hint"].as_str().unwrap().contains("append, undo"), "{unknown}");
    assert_eq!(error(r#"{"request":"info","turn":1}"#)["path"], "turn");
    let refused = error(r#"{"request":"append","data":{"narration":"x"}}"#);
    assert_eq!(refused["path"], "data");
    assert!(refused["message"].as_str().unwrap().contains("actor"), "{refused}");
    assert_eq!(error(r#"{"request":"state","path":"world.x"}"#)["path"], "world.x");
    drop(error(r#"{"request":"pause"}"#));
    let paused = error(r#"{"request":"append","data":{"actor":"gm"}}"#);
    assert_eq!(paused["hint"], "send the request resume");
}

#[test]
fn an_id_is_echoed_as_it_was_sent() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut handler = SessionHandler::new(root.find(&id).unwrap());
    for id in ["1", "-1", "1e2", "9007199254740993", "\"a\"", "\"\\u00e9\"", "\"\""] {
        for request in ["mark_list", "dance"] {
            let line = format!(r#"{{"request":"{request}","id":{id}}}"#);
            let answer = handler.answer_line(line.as_bytes());
            assert!(answer.text.starts_with(&format!("{{\"id\":{id},")), "{}", answer.text);
            assert!(!answer.is_last);
        }
    }
    let too_long = handler.answer(&RequestLine::TooLong);
    assert!(too_long.text.starts_with(r#"{"error":{"code":"too_long""#), "{}", too_long.text);
    assert!(handler.answer_line(br#"{"request":"close"}"#).is_last);
}

#[test]
fn a_failed_write_leaves_the_files_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut game = Conversation::open(&root, &id);
    game.append(&Kind::Game.turn(1), "k");
    game.ok(r#"{"request":"sync"}"#);
    let before = files(dir.path());
    for line in [
        r#"{"request":"append","data":{"actor":"gm","turnId":7}}"#,
        r#"{"request":"append","data":{"actor":"gm"},"after":7}"#,
        r#"{"request":"append","data":{"actor":"gm"},"key":"k"}"#,
        r#"{"request":"append","data":{"actor":"gm","deltas":[{"scope":"world","deltas":[{"op":"push","path":"step","value":1}]}]}}"#,
        r#"{"request":"undo","turns":9}"#,
        r#"{"request":"rewind","turn":9}"#,
        r#"{"request":"fork","turn":9}"#,
        r#"{"request":"fork","session":"../x"}"#,
        r#"{"request":"scene_end"}"#,
        r#"{"request":"resume"}"#,
        r#"{"request":"mark_remove","mark":"x"}"#,
    ] {
        game.error(line);
        game.ok(r#"{"request":"sync"}"#);
        assert!(files(dir.path()) == before, "{line}");
    }
}

/// The contents of all files of sessions.
#[expect(
    clippy::disallowed_methods,
    reason = "the test looks at the files as another program would"
)]
fn files(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.join("sessions")];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => found.push((path.clone(), std::fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn requests_of_the_library_are_parsed_like_lines() {
    assert!(Request::parse("info", "{}").is_ok());
    let error = Request::parse("undo", r#"{"turns":1,"turns":2}"#).unwrap_err();
    assert_eq!((error.code.as_str(), error.path.as_deref()), ("bad_request", Some("turns")));
}
