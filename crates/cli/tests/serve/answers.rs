//! Every operation of the OpenAPI document is called, and its answer is validated against the document.

use std::collections::BTreeSet;
use std::path::Path;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use crate::client::{Answer, Request, Server, foreign_session, home};

/// Streams have tests of their own.
const STREAMS: [&str; 3] = ["followSession", "followSessions", "streamPlay"];

/// A client that knows only the document.
struct DocumentedClient {
    server: Server,
    document: Value,
    /// The operations that have succeeded.
    seen: BTreeSet<String>,
}

/// An operation of the document with its method and path.
struct Operation<'d> {
    method: &'d str,
    path: &'d str,
    described: &'d Value,
}

/// Forbids fields that the document does not describe, wherever it describes any.
fn close_objects(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(close_objects);
            let is_plain = ["allOf", "oneOf", "anyOf", "additionalProperties"]
                .iter()
                .all(|word| !fields.contains_key(*word));
            if is_plain
                && fields.get("type") == Some(&json!("object"))
                && fields.contains_key("properties")
            {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close_objects),
        _ => {}
    }
}

impl DocumentedClient {
    fn new(server: Server) -> DocumentedClient {
        let document = server.get("/api/v1/openapi.json");
        DocumentedClient { server, document, seen: BTreeSet::new() }
    }

    fn operations(&self) -> impl Iterator<Item = (&str, Operation<'_>)> {
        let paths = self.document["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, described)| {
                let id = described["operationId"].as_str().unwrap();
                (id, Operation { method, path, described })
            })
        })
    }

    /// The reason why an answer does not fit its description.
    fn mismatch(&self, described: &Value, answer: &Answer) -> Option<String> {
        let response = &described["responses"][answer.status.to_string()];
        if !response.is_object() {
            return Some(format!("the status {} is not described", answer.status));
        }
        let media = answer.header("content-type").unwrap_or_default();
        let content = &response["content"][media];
        if !content.is_object() {
            return Some(format!("{media:?} is not described"));
        }
        if content["schema"]["format"] == "binary" {
            return answer.body.is_empty().then(|| "the file is empty".to_owned());
        }
        let mut schema = content["schema"].clone();
        let mut definitions = self.document["components"]["schemas"].clone();
        close_objects(&mut definitions);
        if schema.is_object() {
            schema["components"] = json!({"schemas": definitions});
        }
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("answer.json", schema).unwrap();
        let compiled = compiler.compile("answer.json", &mut schemas).unwrap();
        schemas.validate(&answer.json(), compiled).err().map(|error| format!("{error:#}"))
    }

    /// Calls an operation. `rest` has the values of the path, and then the query.
    fn call(&self, id: &str, rest: &str, body: Option<Value>) -> Answer {
        let (_, operation) = self.operations().find(|(known, _)| *known == id).unwrap();
        let (values, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut values = values.split(' ');
        let parts = operation.path.split('/').map(|part| match part.starts_with('{') {
            true => values.next().unwrap(),
            false => part,
        });
        let mut path = parts.collect::<Vec<_>>().join("/");
        if !query.is_empty() {
            path = format!("{path}?{query}");
        }
        let request = Request::new(&operation.method.to_ascii_uppercase(), &path);
        let request = match body {
            Some(body) => request.json(&body.to_string()),
            None => request,
        };
        let answer = self.server.ask(request);
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(self.mismatch(operation.described, &answer), None, "{id} {rest}: {text}");
        answer
    }

    /// Calls an operation that must succeed.
    #[track_caller]
    fn ok(&mut self, id: &str, rest: &str, body: Option<Value>) -> Answer {
        let answer = self.call(id, rest, body);
        let text = String::from_utf8_lossy(&answer.body);
        assert!((200..300).contains(&answer.status), "{id} {rest}: {} {text}", answer.status);
        self.seen.insert(id.to_owned());
        answer
    }
}

