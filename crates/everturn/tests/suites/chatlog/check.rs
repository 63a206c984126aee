//! What a check finds, and what a repair mends.

use everturn::chatlog::{ChatLog, plan_repair, repair, undo_repair};
use everturn::finding::{Finding, FindingCode};

use serde_json::{Value, json};

use crate::chatlog::support::{
    EXAMPLE, TALE, at, document, example, exists, memory, path, put, read, reader, tell, told,
    writer,
};

fn messages(findings: &[Finding]) -> Vec<(FindingCode, &str)> {
    findings.iter().map(|finding| (finding.code, finding.message.as_str())).collect()
}

#[test]
fn the_example_has_exactly_its_known_inconsistencies() {
    let store = example();
    let findings = reader(&store).check().unwrap();
    assert_eq!(
        messages(&findings),
        [
            (FindingCode::WrongMetadata, "session.message_count is 42, but there are 3 messages"),
            (
                FindingCode::UnknownReference,
                "bookmark bm-001 refers to tool snapshot tool-snapshot-id-1, which does not exist"
            ),
            (
                FindingCode::UnknownReference,
                "the context window refers to tool snapshot tool-snapshot-id-1, which does not exist"
            ),
        ]
    );
}

/// The example with one thing changed has one finding more.
fn check(from: &str, to: &str, code: FindingCode, words: &str) {
    let text = EXAMPLE.replacen(from, to, 1);
    assert_ne!(text, EXAMPLE, "{from}");
    let store = memory();
    put(&store, TALE, &text);
    let log = ChatLog::open(&store, &path(TALE)).unwrap_or_else(|error| panic!("{to}: {error}"));
    let findings = log.check().unwrap();
    let found =
        findings.iter().any(|finding| finding.code == code && finding.message.contains(words));
    assert!(found, "{to}: {:?}", messages(&findings));
    // Whatever it is, it is kept when something else is written.
    let mut log = match everturn::chatlog::ChatWriter::open(&store, &path(TALE)) {
        Ok(log) => log,
        Err(error) => return assert!(error.to_string().contains(words), "{error}"),
    };
    tell(&mut log, "More.", 1);
    log.close().unwrap();
    let kept = to.split('\n').map(str::trim).filter(|part| !part.is_empty());
    let after = read(&store, TALE);
    for part in kept {
        assert!(after.contains(part) || code == FindingCode::WrongMetadata, "{part} is gone");
    }
}

#[test]
fn every_kind_of_damage_inside_a_document_is_a_finding() {
    check(
        "\"id\": \"msg-002\"",
        "\"id\": \"msg-001\"",
        FindingCode::DuplicateId,
        "duplicate message msg-001",
    );
    check(
        "\"message_id\": \"msg-001\"",
        "\"message_id\": \"msg-009\"",
        FindingCode::UnknownReference,
        "tool snapshot 1 belongs to message msg-009",
    );
    check(
        "\"tool_id\": \"rezero-timeline-tracker\"",
        "\"tool_id\": \"else\"",
        FindingCode::UnknownReference,
        "belongs to the tool else",
    );
    check(
        "\"msg-003\"],",
        "\"msg-003\", \"msg-077\"],",
        FindingCode::UnknownReference,
        "the context window refers to message msg-077",
    );
    check(
        "\"type\": \"narrator\"",
        "\"type\": \"bard\"",
        FindingCode::BadRecord,
        "message msg-002: type is \"bard\"",
    );
    check(
        "\"timestamp\": \"2023-05-18T12:01:00Z\"",
        "\"timestamp\": \"soon\"",
        FindingCode::BadRecord,
        "which is not a time",
    );
    check(
        "\"is_edited\": false",
        "\"is_edited\": \"no\"",
        FindingCode::BadRecord,
        "metadata.is_edited is a string",
    );
}

#[test]
fn values_keys_and_kinds_that_make_no_sense_are_findings() {
    check(
        "\"duration_seconds\": 9000",
        "\"duration_seconds\": 1",
        FindingCode::WrongMetadata,
        "9000 seconds",
    );
    check(
        "\"series\": \"Re:Zero\"",
        "\"series\": \"Re:Zero\", \"series\": \"x\"",
        FindingCode::DuplicateKey,
        "\"series\"",
    );
    check(
        "\"name\": \"System\"",
        "\"name\": \"System\", \"name\": \"x\"",
        FindingCode::DuplicateKey,
        "message msg-001: duplicate key \"name\"",
    );
    check("\"version\": \"1.0\"", "\"version\": \"2.0\"", FindingCode::NewerVersion, "2.0");
    check("\"changes\": []", "\"changes\": 7", FindingCode::BadRecord, "changes is a number");
    check(
        "\"id\": \"nm-001\"",
        "\"id\": \"bm-001\"",
        FindingCode::DuplicateId,
        "duplicate mark bm-001",
    );
    check(
        "\"strategy\": \"sliding\"",
        "\"strategy\": \"greedy\"",
        FindingCode::BadRecord,
        "context_window.strategy",
    );
    check(
        "\"bookmarks\": [",
        "\"bookmarks\": [ 7,",
        FindingCode::BadRecord,
        "bookmarks[0]: it is a number",
    );
    check(
        "\"messages\": [",
        "\"messages\": [ 7, null, \"x\", [1],",
        FindingCode::BadRecord,
        "message 1: it is a number",
    );
}

