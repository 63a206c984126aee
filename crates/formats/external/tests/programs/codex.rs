//! Codex 0.169: forks and reverts are files that refer to the history before them.

use std::sync::Arc;

use everturn_json::finding::FindingCode;
use everturn_store::Store;

use crate::support::{format, golden, open, said, sessions, store_at, store_of, summary};

/// The thread that was reverted, the fork of its first state, and the fork at its first turn.
const REVERTED: &str = "01a1edc2-af0e";
const FORK: &str = "01a1edc2-c02f";
const EARLY: &str = "01a1edc3-0fd4";

fn recorded() -> Arc<dyn Store> {
    store_at(&golden("codex-0.169.0"))
}

fn questions(told: &[String]) -> Vec<&str> {
    told.iter().filter_map(|line| line.split_once(" user: ")).map(|(_, text)| text).collect()
}

#[test]
fn a_reverted_thread_shows_what_the_program_shows() {
    let (format, store) = (format("codex"), recorded());
    assert_eq!(sessions(format, &store).len(), 3);
    let reader = open(format, &store, REVERTED);
    assert_eq!(reader.findings(), []);
    assert_eq!(questions(&said(&*reader)), ["A1", "A2", "R after revert"]);
    let branches = reader.branches().unwrap();
    let reverted: Vec<_> = branches.iter().filter(|branch| branch.id != "duplicates").collect();
    assert_eq!(reverted.len(), 1, "{branches:?}");
    let along = reader.open_branch(&reverted[0].id).unwrap();
    assert_eq!(questions(&said(&*along)), ["A1", "A2", "A3", "A2b"]);
    assert_eq!(summary(format, &store, REVERTED).turns, Some(3));
}

#[test]
fn a_fork_has_the_history_of_its_base() {
    let (format, store) = (format("codex"), recorded());
    let reader = open(format, &store, FORK);
    assert_eq!(questions(&said(&*reader)), ["A1", "A2", "A3", "A2b", "B1 in the fork"]);
    assert_eq!(questions(&said(&*open(format, &store, EARLY))), ["A1", "F at first"]);
    let shown = summary(format, &store, FORK);
    assert_eq!((shown.title.as_str(), shown.status.as_str()), ("The fork", "archived"));
    assert_eq!(shown.turns, Some(5));
    assert_eq!(shown.parent.as_deref(), Some("01a1edc2-af0e-7543-a69a-5d2e520c8274"));
}

#[test]
fn every_answer_is_paid_once() {
    let (format, store) = (format("codex"), recorded());
    let fork = open(format, &store, FORK).usage().unwrap();
    assert_eq!((fork.total().answers, fork.total().input, fork.total().output), (1, 89, 25));
    // A1, A2 with a call, A3, A2b, and the question after the revert.
    let spent = open(format, &store, REVERTED).usage().unwrap().total();
    assert_eq!((spent.answers, spent.input, spent.output), (6, 534, 150));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a recorded file is read")]
fn a_missing_base_is_a_finding() {
    let name = "rollout-2026-11-18T08-25-25-01a1edc2-c02f-7b61-867d-926bcabe5950.jsonl";
    let bytes =
        std::fs::read(golden("codex-0.169.0").join("archived_sessions").join(name)).unwrap();
    let store = store_of(&[(&format!("archived_sessions/{name}"), &bytes)]);
    let reader = open(format("codex"), &store, FORK);
    assert_eq!(questions(&said(&*reader)), ["B1 in the fork"]);
    let codes: Vec<FindingCode> = reader.findings().iter().map(|found| found.code).collect();
    assert_eq!(codes, [FindingCode::DanglingParent]);
}
