//! Mended copies of files of other programs: the files themselves stay as they are, and the copies are whole.

use std::sync::Arc;

use everturn::finding::FindingCode;
use everturn::format::{Operation, SessionError, SessionFormat, SessionReader};
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::repair::RepairedCopy;
use everturn::store::{MemoryStore, Store};
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;
use crate::foreign::records::{FILE, answers, calls, files, says, user};
use crate::foreign::support::{branch_lines, codes, counts, layout, lines, only, store, told};

/// A file, what was planned for it, and the copy in a store of its own.
struct Copied {
    repaired: RepairedCopy,
    copy: Vec<u8>,
    aside: Option<Vec<u8>>,
    reader: Box<dyn SessionReader>,
}

fn read(store: &Arc<dyn Store>, name: &str) -> Option<Vec<u8>> {
    store.read(&FilePath::parse(name).unwrap(), 0..u64::MAX).ok()
}

fn repaired(layout: &dyn SessionFormat, file: &str, bytes: &[u8]) -> Copied {
    let from = store(&[(file, bytes)]);
    let place = only(layout, &from);
    let repaired = layout.foreign().repaired_copy(&from, &place).unwrap();
    let into: Arc<dyn Store> = Arc::new(MemoryStore::default());
    repaired.write(&into).unwrap();
    assert_eq!(read(&from, file).unwrap(), bytes, "the original stays as it is");
    let name = repaired.name.as_str();
    let (copy, aside) = (read(&into, name).unwrap(), read(&into, &format!("{name}.quarantine")));
    let reader = layout.open(&into, &only(layout, &into)).unwrap();
    assert_eq!(codes(&reader.findings()), [""; 0], "the copy is whole");
    // A copy of the copy has nothing to mend.
    let again = layout.foreign().repaired_copy(&into, &only(layout, &into)).unwrap();
    assert!(!again.is_needed(), "{:?}", again.repairs);
    assert!(
        matches!(repaired.write(&into), Err(SessionError::Request { .. })),
        "nothing is replaced"
    );
    Copied { repaired, copy, aside, reader }
}

