//! Secrets are taken out of sessions, and nothing else.

use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::{Finding, Severity};
use everturn::format::Transition;
use everturn::model::{ForkOptions, SessionRef};
use everturn::names::FilePath;
use everturn::scan::SecretRules;
use everturn::scrub::{
    PurgeTarget, audit_file, list_originals, plan_scrub, purge_originals, revert, scrub_session,
    with_branches,
};
use everturn::store::{AppendAt, Durability, Step, Store};

use crate::common::capabilities::KnownCapabilities;
use crate::house::kinds::{ALL, Kind, at, holding, named, open, token};

/// Takes the secrets out of a session and all its branches.
fn scrub_all(kind: &Kind, store: &Arc<dyn Store>) {
    for place in with_branches(store, kind.layout(), &kind.place(store).unwrap()).unwrap() {
        scrub_session(store, kind.layout(), &place, SecretRules::standard(), at(50)).unwrap();
    }
}

fn purge_one(kind: &Kind, store: &Arc<dyn Store>, place: &SessionRef) {
    let layout = kind.layout();
    let originals = list_originals(store, layout, place).unwrap();
    purge_originals(store, &[PurgeTarget { layout, place, originals }]).unwrap();
}

fn purge_all(kind: &Kind, store: &Arc<dyn Store>) {
    for place in with_branches(store, kind.layout(), &kind.place(store).unwrap()).unwrap() {
        purge_one(kind, store, &place);
    }
}

struct Found(Vec<Finding>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        if finding.code.severity() == Severity::Finding {
            self.0.push(finding);
        }
    }

    fn file(&mut self, _: &FilePath) {}
}

fn findings(disk: &SimDisk) -> Vec<String> {
    let disk: Arc<dyn Disk> = Arc::new(disk.process());
    let mut found = Found(Vec::new());
    check_path(&disk, &FilePath::root(), &mut found).unwrap();
    found.0.iter().map(ToString::to_string).collect()
}

/// A session with a branch, both of which hold the token.
fn with_branch(kind: &Kind, store: &Arc<dyn Store>) {
    kind.create(store).unwrap();
    kind.say(store, "Hello.").unwrap();
    kind.say(store, &format!("The key is {}, keep it.", token())).unwrap();
    let forking = ForkOptions { id: Some("camp_0002".to_owned()), turn: None };
    let place = kind.place(store).unwrap();
    kind.layout().editable().fork(store, &place, &forking, at(3), &mut |_| {}).unwrap();
    kind.say(store, "Goodbye.").unwrap();
}

#[test]
fn t13_no_byte_of_a_secret_is_left_in_a_session_or_its_branch_after_a_purge() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        with_branch(kind, &store);
        assert!(holding(&disk, &token()).len() >= 2, "{}", kind.layout);
        let before = kind.told(&store, &kind.place(&store).unwrap()).unwrap();

        scrub_all(kind, &store);
        let after = kind.told(&store, &kind.place(&store).unwrap()).unwrap();
        let placeholder = SecretRules::standard().placeholder("groq-key", token().as_bytes());
        let expect: Vec<String> =
            before.iter().map(|line| line.replace(&token(), &placeholder)).collect();
        assert_eq!(after, expect, "{}", kind.layout);
        assert!(after.iter().any(|line| line.contains(&placeholder)), "{}", kind.layout);

        purge_all(kind, &store);
        assert_eq!(holding(&disk, &token()), [], "{}", kind.layout);
        let audit = String::from_utf8(store.read(&audit_file(), 0..u64::MAX).unwrap()).unwrap();
        assert!(audit.contains(&placeholder) && !audit.contains(&token()), "{audit}");
        // It is a session as any other.
        kind.say(&store, "And on.").unwrap();
        drop(store);
        assert_eq!(findings(&disk), Vec::<String>::new(), "{}", kind.layout);
        assert_eq!(holding(&disk, &token()), [], "{}", kind.layout);
    }
}

#[test]
fn an_archive_and_what_it_left_in_the_trash_are_clean_after_a_purge() {
    for kind in ALL.iter().filter(|kind| matches!(kind.layout, "game" | "campaign")) {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        kind.create(&store).unwrap();
        kind.say(&store, &format!("The key is {}.", token())).unwrap();
        for stage in [Transition::Complete, Transition::Archive] {
            let place = kind.place(&store).unwrap();
            kind.layout().movable().transition(&store, &place, stage, at(5), &mut |_| {}).unwrap();
        }
        let place = kind.place(&store).unwrap();
        assert!(place.path.as_str().ends_with(".tar.gz"));
        let held = holding(&disk, &token());
        assert!(held.contains(&place.path), "{held:?}");
        scrub_session(&store, kind.layout(), &place, SecretRules::standard(), at(50)).unwrap();
        purge_one(kind, &store, &place);
        assert_eq!(holding(&disk, &token()), [], "{}", kind.layout);
        // The archive can be unpacked, and what comes out is whole.
        kind.layout()
            .movable()
            .transition(&store, &place, Transition::Unarchive, at(60), &mut |_| {})
            .unwrap();
        let told = kind.told(&store, &kind.place(&store).unwrap()).unwrap();
        assert!(told.iter().any(|line| line.contains("[secret:groq-key:")), "{told:?}");
        drop(store);
        assert_eq!(findings(&disk), Vec::<String>::new(), "{}", kind.layout);
    }
}

