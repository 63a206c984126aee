//! Torn, glued and foreign lines: nothing is lost beyond the torn bytes, and one bad line never blocks a session.

use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::codelia::{CodeliaHome, CodeliaWriter};
use everturn::disk::{Disk, RealDisk};
use everturn::finding::{Finding, FindingCode};
use everturn::format::RepairMode;
use everturn::model::SessionRef;
use everturn::names::FilePath;

use crate::codelia::support::{at, codelia, id, memory, path, put, read, real, texts, user};
use crate::common::capabilities::KnownCapabilities;

const LOG: &str = "sessions/messages/one.jsonl";

fn line(text: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":\"{text}\"}}")
}

#[test]
fn a_log_that_ends_anywhere_is_gone_on_with() {
    let whole = format!("{}\n{}\n", line("a"), line("b"));
    let first = line("a").len() + 1;
    for cut in first..whole.len() {
        let (store, _, home) = memory();
        put(&store, LOG, &whole[..cut]);
        let mut writer = CodeliaWriter::open(&home, &id("one")).unwrap();
        let saved = writer.append(&[user("c")], at(1)).unwrap();
        let complete = cut + 1 == whole.len();
        let expected: &[&str] = if complete { &["a", "b", "c"] } else { &["a", "c"] };
        assert_eq!(texts(&home, "one"), expected, "cut at {cut}");
        assert_eq!(saved.messages, expected.len() as u64);
        assert!(read(&store, LOG).ends_with(&format!("{}\n", line("c"))));
        let torn = !complete && cut > first;
        assert_eq!(
            saved.findings.iter().any(|one| one.code == FindingCode::SetAside),
            torn,
            "cut at {cut}"
        );
    }
}

#[test]
fn torn_bytes_are_kept_aside() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    put(&store, LOG, &format!("{}\n{{\"role\":\"us", line("a")));
    let mut writer = CodeliaWriter::open(&home, &id("one")).unwrap();
    writer.append(&[user("b")], at(1)).unwrap();
    drop(writer);
    assert_eq!(texts(&home, "one"), ["a", "b"]);
    let listing = store.list(&path(".everturn/quarantine")).unwrap();
    assert_eq!(listing.entries.len(), 1);
    let aside = path(".everturn/quarantine").join(&listing.entries[0].name);
    assert_eq!(store.read(&aside, 0..100).unwrap(), b"{\"role\":\"us");
}

/// Every sort of line that does not belong there, in the middle of a log.
const FOREIGN: &[(&str, &str)] = &[
    ("noise", "bad-line"),
    ("{\"role\":\"user\",\"content\":", "bad-line"),
    ("7", "bad-record"),
    ("[1]", "bad-record"),
    ("\"text\"", "bad-record"),
    ("{\"what\":1}", "bad-record"),
    ("\0\0\0", "bad-line"),
];

#[test]
fn one_bad_line_never_blocks_a_session() {
    for (foreign, code) in FOREIGN {
        let (store, _, home) = memory();
        let glued = format!("{}{}", line("b"), line("c"));
        put(&store, LOG, &format!("{}\n{foreign}\n{glued}\r\n\n{}", line("a"), line("d")));
        let kept = |home: &CodeliaHome| -> Vec<String> {
            texts(home, "one").into_iter().filter(|text| !text.is_empty()).collect()
        };
        assert_eq!(kept(&home), ["a", "b", "c", "d"], "{foreign:?}");
        let mut writer = CodeliaWriter::open(&home, &id("one")).unwrap();
        writer.append(&[user("e")], at(1)).unwrap();
        drop(writer);
        assert_eq!(kept(&home), ["a", "b", "c", "d", "e"], "{foreign:?}");
        let place = SessionRef { id: "one".to_owned(), path: path(LOG) };
        let reader = codelia().open(&store, &place).unwrap();
        let mut entries = reader.entries(1..=100).unwrap();
        let mut shown = Vec::new();
        let mut codes = Vec::new();
        while let Some(entry) = entries.next() {
            shown.push(entry.unwrap().text);
        }
        codes.extend(entries.take_findings().into_iter().map(|finding| finding.code.as_str()));
        assert!(codes.contains(&"glued-records"), "{foreign:?}: {codes:?}");
        assert!(codes.contains(code) || *foreign == "{\"what\":1}", "{foreign:?}: {codes:?}");
        assert!(shown.len() >= 5);
    }
}

