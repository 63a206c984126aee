//! What happens to a session after it was sealed is found, and what is meant to happen is not.

use std::sync::Arc;

use everturn::format::Transition;
use everturn::names::FilePath;
use everturn::scan::SecretRules;
use everturn::scrub::{audit_file, scrub_session};
use everturn::seal::{DamageKind, find_earlier_head, seal_file, seal_session, verify_session};
use everturn::store::{Durability, FileMode, Precondition, Step, Store};

use crate::common::capabilities::KnownCapabilities;
use crate::house::kinds::{ALL, Kind, at, memory, token};

fn sealed(kind: &Kind, store: &Arc<dyn Store>) {
    kind.create(store).unwrap();
    for words in ["One.", "Two.", "Three.", "Four."] {
        kind.say(store, words).unwrap();
    }
    let done = seal_session(store, kind.layout(), &kind.place(store).unwrap(), at(10)).unwrap();
    assert!(done.entries >= 4, "{}: {done:?}", kind.layout);
}

/// What a verdict says: how many came later, and what is not as it was.
fn verdict(kind: &Kind, store: &Arc<dyn Store>) -> (u64, Vec<DamageKind>) {
    let verdict =
        verify_session(store, kind.layout(), &kind.place(store).unwrap()).unwrap().unwrap();
    (verdict.appended, verdict.damages.iter().map(|damage| damage.harm).collect())
}

#[test]
fn what_is_appended_does_not_break_a_seal_and_is_sealed_by_the_next() {
    for kind in ALL {
        let store = memory();
        kind.create(&store).unwrap();
        let place = kind.place(&store).unwrap();
        assert_eq!(verify_session(&store, kind.layout(), &place).unwrap(), None);
        let store = memory();
        sealed(kind, &store);
        assert_eq!(verdict(kind, &store), (0, vec![]), "{}", kind.layout);
        kind.say(&store, "Five.").unwrap();
        let (appended, harms) = verdict(kind, &store);
        assert!(appended >= 1 && harms.is_empty(), "{}", kind.layout);
        let place = kind.place(&store).unwrap();
        let again = seal_session(&store, kind.layout(), &place, at(20)).unwrap();
        assert_eq!(again.added, appended, "{}", kind.layout);
        assert_eq!(verdict(kind, &store), (0, vec![]), "{}", kind.layout);
        assert_eq!(seal_session(&store, kind.layout(), &place, at(30)).unwrap().added, 0);
    }
}

/// The files of a session in which something stands.
fn files_with(store: &Arc<dyn Store>, kind: &Kind, text: &str) -> Vec<FilePath> {
    let place = kind.place(store).unwrap();
    let files = kind.layout().session_files(store, &place).unwrap().all_files(store).unwrap();
    let has = |file: &FilePath| {
        String::from_utf8_lossy(&store.read(file, 0..u64::MAX).unwrap()).contains(text)
    };
    files.into_iter().filter(|file| has(file)).collect()
}

