//! Every format has a sample, and what is demanded of all of them holds for each.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use everturn::LATEST;
use everturn::check::{FindingSink, check_store};
use everturn::finding::Finding;
use everturn::format::{self, CheckScope, SessionError};
use everturn::model::{ForkOptions, NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{AppendAt, Durability, MemoryStore, Step, Store};
use everturn::tree::JsonTree;
use everturn_samples::{SAMPLES, sample};
use jiff::Timestamp;

use crate::common::capabilities::KnownCapabilities;

fn now() -> Timestamp {
    "2026-01-01T10:00:00Z".parse().unwrap()
}

/// Every suite that runs for each format takes its formats from the samples.
#[test]
fn every_format_has_a_sample() {
    let mut registered: Vec<&str> = format::ALL.iter().map(|format| format.name()).collect();
    let mut sampled: Vec<&str> = SAMPLES.iter().map(|sample| sample.format).collect();
    registered.sort_unstable();
    sampled.sort_unstable();
    assert_eq!(registered, sampled);
}

/// A store with the sample session of a format.
fn sample_store(name: &str) -> (Arc<dyn Store>, SessionRef) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let (layout, sample) = (format::find(name).unwrap(), sample(name));
    let fields = JsonTree::parse(sample.fields).unwrap();
    let new = NewSession { fields, ..NewSession::with_id(sample.id) };
    let mut editor = layout.editable().create(&store, &new, now()).unwrap();
    editor.append(&sample.turn("Go."), now()).unwrap();
    editor.release().unwrap();
    let place = layout.locate(&store).unwrap().sessions.remove(0);
    (store, place)
}

#[derive(Default)]
struct CheckFindings(Vec<Finding>);

impl FindingSink for CheckFindings {
    fn finding(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    fn file(&mut self, _: &FilePath) {}
}

/// A format that no check recognises would be checked as plain JSON only.
#[test]
fn a_check_recognises_the_sessions_of_every_format() {
    for layout in format::ALL {
        let name = layout.name();
        let checked =
            layout.capabilities().checked.unwrap_or_else(|| panic!("{name} has no check"));
        let (store, place) = sample_store(name);
        let sink = &mut CheckFindings::default();
        let is_session = checked.session_paths(&store, &place.path).is_some()
            || checked
                .check_file(&store, &place.path, CheckScope::OneFile, sink)
                .unwrap()
                .is_some();
        assert!(is_session, "{name}: {} is not recognised", place.path);
        for other in format::ALL.iter().filter(|other| other.name() != name) {
            let other_check = other.capabilities().checked.unwrap();
            assert!(
                other_check.session_paths(&store, &place.path).is_none(),
                "{name}: {} is also taken for a session of {}",
                place.path,
                other.name()
            );
        }
        let log = FilePath::parse(sample(name).log).unwrap();
        // A chat log that was closed has no journal; its document is damaged instead.
        let is_closed = name == "chatlog" && store.stat(&log).unwrap().is_none();
        let log = if is_closed { place.path.clone() } else { log };
        assert!(store.stat(&log).unwrap().is_some(), "{name} has no {log}");
        let scope = if name == "chatlog" { FilePath::parse("chats").unwrap() } else { log.clone() };
        let writer = store.lock(&[scope]).unwrap();
        let lines = b"{\"torn\": [}\n".to_vec();
        let step = Step::Append { file: log.clone(), at: AppendAt::End, lines };
        writer.commit(vec![step], Durability::Synced).unwrap();
        writer.release().unwrap();
        let mut found = CheckFindings::default();
        check_store(&store, &FilePath::root(), &mut found).unwrap();
        let in_log = |finding: &Finding| finding.file == log;
        assert!(found.0.iter().any(in_log), "{name}: {:?}", found.0);
    }
}

#[test]
fn no_format_creates_a_session_that_nothing_can_name() {
    for layout in format::ALL {
        let (store, place) = sample_store(layout.name());
        let fields = JsonTree::parse(sample(layout.name()).fields).unwrap();
        let new = NewSession { fields, ..NewSession::with_id(LATEST) };
        let created = layout.editable().create(&store, &new, now()).map(drop);
        let how = ForkOptions { id: Some(LATEST.to_owned()), turn: None };
        let forked = layout.editable().fork(&store, &place, &how, now(), &mut |_| {}).map(drop);
        for refused in [created, forked] {
            assert!(matches!(refused, Err(SessionError::Request { .. })), "{}", layout.name());
        }
    }
}