#[derive(Default)]
struct Found(Vec<Finding>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _: &FilePath) {}
}

fn codes(dir: &std::path::Path) -> Vec<(String, &'static str)> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(dir).unwrap());
    let mut found = Found::default();
    check_path(&disk, &FilePath::root(), &mut found).unwrap();
    let mut codes: Vec<(String, &'static str)> =
        found.0.into_iter().map(|one| (one.file.to_string(), one.code.as_str())).collect();
    codes.sort();
    codes
}

#[test]
fn a_check_finds_what_is_wrong_and_a_repair_mends_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    drop(crate::codelia::support::session(&home, "one", &["a"]));
    assert_eq!(codes(dir.path()), []);
    let call = crate::codelia::support::message("call", "c1").to_line();
    let damaged = format!("{}\nnoise\n7\n{}{}\n{call}", line("a"), line("b"), line("c"));
    put(&store, LOG, &damaged);
    let found = codes(dir.path());
    let in_log: Vec<&str> =
        found.iter().filter(|(file, _)| file == LOG).map(|(_, code)| *code).collect();
    assert_eq!(in_log, ["bad-line", "bad-record", "glued-records", "orphan-call"]);
    assert!(found.contains(&("sessions/state.db".to_owned(), "stale-index")), "{found:?}");
    let place = SessionRef { id: "one".to_owned(), path: path(LOG) };
    let plan = codelia().editable().repair(&store, &place, RepairMode::Plan, at(9)).unwrap();
    assert_eq!(plan.actions.len(), 3, "{:?}", plan.actions);
    assert_eq!(read(&store, LOG), damaged, "a plan changes nothing");
    let done = codelia().editable().repair(&store, &place, RepairMode::Apply, at(9)).unwrap();
    assert_eq!(done.actions, plan.actions);
    assert_eq!(done.findings, []);
    assert_eq!(codes(dir.path()), []);
    let log = read(&store, LOG);
    assert_eq!(log.lines().count(), 5, "{log}");
    assert!(log.lines().last().unwrap().contains("interrupted"), "{log}");
    let again = codelia().editable().repair(&store, &place, RepairMode::Apply, at(9)).unwrap();
    assert!(again.actions.is_empty() && again.originals.is_none());
    let undone = codelia().editable().repair(&store, &place, RepairMode::Undo, at(10)).unwrap();
    assert_eq!(undone.actions.len(), 1);
    assert_eq!(read(&store, LOG), damaged);
}