fn put(store: &Arc<dyn Store>, file: &FilePath, bytes: Vec<u8>) {
    let writer = store.lock(&[FilePath::root()]).unwrap();
    let (file, expect, mode) = (file.clone(), Precondition::Anything, FileMode::Default);
    let step = Step::Replace { file, expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
}

#[test]
fn a_word_that_was_changed_is_found() {
    for kind in ALL {
        let store = memory();
        sealed(kind, &store);
        for file in files_with(&store, kind, "Two.") {
            let text = String::from_utf8(store.read(&file, 0..u64::MAX).unwrap()).unwrap();
            put(&store, &file, text.replace("Two.", "Owt.").into_bytes());
        }
        let (_, harms) = verdict(kind, &store);
        assert!(harms.contains(&DamageKind::Changed), "{}: {harms:?}", kind.layout);
        let place = kind.place(&store).unwrap();
        assert!(seal_session(&store, kind.layout(), &place, at(20)).is_err(), "{}", kind.layout);
    }
}

#[test]
fn a_line_that_is_gone_or_elsewhere_is_found() {
    for kind in ALL.iter().filter(|kind| matches!(kind.layout, "codelia" | "linggen" | "game")) {
        let change = |edit: fn(&mut Vec<&str>)| {
            let store = memory();
            sealed(kind, &store);
            let log = files_with(&store, kind, "Two.").into_iter().find(|file| {
                file.as_str().ends_with(".jsonl") && !file.as_str().contains("/deltas/")
            });
            let log = log.unwrap();
            let text = String::from_utf8(store.read(&log, 0..u64::MAX).unwrap()).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            edit(&mut lines);
            put(&store, &log, (lines.join("\n") + "\n").into_bytes());
            verdict(kind, &store).1
        };
        assert!(
            change(|lines| _ = lines.remove(1)).contains(&DamageKind::Removed),
            "{}",
            kind.layout
        );
        assert!(change(|lines| _ = lines.pop()).contains(&DamageKind::Removed), "{}", kind.layout);
        let moved = change(|lines| lines.swap(1, 2));
        assert!(!moved.is_empty(), "{}: {moved:?}", kind.layout);
    }
}

#[test]
fn a_seal_survives_archives_and_their_unpacking() {
    for kind in ALL.iter().filter(|kind| matches!(kind.layout, "game" | "campaign")) {
        let store = memory();
        sealed(kind, &store);
        for stage in [Transition::Complete, Transition::Archive, Transition::Unarchive] {
            let place = kind.place(&store).unwrap();
            kind.layout().movable().transition(&store, &place, stage, at(30), &mut |_| {}).unwrap();
            assert_eq!(verdict(kind, &store), (0, vec![]), "{} {stage:?}", kind.layout);
        }
    }
}

#[test]
fn a_seal_survives_rotation_and_folds() {
    let game = &ALL[0];
    let store = memory();
    sealed(game, &store);
    for turn in 0..150 {
        game.say(&store, &format!("Turn {turn}.")).unwrap();
    }
    let place = game.place(&store).unwrap();
    let turns = game.layout().session_files(&store, &place).unwrap().all_files(&store).unwrap();
    let turns = turns.iter().filter(|file| file.as_str().contains("/turns/")).count();
    assert!(turns > 1, "nothing was rotated");
    let (appended, harms) = verdict(game, &store);
    assert!(appended >= 150 && harms.is_empty(), "{harms:?}");

    let chat = &ALL[4];
    let store = memory();
    sealed(chat, &store);
    let editor = chat.layout().editable().edit(&store, &chat.place(&store).unwrap()).unwrap();
    editor.close(at(40)).unwrap();
    assert_eq!(verdict(chat, &store), (0, vec![]));
}

#[test]
fn a_declared_scrub_renews_the_seal_and_the_audit_record_links_both() {
    for kind in ALL {
        let store = memory();
        kind.create(&store).unwrap();
        kind.say(&store, &format!("The key is {}.", token())).unwrap();
        kind.say(&store, "Two.").unwrap();
        let place = kind.place(&store).unwrap();
        let before = seal_session(&store, kind.layout(), &place, at(10)).unwrap().head;
        kind.say(&store, "Later.").unwrap();
        let (appended, _) = verdict(kind, &store);
        let done =
            scrub_session(&store, kind.layout(), &place, SecretRules::standard(), at(20)).unwrap();
        let (old, new) = done.seals.unwrap();
        assert_eq!(old, before);
        assert_eq!(verdict(kind, &store), (appended, vec![]), "{}", kind.layout);
        let audit = String::from_utf8(store.read(&audit_file(), 0..u64::MAX).unwrap()).unwrap();
        assert!(audit.contains(&old) && audit.contains(&new));
    }
}

#[test]
fn a_scrub_does_not_hide_that_a_seal_was_broken() {
    let kind = &ALL[2];
    let store = memory();
    sealed(kind, &store);
    kind.say(&store, &token()).unwrap();
    let log = files_with(&store, kind, "Two.").remove(0);
    let text = String::from_utf8(store.read(&log, 0..u64::MAX).unwrap()).unwrap();
    put(&store, &log, text.replace("Two.", "2.").into_bytes());
    let place = kind.place(&store).unwrap();
    let done =
        scrub_session(&store, kind.layout(), &place, SecretRules::standard(), at(20)).unwrap();
    assert_eq!(done.seals, None);
    assert_eq!(verdict(kind, &store).1, [DamageKind::Changed]);
}

#[test]
fn a_head_of_an_earlier_seal_is_confirmed_and_an_emptied_seal_fails() {
    for kind in ALL {
        let store = memory();
        sealed(kind, &store);
        let place = kind.place(&store).unwrap();
        let layout = kind.layout();
        let first = verify_session(&store, layout, &place).unwrap().unwrap();
        kind.say(&store, "Five.").unwrap();
        let place = kind.place(&store).unwrap();
        let second = seal_session(&store, layout, &place, at(20)).unwrap();
        assert_ne!(first.head, second.head, "{}", kind.layout);
        let earlier = |head: &str| find_earlier_head(&store, layout, &place, head).unwrap();
        assert_eq!(earlier(&first.head), Some(first.sealed), "{}", kind.layout);
        assert_eq!(earlier("00"), None);
        let file = seal_file(layout, &place).unwrap();
        let writer = store.lock(std::slice::from_ref(&file)).unwrap();
        let (expect, mode) = (Precondition::Anything, FileMode::Default);
        let step = Step::Replace { file, expect, bytes: Vec::new(), mode };
        writer.commit(vec![step], Durability::Synced).unwrap();
        writer.release().unwrap();
        assert!(verify_session(&store, layout, &place).is_err(), "{}", kind.layout);
    }
}
