//! Commands without a root: they find sessions in all places that `everturn ls` lists.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::path::Path;

use crate::everturn::{command, run};

/// Runs a command without `--root` in a home; returns its exit code, stdout and stderr.
fn outcome(home: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let mut everturn = command(home);
    everturn.args(words).env("HOME", home).env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
    let output = run(everturn, "");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A home with sessions in its own root, in the homes of both agents, and below the current directory.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    for words in [
        ["new", "game", "--id", "g1"],
        ["new", "codelia", "--id", "k1"],
        ["new", "linggen", "--id", "l1"],
    ] {
        let made = outcome(home.path(), &words);
        assert_eq!(made.0, Some(0), "{words:?}: {made:?}");
    }
    let storage = home.path().join("storage");
    std::fs::create_dir_all(storage.join("campaigns")).unwrap();
    let made = outcome(
        home.path(),
        &["new", "campaign", "--id", "c1", "--root", storage.to_str().unwrap()],
    );
    assert_eq!(made.0, Some(0), "{made:?}");
    let listed = outcome(home.path(), &["ls"]).1;
    for id in ["g1", "k1", "l1", "c1"] {
        assert!(listed.contains(id), "{listed}");
    }
    home
}

#[test]
fn a_session_of_any_source_goes_to_the_trash_and_comes_back() {
    let home = home();
    for id in ["g1", "k1", "l1", "c1"] {
        let (code, name, said) = outcome(home.path(), &["trash", id]);
        assert_eq!(code, Some(0), "{id}: {said}");
        let restore = said.lines().find_map(|line| line.split_once("undo with: everturn "));
        let restore: Vec<&str> = restore.unwrap().1.split(' ').collect();
        let (_, listed, _) = outcome(home.path(), &["trash"]);
        assert!(listed.contains(name.trim()), "{id}: {listed}");
        assert!(!outcome(home.path(), &["ls"]).1.contains(id));
        let (code, _, said) = outcome(home.path(), &restore);
        assert_eq!(code, Some(0), "{id}: {said}");
        assert!(outcome(home.path(), &["ls"]).1.contains(id));
    }
}

#[test]
fn purge_deletes_what_the_trash_lists() {
    let home = home();
    for id in ["g1", "k1", "c1"] {
        assert_eq!(outcome(home.path(), &["trash", id]).0, Some(0));
    }
    let (code, listed, _) = outcome(home.path(), &["purge", "k1"]);
    assert_eq!((code, listed.lines().count()), (Some(0), 1), "{listed}");
    assert_eq!(outcome(home.path(), &["trash"]).1.lines().count(), 3);
    let (code, deleted, said) = outcome(home.path(), &["purge", "--all", "--yes"]);
    assert_eq!((code, deleted.lines().count()), (Some(0), 3), "{deleted}{said}");
    assert_eq!(outcome(home.path(), &["trash"]).1, "");
}

#[test]
fn check_scan_and_retention_look_at_all_sources() {
    let home = home();
    let (code, _, said) = outcome(home.path(), &["retention", "plan", "--count", "1"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("3 of 4 sessions"), "{said}");
    let log = home.path().join(".codelia/sessions/messages/k1.jsonl");
    std::fs::write(
        &log,
        "{\"role\":\"user\",\"content\":\"postgres://app:Zebra77x@db.internal/main\"}\n{bad\n",
    )
    .unwrap();
    let (code, found, said) = outcome(home.path(), &["check"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(found.contains("k1.jsonl:2"), "{found}");
    let (code, found, said) = outcome(home.path(), &["scan"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(found.contains("k1.jsonl:1"), "{found}");
    let (code, _, said) = outcome(home.path(), &["retention", "apply", "--count", "1", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(outcome(home.path(), &["ls"]).1.lines().count(), 1);
    assert_eq!(outcome(home.path(), &["trash"]).1.lines().count(), 3);
}

#[test]
fn an_export_does_not_change_which_session_is_the_latest() {
    let home = home();
    let at = |time: &str, words: &[&str]| {
        let mut everturn = command(home.path());
        everturn.args(words).env("HOME", home.path()).env("EVERTURN_NOW", time);
        run(everturn, "").status.code()
    };
    assert_eq!(at("2026-01-02T10:00:00Z", &["new", "chatlog", "--id", "old"]), Some(0));
    assert_eq!(at("2026-01-03T10:00:00Z", &["new", "chatlog", "--id", "late"]), Some(0));
    for words in [&["export", "old", "--format", "md"][..], &["show", "old"], &["check", "old"]] {
        assert_eq!(at("2026-01-04T10:00:00Z", words), Some(0), "{words:?}");
    }
    let listed = outcome(home.path(), &["ls", "--json", "--limit", "1"]).1;
    assert!(listed.contains(r#""id":"late""#), "{listed}");
}

#[test]
fn a_turn_can_be_named_by_an_option() {
    let home = home();
    for number in 1..=3 {
        let turn = format!(
            r#"{{"actor":"gm","narration":"Turn {number}.","deltas":[{{"scope":"world","deltas":[{{"op":"set","path":"n","value":{number}}}]}}]}}"#
        );
        let mut append = command(home.path());
        append.args(["append", "g1"]).env("HOME", home.path());
        assert!(run(append, &turn).status.success());
    }
    let said = |words: &[&str]| outcome(home.path(), words).1;
    assert_eq!(said(&["show", "g1", "--turn", "2"]), said(&["show", "g1", "--turns", "2"]));
    assert_eq!(said(&["diff", "g1", "--turn", "2"]), said(&["diff", "g1", "1", "2"]));
    assert!(said(&["diff", "g1", "--turn", "2"]).contains('2'));
    assert_eq!(outcome(home.path(), &["rewind", "g1"]).0, Some(2));
    assert_eq!(outcome(home.path(), &["rewind", "g1", "--turn", "1"]).0, Some(0));
    assert!(!said(&["show", "g1"]).contains("Turn 2."));
}