#[test]
fn a_snapshot_with_a_secret_has_right_checksums_afterwards() {
    let kind = named("game");
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    kind.create(&store).unwrap();
    kind.say(&store, &format!("The key is {}.", token())).unwrap();
    let mut editor = kind.layout().editable().edit(&store, &kind.place(&store).unwrap()).unwrap();
    editor.snapshot(at(2)).unwrap();
    editor.close(at(2)).unwrap();
    let held = holding(&disk, &token());
    assert!(held.iter().any(|file| file.as_str().contains("/snapshots/")), "{held:?}");
    assert!(held.iter().any(|file| file.as_str().contains("world.state.json")), "{held:?}");
    scrub_all(kind, &store);
    purge_all(kind, &store);
    assert_eq!(holding(&disk, &token()), []);
    let reader = kind.layout().open(&store, &kind.place(&store).unwrap()).unwrap();
    let state = reader.state(None).unwrap();
    assert!(state.get("world").unwrap().to_line().contains("[secret:groq-key:"));
    assert_eq!(state.findings, []);
    drop((reader, store));
    assert_eq!(findings(&disk), Vec::<String>::new());
}

#[test]
fn a_scrub_is_taken_back_byte_for_byte() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        with_branch(kind, &store);
        let own = |disk: &SimDisk| {
            let mut files = disk.contents();
            files.retain(|file, _| !file.as_str().starts_with(".everturn"));
            files
        };
        let before = own(&disk);
        let place = kind.place(&store).unwrap();
        let planned = plan_scrub(&store, kind.layout(), &place, SecretRules::standard()).unwrap();
        assert_eq!(own(&disk), before, "a plan changes nothing");
        let done =
            scrub_session(&store, kind.layout(), &place, SecretRules::standard(), at(50)).unwrap();
        assert_eq!((planned.changed, planned.derived), (done.changed, done.derived));
        assert_ne!(own(&disk), before);
        // What is scrubbed holds no secrets that could be scrubbed again.
        let again =
            scrub_session(&store, kind.layout(), &place, SecretRules::standard(), at(51)).unwrap();
        assert!(again.changed.is_empty() && again.originals.is_none(), "{:?}", again.changed);
        revert(&store, kind.layout(), &place, at(52)).unwrap();
        assert_eq!(own(&disk), before, "{}", kind.layout);
        assert!(revert(&store, kind.layout(), &place, at(53)).is_err());
    }
}

#[test]
fn what_was_trashed_or_cut_off_is_clean_too() {
    let kind = named("linggen");
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    kind.create(&store).unwrap();
    kind.say(&store, "Hello.").unwrap();
    // Another program dies in the middle of a line, which the next append sets aside.
    let log = kind.place(&store).unwrap().path.as_str().to_owned() + "/messages.jsonl";
    let log = FilePath::parse(&log).unwrap();
    drop(store);
    let mut bytes = disk.contents()[&log].clone();
    bytes.extend_from_slice(format!("{{\"content\":\"{}", token()).as_bytes());
    disk.put_file(&log, &bytes);
    let store = open(&disk).unwrap();
    kind.say(&store, "Goodbye.").unwrap();
    let held = holding(&disk, &token());
    assert!(held.iter().any(|file| file.as_str().contains("/quarantine/")), "{held:?}");
    scrub_all(kind, &store);
    purge_all(kind, &store);
    assert_eq!(holding(&disk, &token()), []);
    assert!(disk.contents().keys().any(|file| file.as_str().contains("/quarantine/")));
}

#[test]
fn t13_signatures_and_thinking_stay_as_they_are() {
    let kind = named("codelia");
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    kind.create(&store).unwrap();
    let signed = format!(
        r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"use {0}","signature":"EqQB{1}=="}},{{"type":"text","text":"{0}"}}]}}"#,
        token(),
        "Zm9v".repeat(40),
    );
    let place = kind.place(&store).unwrap();
    let writer = store.lock(std::slice::from_ref(&place.path)).unwrap();
    let lines = format!("{signed}\n").into_bytes();
    let step = Step::Append { file: place.path.clone(), at: AppendAt::End, lines };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
    let done =
        scrub_session(&store, kind.layout(), &place, SecretRules::standard(), at(50)).unwrap();
    assert_eq!(done.left, [(place.path.clone(), 1)]);
    let text = String::from_utf8(store.read(&place.path, 0..u64::MAX).unwrap()).unwrap();
    let placeholder = SecretRules::standard().placeholder("groq-key", token().as_bytes());
    let expect = signed
        .replace(&format!("\"text\":\"{}\"", token()), &format!("\"text\":\"{placeholder}\""));
    assert_eq!(text.trim_end(), expect);
}
