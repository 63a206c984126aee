//! Another program that knows no locks works on the same files at the same time.
#![expect(clippy::disallowed_methods, reason = "the other program writes as it likes")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;

use everturn::codelia::{CodeliaHome, RunLogs, RunWriter};
use everturn::store::Durability;
use everturn::tree::JsonTree;

use crate::codelia::support::{at, id, real, session, texts, user};

const LINES: usize = 400;

/// A script that adds lines to a file, each with one call, as programs do that open a file for appending.
fn script(file: &Path, line: &str) -> Child {
    let text = format!(
        "i=0; while [ $i -lt {LINES} ]; do printf '{line}\\n' $i >> \"$0\"; i=$((i+1)); done"
    );
    Command::new("sh").arg("-c").arg(text).arg(file).spawn().unwrap()
}

#[test]
fn messages_of_a_script_and_of_everturn_are_all_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let home = CodeliaHome::new(real(dir.path()));
    let mut writer = session(&home, "one", &[]);
    let log = dir.path().join("sessions/messages/one.jsonl");
    let mut other = script(&log, "{\"role\":\"user\",\"content\":\"script-%d\"}");
    for number in 0..LINES {
        writer.append(&[user(&format!("ours-{number}"))], at(1)).unwrap();
    }
    assert!(other.wait().unwrap().success());
    drop(writer);
    let found = texts(&home, "one");
    let wanted: BTreeSet<String> = (0..LINES)
        .flat_map(|number| [format!("ours-{number}"), format!("script-{number}")])
        .collect();
    assert_eq!(found.len(), 2 * LINES);
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(text.lines().count(), 2 * LINES, "no two records share a line");
    let writer = everturn::codelia::CodeliaWriter::open(&home, &id("one")).unwrap();
    assert_eq!((writer.messages(), writer.findings().len()), (2 * LINES as u64, 0));
}

#[test]
fn records_of_a_run_are_all_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let home = CodeliaHome::new(real(dir.path()));
    let header = r#"{"type":"header","run_id":"run-1","started_at":"2026-01-02T03:04:05.000Z"}"#;
    let writer = RunWriter::start(&home, &JsonTree::parse(header).unwrap(), at(0)).unwrap();
    let log = dir.path().join(writer.path().as_str());
    let mut other = script(&log, "{\"type\":\"agent.event\",\"seq\":%d}");
    for number in 0..LINES {
        let record = format!(r#"{{"type":"tool.output","seq":{number}}}"#);
        writer.append(&JsonTree::parse(record).unwrap(), Durability::Synced).unwrap();
    }
    assert!(other.wait().unwrap().success());
    writer.release().unwrap();
    let runs = RunLogs::new(&home);
    let mut records = runs.records(&runs.find("run-1").unwrap()).unwrap();
    let kinds: Vec<String> = (&mut records)
        .map(|record| {
            let record = record.unwrap().message;
            format!(
                "{} {}",
                record.string_at(&["type"]).unwrap(),
                record.text_at(&["seq"]).unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(records.findings, []);
    assert_eq!(kinds.len(), 2 * LINES + 1);
    assert_eq!(kinds.iter().collect::<BTreeSet<_>>().len(), kinds.len());
}

#[test]
fn a_torn_line_of_another_program_is_not_glued_to_ours() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    let mut writer = session(&home, "one", &["a"]);
    let log = dir.path().join("sessions/messages/one.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str("{\"role\":\"assistant\",\"cont");
    fs::write(&log, &text).unwrap();
    let saved = writer.append(&[user("b")], at(1)).unwrap();
    assert_eq!(saved.messages, 2);
    assert_eq!(saved.findings.len(), 1);
    assert_eq!(texts(&home, "one"), ["a", "b"]);
}