#[test]
fn every_answer_fits_the_document() {
    let dir = home();
    foreign_session(dir.path());
    let mut client = DocumentedClient::new(Server::start(dir.path(), &[]));
    for id in ["describeServer", "describeApi", "listSessions", "listTrash", "createCode"] {
        client.ok(id, "", None);
    }
    write_games(&mut client);
    write_chats(&mut client);
    damage_and_repair(&mut client, dir.path());
    for session in ["demo", "tale", "aaaa1111-0000-4000-8000-000000000001"] {
        for (id, query) in [
            ("getSession", ""),
            ("listEntries", "?raw=true&limit=2"),
            ("listMarks", ""),
            ("listBranches", ""),
            ("getTimeline", "?limit=3"),
            ("checkSession", ""),
            ("scanSession", ""),
            ("getContext", "?tokens=50"),
            ("getOverview", ""),
            ("getAbilities", ""),
            ("getUsage", ""),
            ("getGraph", ""),
            ("listAttachments", ""),
        ] {
            client.ok(id, &format!("{session}{query}"), None);
        }
        for format in ["txt", "md", "html", "pdf", "json"] {
            let file = client.ok("exportSession", &format!("{session}?format={format}"), None);
            assert!(file.header("content-disposition").unwrap().starts_with("attachment;"));
        }
    }
    client.ok("search", "?q=lantern", None);
    client.ok("searchContext", "?q=lantern&tokens=500", None);
    client.ok("compareSessions", "?left=demo&right=fork", None);
    client.ok("findChanges", "demo?path=gate", None);
    client.ok("planRetention", "?count=1000", None);
    client.ok("applyRetention", "", Some(json!({"count": 1000})));
    play_a_campaign(&mut client);
    for by in ["model", "day", "project", "format"] {
        client.ok("getStats", &format!("?by={by}"), None);
    }
    let events = client.operations().find(|(id, _)| *id == "followSession").unwrap().1.described;
    let names = events["parameters"].as_array().unwrap().iter().map(|one| one["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["session", "Last-Event-ID", "after"]);
    let code = client.ok("createCode", "", None).json()["code"].clone();
    client.ok("exchangeCode", "", Some(json!({"code": code})));
    client.ok("logOut", "", None);
    let all: BTreeSet<String> = client
        .operations()
        .map(|(id, _)| id.to_owned())
        .filter(|id| !STREAMS.contains(&id.as_str()))
        .collect();
    assert_eq!(client.seen, all);
}

fn write_games(client: &mut DocumentedClient) {
    let created = client.ok("createSession", "", Some(json!({"format": "game", "id": "second"})));
    assert_eq!(created.status, 201);
    let turn = json!({"data": {"actor": "player", "narration": "A step.",
        "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "gate", "value": "shut"}]}]}});
    client.ok("appendTurn", "demo", Some(turn.clone()));
    client.ok("appendTurn", "demo", Some(turn));
    client.ok("undoTurns", "demo", Some(json!({"turns": 1})));
    client.ok("getState", "demo", None);
    client.ok("getState", "demo?path=world.gate&turn=1", None);
    client.ok("getDiff", "demo?from=0", None);
    client.ok(
        "startScene",
        "demo",
        Some(json!({"data": {"location": {"id": "gate", "name": "A gate"}}})),
    );
    client.ok("endScene", "demo", Some(json!({})));
    client.ok("takeSnapshot", "demo", None);
    let mark = client.ok("addMark", "demo", Some(json!({"name": "here"}))).json();
    client.ok("removeMark", &format!("demo {}", mark["mark"]["id"].as_str().unwrap()), None);
    client.ok("addMark", "demo", Some(json!({"name": "there"})));
    client.ok("forkSession", "demo", Some(json!({"turn": 1, "session": "fork"})));
    client.ok("rewindSession", "demo", Some(json!({"turn": 2})));
    client.ok("pauseSession", "fork", None);
    client.ok("resumeSession", "fork", None);
    client.ok("completeSession", "fork", None);
    let pinned = client.ok("pinSession", "demo", None).json();
    assert_eq!(pinned, json!({"pinned": true, "changed": true}));
    assert_eq!(client.ok("getSession", "demo", None).json()["pinned"], true);
    client.ok("unpinSession", "demo", None);
    client.ok("archiveSession", "fork", None);
    client.ok("unarchiveSession", "fork", None);
}

fn play_a_campaign(client: &mut DocumentedClient) {
    client.ok("createSession", "", Some(json!({"format": "campaign", "id": "camp"})));
    client.ok("playTurn", "camp", Some(json!({"do": "say", "line": "look around"})));
    client.ok("getTable", "camp", None);
}

fn write_chats(client: &mut DocumentedClient) {
    let new = json!({"format": "chatlog", "id": "tale", "fields": {"title": "A tale"}});
    client.ok("createSession", "", Some(new));
    for text in ["One lantern.", "Two lanterns."] {
        let turn = json!({"data": {"type": "narrator", "text": text}});
        client.ok("appendTurn", "tale", Some(turn));
    }
    client.ok("reviseTurn", "tale", Some(json!({"change": "edit", "turn": 1, "text": "Three."})));
    let entries = client.ok("listEntries", "tale", None).json();
    assert_eq!(entries["entries"][0]["text"], "Three.", "{entries}");
    client.ok("setTitle", "tale", Some(json!({"title": "Another tale"})));
    let pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
    let files = json!([{"type": "image", "url": pixel}]);
    let content = json!({"text": "A map.", "attachments": files});
    let turn = json!({"data": {"type": "narrator", "content": content}});
    client.ok("appendTurn", "tale", Some(turn));
    client.ok("getAttachment", "tale?turn=3&seq=3&number=1", None);
    client.ok("planRepair", "tale", None);
    client.ok("applyRepair", "tale", None);
}

#[test]
fn failures_fit_the_document() {
    let dir = home();
    let client = DocumentedClient::new(Server::start(dir.path(), &[]));
    let mut tried = 0;
    let ids: Vec<String> = client.operations().map(|(id, _)| id.to_owned()).collect();
    for id in ids.iter().filter(|id| !STREAMS.contains(&id.as_str())) {
        let (_, operation) = client.operations().find(|(known, _)| known == id).unwrap();
        if operation.path.contains('{') {
            let answer = client.call(id, "nothing nothing?no_such_field=1", Some(json!([])));
            assert_eq!(answer.json()["code"], "bad_request", "{id}");
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
    // A list is not an object with these values.
    for (id, body) in [("forkSession", json!([null, null])), ("takeSnapshot", json!([]))] {
        let answer = client.call(id, "demo", Some(body));
        assert_eq!((answer.status, &answer.json()["path"]), (400, &"body".into()), "{id}");
    }
    let missing = client.call("getSession", "nothing", None);
    assert_eq!((missing.status, &missing.json()["code"]), (404, &"not_found".into()));
}

fn trash_and_restore(client: &mut DocumentedClient) {
    let trashed = client.ok("trashSession", "second", None).json();
    let name = trashed["trashed"].as_str().unwrap().to_owned();
    assert_eq!(client.call("getSession", "second", None).status, 404);
    let listed = client.ok("listTrash", "", None).json();
    let listed = listed["sessions"].as_array().unwrap().iter();
    let listed: Vec<&Value> = listed.filter(|one| one["name"] == name.as_str()).collect();
    assert!(listed.len() == 1 && listed[0]["id"] == "second", "{listed:?}");
    assert_eq!(client.ok("restoreSession", &name, None).json()["id"], "second");
    client.ok("getSession", "second", None);
    assert_eq!(client.call("restoreSession", &name, None).status, 404);
}

/// Damage is found, planned, repaired, and the repair is undone.
fn damage_and_repair(client: &mut DocumentedClient, home: &Path) {
    let turn = json!({"data": {"actor": "player", "narration": "Kept."}});
    client.ok("appendTurn", "second", Some(turn));
    // The server releases the session before it is moved to the trash and back.
    trash_and_restore(client);
    let log = home.join(".everturn/sessions/active/second/turns/turns-0001-current.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    let damaged = format!("{whole}this is not a record\n");
    std::fs::write(&log, &damaged).unwrap();
    let found = client.ok("checkSession", "second", None).json();
    assert_eq!(found["findings"][0]["severity"], "finding", "{found}");
    let plan = client.ok("planRepair", "second", None).json();
    assert!(!plan["steps"].as_array().unwrap().is_empty(), "{plan}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), damaged, "a plan changes nothing");
    let repaired = client.ok("applyRepair", "second", None).json();
    assert!(repaired["originals"].is_string(), "{repaired}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), whole);
    let found = client.ok("checkSession", "second", None).json();
    assert_eq!(found["findings"], json!([]));
    client.ok("undoRepair", "second", None);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), damaged);
    client.ok("applyRepair", "second", None);
    let entries = client.ok("listEntries", "second", None).json();
    assert_eq!(entries["entries"].as_array().unwrap().last().unwrap()["text"], "Kept.");
}
