//! Torn, glued and foreign lines: nothing is lost beyond what was torn, and that is kept aside.

use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::{Finding, FindingCode};
use everturn::linggen::{Session, SessionLocation, plan_repair, repair, undo_repair};
use everturn::names::FilePath;
use everturn::store::{Durability, FileStore, LockOwner, Options, Step, Store};

use crate::linggen::support::{DIR, at, path, put, read, said, say, session};

fn home() -> (SimDisk, Arc<dyn Store>, SessionLocation) {
    let disk = SimDisk::new();
    let owner = LockOwner { pid: 1, started: String::new() };
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let place = session(&store);
    (disk, store, place)
}

fn messages() -> String {
    format!("{DIR}/messages.jsonl")
}

struct Found(Vec<Finding>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _: &FilePath) {}
}

fn codes(disk: &SimDisk) -> Vec<FindingCode> {
    let mut found = Found(Vec::new());
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    check_path(&disk, &path(""), &mut found).unwrap();
    found.0.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_last_message_that_is_cut_anywhere_costs_no_other() {
    let (disk, store, place) = home();
    say(&store, &place, &["one", "two", "three"]);
    let whole = read(&store, &messages());
    let start = whole.trim_end().rfind('\n').unwrap() + 1;
    for cut in start..whole.len() {
        disk.put_file(&path(&messages()), &whole.as_bytes()[..cut]);
        let complete = cut >= whole.len() - 1;
        let expect: &[&str] = if complete { &["one", "two", "three"] } else { &["one", "two"] };
        assert_eq!(said(&store, &place), expect, "cut at {cut}");
        say(&store, &place, &["next"]);
        assert_eq!(said(&store, &place), [expect, &["next"]].concat(), "cut at {cut}");
        let torn = &whole.as_bytes()[start..cut];
        let kept = disk.contents().into_iter().any(|(file, bytes)| {
            file.as_str().starts_with(".everturn/quarantine/") && bytes == torn
        });
        assert!(kept || complete || torn.is_empty(), "the torn bytes are gone, cut at {cut}");
    }
}

#[test]
fn bad_lines_block_nothing_and_are_mended_with_the_originals_kept() {
    let line = |word: &str| {
        format!(
            "{{\"agent_id\":\"a\",\"from_id\":\"user\",\"to_id\":\"a\",\"content\":\"{word}\",\"timestamp\":1,\"is_observation\":false}}"
        )
    };
    let (a, b, c) = (line("a"), line("b"), line("c"));
    let cases = [
        (format!("{a}\nnot json\n{b}\n{c}\n"), vec![FindingCode::BadLine]),
        (format!("{a}{b}\n{c}\n"), vec![FindingCode::GluedRecords]),
        (format!("{a}\n{b}{c}"), vec![FindingCode::GluedRecords]),
        (format!("{a}\n{b}\n{c}\n\0\0\0\0"), vec![FindingCode::NulTail]),
        (format!("{a}\n\0\0{b}\n{c}\n"), vec![FindingCode::BadLine]),
        (format!("{a}\n{b}\n{{\"agent_id\n{c}\n"), vec![FindingCode::BadLine]),
        (format!("{a}\r\n{b}\r\nx\r\n{c}\r\n"), vec![FindingCode::BadLine]),
        (format!("{a}\n{b}\n{c}\n{{\"agent"), vec![FindingCode::TornTail]),
    ];
    for (text, expect) in cases {
        let (disk, store, place) = home();
        disk.put_file(&path(&messages()), text.as_bytes());
        assert_eq!(said(&store, &place), ["a", "b", "c"], "{text:?}");
        assert_eq!(codes(&disk), expect, "{text:?}");
        let plan = plan_repair(&store, &place, at(5)).unwrap();
        assert_eq!((plan.actions.len(), plan.originals.is_none()), (1, true));
        assert_eq!(read(&store, &messages()), text, "a plan changes nothing");
        let done = repair(&store, &place, at(5)).unwrap();
        assert_eq!(done.findings, []);
        assert_eq!(codes(&disk), []);
        assert_eq!(said(&store, &place), ["a", "b", "c"]);
        undo_repair(&store, &place, at(6)).unwrap();
        assert_eq!(read(&store, &messages()), text, "a repair can be taken back");
        assert!(undo_repair(&store, &place, at(7)).is_err());
    }
}

#[test]
fn metadata_that_are_missing_or_broken_are_made_anew() {
    for broken in [None, Some("title: [\n"), Some("- list\n"), Some("title: \"x")] {
        let (disk, store, place) = home();
        say(&store, &place, &["Please fix the menu"]);
        let file = format!("{DIR}/session.yaml");
        match broken {
            Some(text) => disk.put_file(&path(&file), text.as_bytes()),
            None => {
                let writer = store.lock(&[path(&file)]).unwrap();
                writer
                    .commit(vec![Step::Remove { path: path(&file) }], Durability::Synced)
                    .unwrap();
            }
        }
        let expect =
            if broken.is_some() { FindingCode::BadMetadata } else { FindingCode::NoMetadata };
        assert_eq!(codes(&disk), [expect]);
        say(&store, &place, &["still works"]);
        repair(&store, &place, at(5)).unwrap();
        assert_eq!(
            read(&store, &file),
            "id: sess-1\ntitle: Please fix the menu\ncreated_at: 1700000001\n"
        );
        assert_eq!(codes(&disk), []);
        undo_repair(&store, &place, at(6)).unwrap();
        assert_eq!(codes(&disk), [expect]);
    }
}

#[test]
fn a_check_tells_what_programs_would_pass_over() {
    let (disk, store, place) = home();
    put(&store, &messages(), "{\"content\":\"x\"}\n");
    put(&store, &format!("{DIR}/session.yaml"), "id: other\ntitle: x\n");
    let expect = [FindingCode::WrongPlace, FindingCode::BadRecord, FindingCode::BadMetadata];
    assert_eq!(codes(&disk), expect);
    let session = Session::open(Arc::clone(&store), &place).unwrap();
    assert_eq!(session.check().unwrap().len(), 3);
    put(&store, "plans/odd.md", "no plan\n");
    put(&store, "projects/-srv-site/runs/run-x-1-1.json", "{\"repo_path\": \"/elsewhere\"}");
    put(&store, "projects/-srv-site/project.json", "{\"path\": 7}");
    assert_eq!(codes(&disk).len(), 5, "{:?}", codes(&disk));
}