fn claude(bytes: &[u8]) -> Copied {
    repaired(layout("claude-code"), FILE, bytes)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn done(copied: &Copied) -> Vec<String> {
    let shown = |repair: &everturn::repair::CopyRepair| {
        let code = repair.code.map_or("-", FindingCode::as_str);
        format!("{} {code}", repair.line.unwrap_or(0))
    };
    copied.repaired.repairs.iter().map(shown).collect()
}

#[test]
fn lines_of_every_program_are_mended_alike() {
    for (name, file, records) in files() {
        let texts: Vec<String> = records.iter().map(Value::to_string).collect();
        let [one, two, three] = [&texts[0], &texts[1], &texts[2]];
        let open = if name == "sillytavern" { "" } else { "\n" };
        let whole = format!("{one}\n{two}\n{three}{open}");
        let check = |damaged: &str, copy: &str, aside: Option<&str>, expect: &[&str]| {
            let copied = repaired(layout(name), file, damaged.as_bytes());
            assert_eq!(text(&copied.copy), copy, "{name}: {damaged:?}");
            assert_eq!(copied.aside.as_deref().map(text), aside, "{name}: {damaged:?}");
            assert_eq!(done(&copied), expect, "{name}: {damaged:?}");
        };
        check(&format!("\u{feff}{whole}"), &whole, None, &["1 -"]);
        check(&format!("{one}{two}\n{three}\n"), &whole, None, &["1 glued-records"]);
        check(&format!("{one}\n{two}{three}"), &whole, None, &["2 glued-records"]);
        check(
            &format!("{whole}\n\0\0\0\0"),
            &whole,
            None,
            &["4 nul-tail"].map(|it| if open.is_empty() { it } else { "5 nul-tail" }),
        );
        let noise = format!("{one}\n{{\"x\": \n{two}\n[1, 2]\n{three}\n");
        check(&noise, &whole, Some("{\"x\": \n[1, 2]\n"), &["2 bad-line", "4 bad-record"]);
        for end in 1..three.len() {
            let torn = three.get(..end).unwrap();
            let copy = format!("{one}\n{two}{open}");
            let aside = format!("{torn}\n");
            check(&format!("{one}\n{two}\n{torn}"), &copy, Some(&aside), &["3 torn-tail"]);
        }
        // Lines end as they did.
        let crlf = format!("{one}\r\n{two}{three}\r\n");
        let expect = whole.replace('\n', "\r\n");
        check(&crlf, &expect, None, &["2 glued-records"]);
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_aside() {
    let mut bytes = lines(&[user("u1", "", "One.")]);
    bytes.extend_from_slice(b"{\"a\":\"\xff\"}\n");
    bytes.extend_from_slice(&lines(&[says("a1", "u1", "First.")]));
    let copied = claude(&bytes);
    assert_eq!(done(&copied), ["2 not-utf8"]);
    assert_eq!(copied.aside.unwrap(), b"{\"a\":\"\xff\"}\n");
    assert_eq!(copied.copy, lines(&[user("u1", "", "One."), says("a1", "u1", "First.")]));
}

#[test]
fn a_file_that_is_whole_needs_no_copy() {
    for (name, file, records) in files() {
        let from = store(&[(file, &lines(&records))]);
        let repaired =
            layout(name).foreign().repaired_copy(&from, &only(layout(name), &from)).unwrap();
        assert!(!repaired.is_needed(), "{name}: {:?}", repaired.repairs);
        assert!(repaired.findings.is_empty());
    }
}

#[test]
fn records_whose_parent_is_lost_follow_the_one_before() {
    let records = [
        user("u1", "", "One."),
        says("a1", "u1", "First."),
        user("u2", "lost", "Two."),
        says("a2", "u2", "Second."),
    ];
    let copied = claude(&lines(&records));
    assert_eq!(done(&copied), ["3 dangling-parent"]);
    assert_eq!(branch_lines(&*copied.reader), [""; 0]);
    assert_eq!(told(&*copied.reader).len(), 4);
    assert!(text(&copied.copy).contains(r#""parentUuid":"a1""#));
    assert!(!text(&copied.copy).contains("lost"));
    // Nothing else has changed.
    let expect = text(&lines(&records)).replace(r#""lost""#, r#""a1""#);
    assert_eq!(text(&copied.copy), expect);
    // A circle is cut where the reader cuts it.
    let copied = claude(&lines(&[says("a1", "u1", "B."), user("u1", "a1", "A.")]));
    assert_eq!(done(&copied), ["1 dangling-parent"]);
    assert!(text(&copied.copy).contains(r#""parentUuid":null"#));
    assert_eq!(counts(&*copied.reader), [2, 2, 0, 0, 0]);
}

#[test]
fn a_parent_that_is_lost_in_a_tree_of_another_program() {
    let entry = |id: &str, parent: Value, text: &str| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T10:00:00.000Z",
            "message": {"role": "user", "content": text}})
    };
    let records = [
        json!({"type": "session", "version": 3, "id": "x", "cwd": "/srv/app"}),
        entry("aaaa0001", Value::Null, "One."),
        entry("aaaa0002", json!("ffff0000"), "Two."),
    ];
    let copied = repaired(layout("pi"), "2026_x.jsonl", &lines(&records));
    assert_eq!(done(&copied), ["3 dangling-parent"]);
    assert!(text(&copied.copy).contains(r#""parentId":"aaaa0001""#));
}

#[test]
fn second_records_of_an_id_are_set_aside_or_renamed() {
    let (one, other) = (says("a1", "u1", "First."), says("a1", "u1", "Another first."));
    let records =
        [user("u1", "", "One."), one.clone(), one.clone(), other, user("u2", "a1", "Two.")];
    let copied = claude(&lines(&records));
    assert_eq!(done(&copied), ["3 duplicate-id", "4 duplicate-id"]);
    assert_eq!(copied.aside.as_deref().map(text), Some(format!("{one}\n").as_str()));
    assert_eq!(copied.repaired.findings, []);
    let all = text(&copied.copy);
    assert!(all.contains("Another first.") && all.matches(r#""uuid":"a1""#).count() == 1);
    // The same file is mended the same way.
    assert_eq!(claude(&lines(&records)).copy, copied.copy);
}

#[test]
fn calls_that_nobody_answered_are_answered_as_interrupted() {
    let records = [
        user("u1", "", "List."),
        calls("a1", "u1", "t1"),
        user("u2", "a1", "Are you there?"),
        says("a2", "u2", "Yes."),
    ];
    let copied = claude(&lines(&records));
    assert_eq!(done(&copied), ["2 orphan-call"]);
    assert_eq!(copied.repaired.findings, []);
    assert_eq!(
        told(&*copied.reader),
        [
            "1 user: List.",
            "1 tool_call: Bash {\"command\":\"ls\"}",
            "1 tool_result: [interrupted: the tool did not answer]",
            "2 user: Are you there?",
            "2 assistant: Yes.",
        ]
    );
    let all: Vec<Value> =
        text(&copied.copy).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The way from the last record back leads over the answer.
    assert_eq!(all[2]["parentUuid"], "a1");
    assert_eq!(all[3]["parentUuid"], all[2]["uuid"]);
    assert_eq!(all[2]["sessionId"], all[0]["sessionId"]);
    assert_eq!([&all[0], &all[1], &all[4]], [&records[0], &records[1], &records[3]]);
    // A call at the end of the file, as after a kill.
    let copied = claude(&lines(&records[..2]));
    assert_eq!(told(&*copied.reader).len(), 3);
    // An answer that nobody asked for stays, and is told.
    let stray = [user("u1", "", "List."), answers("u2", "u1", "t9"), calls("a1", "u2", "t1")];
    let copied = claude(&lines(&stray));
    assert_eq!(done(&copied), ["3 orphan-call"]);
    assert_eq!(codes(&copied.repaired.findings), ["2 orphan-call"]);
}

#[test]
fn every_program_gets_the_answer_in_its_own_words() {
    let codex = |payload: Value| json!({"timestamp": "2026-01-01T10:00:00Z", "type": "response_item", "payload": payload});
    let call =
        json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"});
    let custom =
        json!({"type": "custom_tool_call", "name": "patch", "input": "x", "call_id": "c2"});
    let asked = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]});
    let goose = json!({"type": "toolRequest", "id": "g1", "toolCall": {"status": "success", "value": {"name": "sh", "arguments": {}}}});
    let pi = json!([{"type": "toolCall", "id": "p1", "name": "sh", "arguments": {}}, {"type": "toolCall", "id": "p2", "name": "sh", "arguments": {}}]);
    let pi_entry = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T10:00:00.000Z", "message": message});
    let files: Vec<(&str, &str, Vec<Value>, usize)> = vec![
        ("codex", "rollout-1.jsonl", vec![codex(asked), codex(call), codex(custom)], 2),
        (
            "gemini-cli",
            "session-1.jsonl",
            vec![
                json!({"sessionId": "g", "startTime": "2026-01-01T10:00:00Z"}),
                json!({"id": "m1", "type": "user", "content": "Go.", "timestamp": "2026-01-01T10:00:00Z"}),
                json!({"id": "m2", "type": "gemini", "content": "", "timestamp": "2026-01-01T10:00:01Z",
                    "toolCalls": [{"id": "c1", "name": "ls", "args": {}, "status": "executing"}]}),
            ],
            1,
        ),
        (
            "goose",
            "g.jsonl",
            vec![
                json!({"description": "G", "working_dir": "/srv/app"}),
                json!({"role": "user", "created": 1_767_261_600, "content": [{"type": "text", "text": "Go."}]}),
                json!({"role": "assistant", "created": 1_767_261_601, "content": [goose]}),
            ],
            1,
        ),
        (
            "pi",
            "2026_x.jsonl",
            vec![
                json!({"type": "session", "version": 3, "id": "x", "cwd": "/srv/app"}),
                pi_entry("aaaa0001", Value::Null, json!({"role": "user", "content": "Go."})),
                pi_entry(
                    "aaaa0002",
                    json!("aaaa0001"),
                    json!({"role": "assistant", "content": pi}),
                ),
                pi_entry("aaaa0003", json!("aaaa0002"), json!({"role": "user", "content": "And?"})),
            ],
            2,
        ),
    ];
    for (name, file, records, calls) in files {
        let copied = repaired(layout(name), file, &lines(&records));
        assert_eq!(copied.repaired.repairs.len(), calls, "{name}: {:?}", copied.repaired.repairs);
        assert_eq!(copied.repaired.findings, [], "{name}");
        assert_eq!(codes(&copied.reader.warnings()), [""; 0], "{name}");
        let told = told(&*copied.reader);
        let answers = told.iter().filter(|it| it.contains("tool_result: [interrupted")).count();
        assert_eq!(answers, calls, "{name}: {told:?}");
        let order = |needle: &str| told.iter().position(|it| it.contains(needle));
        assert!(order("tool_call") < order("tool_result"), "{name}: {told:?}");
        assert_eq!(branch_lines(&*copied.reader), [""; 0], "{name}");
    }
}

#[test]
fn a_newer_version_of_a_message_answers_for_the_older_one() {
    let message = |calls: Value| json!({"id": "m1", "type": "gemini", "content": "", "timestamp": "2026-01-01T10:00:01Z", "toolCalls": [calls]});
    let records = [
        json!({"sessionId": "g", "startTime": "2026-01-01T10:00:00Z"}),
        message(json!({"id": "c1", "name": "ls", "args": {}, "status": "executing"})),
        message(
            json!({"id": "c1", "name": "ls", "args": {}, "status": "success", "result": [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a"}}}]}),
        ),
    ];
    let from = store(&[("session-1.jsonl", &lines(&records))]);
    let gemini = layout("gemini-cli");
    let reader = gemini.open(&from, &only(gemini, &from)).unwrap();
    assert_eq!(codes(&reader.warnings()), [""; 0]);
}

#[test]
fn a_message_of_numbered_characters_is_put_together() {
    let mut spread = user("u1", "", "x");
    spread["message"] = json!({"0": "H", "1": "i", "2": "!", "role": "user"});
    let copied = claude(&lines(&[spread, says("a1", "u1", "Hello.")]));
    assert_eq!(done(&copied), ["1 bad-record"]);
    assert_eq!(told(&*copied.reader), ["1 user: Hi!", "1 assistant: Hello."]);
    assert!(text(&copied.copy).contains(r#""message":{"role":"user","content":"Hi!"}"#));
}

#[test]
fn what_cannot_be_mended_so_says_why() {
    let check = |name: &str, file: &str, bytes: &[u8], why: &str| {
        let from = store(&[(file, bytes)]);
        let place = SessionRef { id: "x".to_owned(), path: FilePath::parse(file).unwrap() };
        let error = layout(name).foreign().repaired_copy(&from, &place).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("convert"), "{error}");
    };
    check("aider", ".aider.chat.history.md", b"# aider chat started at", "Markdown");
    check("gemini-cli", "session-1.json", b"{", "a single document");
    check("opencode", "storage/session/p/ses_1.json", b"{", "separate documents");
    check("goose", "sessions.db/x", b"", "database");
    let game = everturn::format::find("game").unwrap();
    assert!(matches!(
        game.external(Operation::RepairedCopy).err(),
        Some(SessionError::Unsupported { .. })
    ));
}