#[test]
fn the_other_files_of_a_home_are_kept_and_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    drop(crate::codelia::support::session(&home, "one", &["a"]));
    let good = [
        ("tasks/a%2Fb.json", r#"{"version":1,"id":"a/b"}"#),
        ("lanes/registry.json", r#"{"version":1,"lanes":[]}"#),
        ("cache/models.dev.json", r#"{"version":1,"cachedAt":1,"entries":{}}"#),
        ("projects.json", r#"{"version":1,"projects":{"/w":{"approval_mode":"trusted","x":1}}}"#),
        ("config.json", r#"{"version":1,"model":{"name":"x"}}"#),
        (
            "sessions/2026/01/02/run-1.jsonl",
            "{\"type\":\"header\",\"run_id\":\"run-1\"}\n{\"type\":\"new.kind\"}\n",
        ),
    ];
    for (file, text) in good {
        put(&store, file, text);
    }
    assert_eq!(codes(dir.path()), []);
    let bad = [
        ("tasks/a%2Fb.json", r#"{"version":1,"id":"a/c"}"#, "wrong-place"),
        ("lanes/registry.json", r#"{"version":2,"lanes":[]}"#, "bad-document"),
        ("cache/models.dev.json", r#"{"version":1,"entries":[]}"#, "bad-document"),
        ("projects.json", r#"{"version":1,"default":{"approval_mode":"all"}}"#, "bad-setting"),
        ("config.json", r#"{"version":1,"model":{"name":7}}"#, "bad-setting"),
        ("config.json", r#"{"model":{}}"#, "bad-setting"),
        ("sessions/2026/01/02/run-1.jsonl", "{\"type\":\"run.start\"}\n", "bad-record"),
        ("sessions/2026/01/02/run-1.jsonl", "{\"type\":\"header\"}\n{\"type\":\"he", "torn-tail"),
        ("auth.json", r#"{"version":1,"providers":{}}"#, "open-secret"),
    ];
    for (file, text, code) in bad {
        put(&store, file, text);
        assert_eq!(codes(dir.path()), [(file.to_owned(), code)], "{file}");
        match good.iter().find(|(name, _)| *name == file) {
            Some((_, text)) => put(&store, file, text),
            None => {
                let writer = store.lock(&[path(file)]).unwrap();
                let remove = everturn::store::Step::Remove { path: path(file) };
                writer.commit(vec![remove], everturn::store::Durability::Synced).unwrap();
            }
        }
    }
}

#[test]
fn a_log_that_is_gone_is_missed_and_its_row_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    let home = CodeliaHome::new(Arc::clone(&store));
    drop(crate::codelia::support::session(&home, "one", &["a", "b"]));
    #[expect(clippy::disallowed_methods, reason = "the log is lost")]
    std::fs::remove_file(dir.path().join(LOG)).unwrap();
    assert_eq!(codes(dir.path()), [(LOG.to_owned(), "missing-file")]);
    let (summaries, _) = codelia().list(&store).unwrap();
    assert_eq!((summaries[0].turns, summaries[0].findings.len()), (Some(0), 1));
    drop(CodeliaWriter::open(&home, &id("one")).unwrap());
    assert_eq!(
        codes(dir.path()),
        [(LOG.to_owned(), "missing-file")],
        "the row is all that is left"
    );
    let place = SessionRef { id: "one".to_owned(), path: path(LOG) };
    assert!(
        codelia()
            .editable()
            .repair(&store, &place, RepairMode::Plan, at(1))
            .unwrap()
            .actions
            .is_empty()
    );
    let mut writer = CodeliaWriter::open(&home, &id("one")).unwrap();
    assert_eq!(writer.append(&[user("again")], at(2)).unwrap().messages, 1);
    drop(writer);
    assert_eq!(codes(dir.path()), []);
}

#[test]
fn a_document_of_the_old_form_that_makes_no_sense_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    drop(crate::codelia::support::session(&CodeliaHome::new(Arc::clone(&store)), "one", &["a"]));
    for (text, code) in
        [("{}", "bad-document"), ("{\"messages\":7}", "bad-document"), ("{", "bad-document")]
    {
        put(&store, "sessions/state/old.json", text);
        assert_eq!(codes(dir.path()), [("sessions/state/old.json".to_owned(), code)], "{text}");
        // Beside a log it is in nobody's way, and a repair moves it away.
        put(&store, "sessions/state/one.json", text);
        let place = SessionRef { id: "one".to_owned(), path: path(LOG) };
        let done = codelia().editable().repair(&store, &place, RepairMode::Apply, at(1)).unwrap();
        assert_eq!(done.actions.len(), 1, "{:?}", done.actions);
        assert_eq!(codes(dir.path()), [("sessions/state/old.json".to_owned(), code)], "{text}");
        codelia().editable().repair(&store, &place, RepairMode::Undo, at(2)).unwrap();
        assert_eq!(read(&store, "sessions/state/one.json"), text);
        put(&store, "sessions/state/one.json", "{\"messages\":[]}");
    }
}