#[test]
fn values_that_follow_are_mended_and_can_be_as_they_were() {
    let store = example();
    let planned = plan_repair(&store, &path(TALE)).unwrap();
    assert_eq!(planned.actions.len(), 1);
    assert_eq!(read(&store, TALE), EXAMPLE);
    let done = repair(&store, &path(TALE), at(1)).unwrap();
    assert_eq!(done.findings.len(), 2, "references are for somebody who knows");
    assert_eq!(document(&store)["session"]["message_count"], 3);
    assert!(exists(&store, done.originals.unwrap().as_str()));
    undo_repair(&store, &path(TALE), at(2)).unwrap();
    assert_eq!(read(&store, TALE), EXAMPLE);
    assert!(undo_repair(&store, &path(TALE), at(3)).is_err());
}

#[test]
fn a_journal_with_bad_lines_gives_what_it_has_and_is_mended() {
    let store = example();
    let mut log = writer(&store);
    for number in 1..=3 {
        tell(&mut log, &format!("Number {number}."), number);
    }
    log.edit(5, "Edited.", at(4)).unwrap();
    log.release().unwrap();
    let journal = "chats/tale.journal.jsonl";
    let lines: Vec<String> = read(&store, journal).lines().map(str::to_owned).collect();
    let broken = format!(
        "{}\n{}\nnoise\n{}\n{{\"op\":\"dance\"}}\n{}\n{{\"op\":\"mess",
        lines[0], lines[1], lines[3], lines[4]
    );
    put(&store, journal, &broken);
    let log = reader(&store);
    assert_eq!(log.len(), 5);
    assert_eq!(log.message(5).unwrap().text(), "Number 3.");
    let codes: Vec<FindingCode> = log.findings().iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::BadLine, FindingCode::BadRecord, FindingCode::TornTail]);
    let before = told(&log);
    let done = repair(&store, &path(TALE), at(9)).unwrap();
    assert_eq!(told(&reader(&store)), before);
    assert!(!exists(&store, journal));
    assert_eq!(read(&store, &format!("{}/{journal}", done.originals.unwrap())), broken);
    undo_repair(&store, &path(TALE), at(10)).unwrap();
    assert_eq!((read(&store, journal), read(&store, TALE)), (broken, EXAMPLE.to_owned()));
}

#[test]
fn a_document_that_breaks_off_is_refused_and_what_is_left_is_rescued() {
    let end = EXAMPLE.find("\"id\": \"msg-003\"").unwrap() + 30;
    let torn = format!("{}\0\0\0", &EXAMPLE[..end]);
    let store = memory();
    put(&store, TALE, &torn);
    assert!(ChatLog::open(&store, &path(TALE)).is_err());
    assert!(everturn::chatlog::ChatWriter::open(&store, &path(TALE)).is_err());
    assert_eq!(read(&store, TALE), torn);
    let done = repair(&store, &path(TALE), at(1)).unwrap();
    assert_eq!(reader(&store).len(), 2);
    assert_eq!(done.findings, []);
    assert_eq!(document(&store)["session"]["message_count"], 2);
    assert_eq!(read(&store, &format!("{}/{TALE}", done.originals.unwrap())), torn);
    let empty = memory();
    put(&empty, TALE, "\0\0\0\0");
    let done = repair(&empty, &path(TALE), at(1)).unwrap();
    assert_eq!((reader(&empty).len(), done.findings), (0, Vec::new()));
    undo_repair(&empty, &path(TALE), at(2)).unwrap();
    assert_eq!(read(&empty, TALE), "\0\0\0\0");
}

/// Every path in a document, with the value there.
fn paths(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    if !path.is_empty() {
        found.push((path.to_owned(), value.clone()));
    }
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                paths(value, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(elements) => {
            for (at, value) in elements.iter().enumerate() {
                paths(value, &format!("{path}/{at}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_wrong_value_in_any_field_is_a_finding() {
    let mut whole: Value = serde_json::from_str(EXAMPLE).unwrap();
    whole["messages"][2]["content"]["attachments"] =
        json!([{"type": "image", "url": "map.png", "description": "A map."}]);
    let version = json!({"timestamp": "2023-05-18T12:02:00Z", "content": {"text": "Old.",
        "formatted_text": "<p>Old.</p>", "actions": [{"type": "emote", "text": "nods"}]}});
    whole["messages"][1]["metadata"]["edit_history"] = json!([version]);
    whole["messages"][1]["metadata"]["regeneration_history"] = json!([version, "Older."]);
    whole["tool_snapshots"][0]["changes"] = json!([{"component_id": "death-counter",
        "previous_value": "0", "new_value": "1", "cause": "a fall"}]);
    let findings = |document: &Value| -> Vec<String> {
        let store = memory();
        put(&store, TALE, &document.to_string());
        match ChatLog::open(&store, &path(TALE)) {
            Ok(log) => log.check().unwrap().into_iter().map(|found| found.message).collect(),
            Err(error) => vec![error.to_string()],
        }
    };
    let usual = findings(&whole);
    let mut found = Vec::new();
    paths(&whole, "", &mut found);
    let (mut tried, mut silent) = (0, Vec::new());
    for (path, value) in found {
        // These may be anything, and a version may be a plain text.
        if ["current_value", "previous_value", "new_value"].iter().any(|free| path.contains(free)) {
            continue;
        }
        let wrong = match value {
            Value::Number(_) => json!("seven"),
            _ => json!(7),
        };
        let mut document = whole.clone();
        *document.pointer_mut(&path).unwrap() = wrong;
        tried += 1;
        if findings(&document).iter().all(|found| usual.contains(found)) {
            silent.push(path);
        }
    }
    assert_eq!(silent, Vec::<String>::new(), "of {tried}");
    assert!(tried > 120, "{tried}");
}
