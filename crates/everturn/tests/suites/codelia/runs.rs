//! Logs of runs.

use everturn::codelia::{CodeliaError, RUN_RECORDS, RunLogs, RunWriter};
use everturn::store::Durability;
use everturn::tree::JsonTree;

use crate::codelia::support::{at, memory, put, read};

fn header(id: &str, session: &str, started: &str) -> JsonTree {
    JsonTree::parse(format!(
        r#"{{"type":"header","schema_version":1,"run_id":"{id}","session_id":"{session}","started_at":"{started}"}}"#
    ))
    .unwrap()
}

#[test]
fn every_type_of_record_is_written_and_read_back() {
    let (store, _, home) = memory();
    let run =
        RunWriter::start(&home, &header("r1", "one", "2026-02-03T04:05:06.000Z"), at(0)).unwrap();
    assert_eq!(run.path().as_str(), "sessions/2026/02/03/r1.jsonl");
    for kind in RUN_RECORDS.iter().skip(1).chain(&["future.kind"]) {
        let record = format!(r#"{{"type":"{kind}","outcome":"completed","x":1.0}}"#);
        run.append(&JsonTree::parse(record).unwrap(), Durability::Synced).unwrap();
    }
    run.release().unwrap();
    let runs = RunLogs::new(&home);
    let found = runs.find("r1").unwrap();
    assert_eq!(
        (found.session.as_deref(), found.outcome.as_deref()),
        (Some("one"), Some("completed"))
    );
    let kinds: Vec<String> = runs
        .records(&found)
        .unwrap()
        .map(|record| record.unwrap().message.string_at(&["type"]).unwrap())
        .collect();
    let expected: Vec<&str> = RUN_RECORDS.iter().copied().chain(["future.kind"]).collect();
    assert_eq!(kinds, expected);
    assert!(read(&store, found.path.as_str()).ends_with("\"x\":1.0}\n"));
}

#[test]
fn a_run_without_an_end_is_read_and_gone_on_with() {
    let (store, _, home) = memory();
    let file = "sessions/2026/02/03/r1.jsonl";
    let text = format!(
        "{}\n{}\n{{\"type\":\"llm.req",
        header("r1", "one", "2026-02-03T04:05:06Z").to_line(),
        r#"{"type":"llm.request"}"#
    );
    put(&store, file, &text);
    let runs = RunLogs::new(&home);
    let found = runs.find("r").unwrap();
    assert_eq!((found.outcome.as_deref(), found.last.as_deref()), (None, Some("llm.request")));
    let run = RunWriter::open(&home, &found).unwrap();
    run.append(
        &JsonTree::parse(r#"{"type":"run.end","outcome":"cancelled"}"#).unwrap(),
        Durability::Synced,
    )
    .unwrap();
    run.release().unwrap();
    assert_eq!(runs.find("r1").unwrap().outcome.as_deref(), Some("cancelled"));
    assert_eq!(read(&store, file).lines().count(), 3);
}

#[test]
fn runs_are_listed_newest_first_and_by_session() {
    let (store, _, home) = memory();
    for (id, session, started) in [
        ("a", "one", "2025-12-31T23:00:00Z"),
        ("b", "two", "2026-01-01T08:00:00Z"),
        ("c", "one", "2026-01-01T09:00:00Z"),
        ("d", "one", "2026-10-01T00:00:00Z"),
    ] {
        RunWriter::start(&home, &header(id, session, started), at(0)).unwrap().release().unwrap();
    }
    put(&store, "sessions/2026/01/01/stray.txt", "");
    put(&store, "sessions/messages/2026.jsonl", "");
    let ids = |session: Option<&str>, most: usize| {
        let runs = RunLogs::new(&home).list(session, most).unwrap();
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, 50), ["d", "c", "b", "a"]);
    assert_eq!(ids(Some("one"), 50), ["d", "c", "a"]);
    assert_eq!(ids(None, 2), ["d", "c"]);
    assert!(matches!(RunLogs::new(&home).find("zz"), Err(CodeliaError::Input { .. })));
}

#[test]
fn what_is_no_record_or_no_run_is_refused() {
    let (_, _, home) = memory();
    let start =
        |text: &str| RunWriter::start(&home, &JsonTree::parse(text).unwrap(), at(0)).map(drop);
    assert!(start(r#"{"type":"run.start","run_id":"x"}"#).is_err());
    assert!(start(r#"{"type":"header"}"#).is_err());
    for id in ["../x", "a/b", "..", "con"] {
        assert!(start(&format!(r#"{{"type":"header","run_id":"{id}"}}"#)).is_err(), "{id}");
    }
    // A time that makes no sense is that of now.
    start(r#"{"type":"header","run_id":"x","started_at":"soon"}"#).unwrap();
    assert_eq!(RunLogs::new(&home).find("x").unwrap().path.as_str(), "sessions/2026/01/01/x.jsonl");
    assert!(matches!(start(r#"{"type":"header","run_id":"x"}"#), Err(CodeliaError::Taken { .. })));
    let run = RunWriter::open(&home, &RunLogs::new(&home).find("x").unwrap()).unwrap();
    for bad in ["{}", "[]", "1", r#"{"type":1}"#] {
        assert!(run.append(&JsonTree::parse(bad).unwrap(), Durability::Synced).is_err(), "{bad}");
    }
}

#[test]
fn outputs_go_by_a_plan_and_by_who_uses_them() {
    use everturn::codelia::{CodeliaWriter, ToolOutputs};
    let (store, _, home) = memory();
    let outputs = ToolOutputs::in_home(std::sync::Arc::clone(&store));
    for name in ["unused", "early", "late"] {
        outputs.put(name, "0123456789").unwrap();
    }
    for (session, used, time) in [("one", "early", 10), ("two", "late", 20)] {
        let mut writer =
            CodeliaWriter::create(&home, &crate::codelia::support::id(session), None, at(0))
                .unwrap();
        writer.append(&[crate::codelia::support::message("tool", used)], at(time)).unwrap();
    }
    let names = |most: u64| {
        let plan = outputs.plan(&home, most).unwrap();
        plan.files
            .iter()
            .map(|(file, ..)| file.as_str().rsplit('/').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(30), [""; 0]);
    assert_eq!(names(29), ["unused.txt"]);
    assert_eq!(names(10), ["unused.txt", "early.txt"]);
    assert_eq!(names(0), ["unused.txt", "early.txt", "late.txt"]);
    assert!(outputs.get("unused").is_ok(), "a plan removes nothing");
    let plan = outputs.plan(&home, 10).unwrap();
    assert_eq!((plan.before, plan.after), (30, 10));
    outputs.evict(&plan).unwrap();
    assert!(outputs.get("unused").is_err() && outputs.get("early").is_err());
    assert_eq!(outputs.get("late").unwrap(), b"0123456789");
    assert!(outputs.evict(&plan).is_err(), "a plan that no longer fits is refused");
}

#[test]
fn torn_glued_and_foreign_lines_of_a_run_lose_nothing_else() {
    let (store, _, home) = memory();
    let file = "sessions/2026/02/03/r1.jsonl";
    let head = header("r1", "one", "2026-02-03T04:05:06Z").to_line();
    let record = |seq: u64| format!(r#"{{"type":"agent.event","seq":{seq}}}"#);
    let text =
        format!("{head}\nnoise\n{}{}\r\n7\n{}\n{{\"type\":\"ag", record(0), record(1), record(2));
    for cut in head.len() + 1..text.len() {
        let Some(text) = text.get(..cut) else { continue };
        put(&store, file, text);
        let runs = RunLogs::new(&home);
        let whole = |text: &str| (0..4).filter(|seq| text.contains(&record(*seq))).count();
        let before = whole(text);
        let run = RunWriter::open(&home, &runs.find("r1").unwrap()).unwrap();
        run.append(&JsonTree::parse(record(3)).unwrap(), Durability::Synced).unwrap();
        run.release().unwrap();
        let found = runs.find("r1").unwrap();
        let read: Vec<String> =
            runs.records(&found).unwrap().map(|one| one.unwrap().message.to_line()).collect();
        assert_eq!(read.len(), before + 2, "cut at {cut}: {read:?}");
        assert_eq!(read.last(), Some(&record(3)), "cut at {cut}");
    }
}
