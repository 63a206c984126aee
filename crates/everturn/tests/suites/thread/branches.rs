//! Branches of checkpoints, forks and rewinds.

use super::{at, checkpoint, create, layout, memory, place, reader, texts};
use crate::common::capabilities::KnownCapabilities;
use everturn::model::ForkOptions;
use everturn::names::Name;

#[test]
fn checkpoints_with_one_parent_are_branches() {
    let store = memory();
    let mut thread = create(&store);
    thread.append(&checkpoint("a", None, 1), at(1)).unwrap();
    thread.append(&checkpoint("b", Some("a"), 2), at(2)).unwrap();
    thread.append(&checkpoint("c", Some("a"), 3), at(3)).unwrap();
    thread.release().unwrap();
    let reader = reader(&store);
    assert_eq!(*reader.turns().unwrap().end(), 2);
    let branches = reader.branches().unwrap();
    assert_eq!(branches.len(), 1);
    assert_eq!((branches[0].id.as_str(), branches[0].from, branches[0].turns), ("b", Some(1), 1));
    let branch = reader.open_branch("b").unwrap();
    assert_eq!(texts(&*branch), ["message 1", "message 2"]);
    assert_eq!(texts(&*reader), ["message 1", "message 2", "message 3"]);
    assert!(reader.open_branch("z").is_err());
}

#[test]
fn a_rewind_does_not_continue_another_branch() {
    let store = memory();
    let mut thread = create(&store);
    thread.append(&checkpoint("a", None, 1), at(1)).unwrap();
    thread.append(&checkpoint("b", Some("a"), 2), at(2)).unwrap();
    thread.append(&checkpoint("other", Some("a"), 5), at(3)).unwrap();
    let writes = r#"{"type":"writes","checkpoint":"b","task":"k","writes":[]}"#;
    thread.append(writes, at(3)).unwrap();
    thread.append(&checkpoint("d", Some("b"), 3), at(4)).unwrap();
    thread.release().unwrap();
    let editing = layout().editable();
    let forked = ForkOptions { id: Some("copy".to_owned()), turn: Some(2) };
    let fork = editing.fork(&store, &place(&store), &forked, at(5), &mut |_| {}).unwrap();
    let before = texts(&*reader(&store));
    let kept = editing.rewind(&store, &place(&store), 2, at(6), &mut |_| {}).unwrap();
    assert_eq!(kept.session.id, "t1-1");
    assert_eq!(texts(&*layout().open(&store, &kept.session).unwrap()), before);
    for session in [place(&store), fork.session] {
        let reader = layout().open(&store, &session).unwrap();
        assert_eq!(texts(&*reader), ["message 1", "message 2"], "{}", session.id);
        assert_eq!(reader.branches().unwrap().len(), 0);
        let log =
            store.read(&session.path.join(&Name::parse("thread.jsonl").unwrap()), 0..u64::MAX);
        assert!(String::from_utf8(log.unwrap()).unwrap().contains("\"writes\""));
    }
    let summary = layout().summary(&store, &kept.session).unwrap();
    assert_eq!(summary.parent.as_deref(), Some("t1"));
}

#[test]
fn a_checkpoint_that_is_its_own_ancestor_ends_the_line() {
    let store = memory();
    let mut thread = create(&store);
    thread.append(&checkpoint("a", Some("b"), 1), at(1)).unwrap();
    thread.append(&checkpoint("b", Some("a"), 2), at(2)).unwrap();
    thread.release().unwrap();
    assert_eq!(*reader(&store).turns().unwrap().end(), 2);
}
