//! Records that are removed, threads that are suspended, and items of frameworks.

#![expect(clippy::disallowed_methods, reason = "another program damages the file")]

use std::sync::Arc;

use super::{at, checkpoint, create, log, memory, reader, texts};
use everturn::Root;
use everturn::model::NewSession;
use everturn::thread::{RecordType, ThreadWriter};

#[test]
fn removing_a_checkpoint_keeps_the_values_of_the_others() {
    let store = memory();
    let mut thread = create(&store);
    for (id, parent, count) in
        [("a", None, 2), ("b", Some("a"), 4), ("c", Some("b"), 5), ("d", Some("c"), 6)]
    {
        thread.append(&checkpoint(id, parent, count), at(1)).unwrap();
    }
    let before = thread.thread().channels(4).unwrap();
    assert_eq!(
        thread.retain(|record| !["a", "c"].contains(&record.id().as_str()), &[], at(2)).unwrap(),
        2
    );
    let kept = thread.thread();
    assert_eq!(kept.records().len(), 3);
    assert_eq!(kept.records()[1].text("parent"), None);
    assert_eq!(kept.records()[2].text("parent").as_deref(), Some("b"));
    let after = kept.channels(2).unwrap();
    assert_eq!(after.len(), before.len());
    for ((name, new), (_, old)) in after.iter().zip(&before) {
        assert!(new.is_same(old), "{name}");
    }
    thread.release().unwrap();
    assert_eq!(texts(&*reader(&store)).len(), 6);
}

#[test]
fn a_thread_with_unreadable_records_is_not_rewritten() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open_or_create(dir.path()).unwrap();
    let store = Arc::clone(root.store());
    let mut thread = create(&store);
    thread.append(r#"{"role":"user","content":"one"}"#, at(1)).unwrap();
    thread.release().unwrap();
    let path = dir.path().join("threads/t1/thread.jsonl");
    let damaged = format!("{}[1]\n", std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, &damaged).unwrap();
    let mut thread =
        ThreadWriter::open(&store, &everturn::names::SessionId::parse("t1").unwrap()).unwrap();
    let refused = thread.retain(|record| record.kind != RecordType::Item, &[], at(2));
    assert!(refused.is_err());
    thread.release().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
}

#[test]
fn a_suspended_thread_notices_what_others_have_written() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::open_or_create(dir.path()).unwrap();
    let store = Arc::clone(root.store());
    let mut thread = create(&store);
    thread.append(r#"{"role":"user","content":"one"}"#, at(1)).unwrap();
    let suspended = thread.suspend().unwrap();
    assert!(suspended.is_readable().unwrap());
    let id = everturn::names::SessionId::parse("t1").unwrap();
    let mut other = ThreadWriter::open(&store, &id).unwrap();
    other.append(r#"{"role":"user","content":"two"}"#, at(2)).unwrap();
    assert!(!suspended.is_readable().unwrap());
    let (suspended, _busy) = *ThreadWriter::resume(suspended).err().unwrap();
    other.release().unwrap();
    let mut thread = ThreadWriter::resume(suspended).ok().unwrap();
    assert_eq!(thread.thread().records().len(), 3);
    thread.append(r#"{"role":"user","content":"three"}"#, at(3)).unwrap();
    thread.release().unwrap();
    assert_eq!(log(&store).lines().count(), 4);
}

#[test]
fn an_item_may_hold_the_object_of_a_framework() {
    let store = memory();
    let new = NewSession::with_id("t1");
    let mut thread = ThreadWriter::create(&store, &new, at(0)).unwrap();
    let item = r#"{"type":"item","item":{"type":"checkpoint","role":"user","content":"hello"}}"#;
    thread.append(item, at(1)).unwrap();
    assert_eq!(thread.thread().records()[1].kind, RecordType::Item);
    assert_eq!(texts(&*reader(&store)), ["hello"]);
}
