//! Several steps at once, and several commits one after the other.

use everturn_store::{
    AppendAt, Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError,
};

use super::{lock, refuses, shown, synced};
use crate::support::{append, path, remove, rename, replace};

pub(crate) fn a_batch_that_makes_no_sense_changes_nothing(store: &dyn Store) {
    let writer = lock(store, "");
    synced(&*writer, ["a", "b", "d/e"].map(|file| append(file, "{}\n")).to_vec()).unwrap();
    let senseless = [
        vec![append("a", "{}")],
        vec![append("a", "")],
        vec![append("", "{}\n")],
        vec![replace("", "")],
        vec![remove("")],
        vec![rename("", "x")],
        vec![rename("a", "")],
        vec![rename("d", "d/e/f")],
        vec![rename("d/e", "d")],
        vec![rename("a", "a")],
        vec![rename("a", "c"), append("a", "{}\n")],
        vec![rename("a", "c"), append("c", "{}\n")],
        vec![rename("a", "c"), rename("c", "f")],
        vec![rename("d", "x"), append("x/e", "{}\n")],
        vec![remove("a"), append("a", "{}\n")],
        vec![remove("d"), append("d/e", "{}\n")],
        vec![remove("d/e"), rename("d", "x")],
        vec![remove("a"), remove("a")],
        vec![append("a", "{}\n"), replace("a", "")],
        vec![replace("a", ""), replace("a", "")],
        vec![replace("a", "{}"), append("a", "{}\n")],
    ];
    for steps in senseless {
        refuses!(store, writer, steps, StoreError::BadStep { .. });
        let late = [vec![append("b", "{}\n"), replace("n/m", "x")], steps].concat();
        refuses!(store, writer, late, StoreError::BadStep { .. });
    }
}

pub(crate) fn a_replacement_can_be_appended_to_in_one_batch(store: &dyn Store) {
    let writer = lock(store, "s");
    let fresh = vec![replace("s/f", "{}\n"), append("s/f", "1\n"), append("s/f", "2\n")];
    synced(&*writer, fresh).unwrap();
    assert_eq!(shown(store), ["s/", "s/f: {}\n1\n2\n"]);
    synced(&*writer, vec![replace("s/f", ""), append("s/f", "3\n")]).unwrap();
    assert_eq!(shown(store), ["s/", "s/f: 3\n"]);
    let known = Fingerprint::of(b"3\n");
    let checked = Step::Replace {
        file: path("s/f"),
        expect: Precondition::Content(known),
        bytes: b"4\n".to_vec(),
        mode: FileMode::Default,
    };
    let exact =
        |at| Step::Append { file: path("s/f"), at: AppendAt::Offset(at), lines: b"5\n".to_vec() };
    refuses!(store, writer, [checked.clone(), exact(3)], StoreError::Moved { .. });
    synced(&*writer, vec![checked, exact(2)]).unwrap();
    assert_eq!(shown(store), ["s/", "s/f: 4\n5\n"]);
}

pub(crate) fn a_receipt_tells_the_place_of_every_append(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![append("s/log", "{}\n")]).unwrap();
    let steps = vec![
        append("s/log", "1\n"),
        replace("s/f", "{}\n{}\n"),
        append("s/f", "2\n"),
        append("s/log", "3\n"),
        append("s/f", "4\n"),
        append("s/new", "5\n"),
    ];
    assert_eq!(synced(&*writer, steps).unwrap().appended, [3, 6, 5, 8, 0]);
}

pub(crate) fn a_file_is_changed_and_then_renamed_in_one_batch(store: &dyn Store) {
    let writer = lock(store, "s");
    let steps = vec![append("s/d/current", "1\n"), rename("s/d/current", "s/d/full")];
    synced(&*writer, steps).unwrap();
    let steps = vec![replace("s/d/state", "1"), append("s/d/full", "2\n"), rename("s/d", "s/e")];
    synced(&*writer, steps).unwrap();
    assert_eq!(shown(store), ["s/", "s/e/", "s/e/full: 1\n2\n", "s/e/state: 1"]);
    let steps = vec![append("s/e/full", "3\n"), replace("s/e/new", ""), remove("s/e")];
    synced(&*writer, steps).unwrap();
    assert_eq!(shown(store), ["s/"]);
}

pub(crate) fn a_step_that_fails_leaves_nothing_of_its_batch(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, ["s/a", "s/b", "s/d/e"].map(|file| append(file, "{}\n")).to_vec()).unwrap();
    let good = [
        append("s/a", "{}\n"),
        append("s/new/log", "{}\n"),
        replace("s/b", "x"),
        replace("s/new/state", "x"),
        rename("s/d/e", "s/d/f"),
    ];
    let wrong = rename("s/missing", "s/found");
    for place in 0..=good.len() {
        let mut steps = good.to_vec();
        steps.insert(place, wrong.clone());
        refuses!(store, writer, steps, StoreError::Missing { .. });
    }
    synced(&*writer, good.to_vec()).unwrap();
}

pub(crate) fn a_batch_of_nothing_does_nothing(store: &dyn Store) {
    let writer = lock(store, "s");
    assert_eq!(synced(&*writer, vec![]).unwrap(), Default::default());
    writer.commit(vec![], Durability::Buffered).unwrap();
    assert!(shown(store).is_empty());
}

pub(crate) fn a_name_can_begin_again_in_the_next_batch(store: &dyn Store) {
    let writer = lock(store, "s");
    for n in 0..3 {
        let line = format!("{n}\n");
        synced(&*writer, vec![append("s/log", &line), replace("s/d/state", &line)]).unwrap();
        synced(&*writer, vec![rename("s/log", &format!("s/log-{n}"))]).unwrap();
        synced(&*writer, vec![remove("s/d")]).unwrap();
        synced(&*writer, vec![replace("s/log", "x")]).unwrap();
        synced(&*writer, vec![append("s/d", &line)]).unwrap();
        synced(&*writer, vec![remove("s/log"), remove("s/d")]).unwrap();
    }
    assert_eq!(shown(store), ["s/", "s/log-0: 0\n", "s/log-1: 1\n", "s/log-2: 2\n"]);
}

pub(crate) fn a_file_and_a_directory_cannot_share_a_name_in_one_batch(store: &dyn Store) {
    let writer = lock(store, "s");
    synced(&*writer, vec![append("s/x", "{}\n")]).unwrap();
    for steps in [
        [append("s/a", "{}\n"), append("s/a/b", "{}\n")],
        [append("s/a/b/c", "{}\n"), append("s/a", "{}\n")],
        [replace("s/a", ""), replace("s/a/b", "")],
        [replace("s/a/b", ""), replace("s/a", "")],
        [append("s/a", "{}\n"), rename("s/x", "s/a/x")],
        [append("s/a/b", "{}\n"), replace("s/a", "")],
    ] {
        refuses!(store, writer, steps, StoreError::BadStep { .. });
    }
    let onto = [append("s/a/b", "{}\n"), rename("s/x", "s/a")];
    refuses!(store, writer, onto, StoreError::Taken { .. });
}

pub(crate) fn what_is_written_is_seen_at_once(store: &dyn Store) {
    let writer = lock(store, "s");
    let written = |steps| writer.commit(steps, Durability::Buffered).unwrap();
    assert_eq!(written(vec![append("s/log", "1\n")]).appended, [0]);
    assert_eq!(store.read(&path("s/log"), 0..10).unwrap(), b"1\n");
    written(vec![append("s/log", "2\n")]);
    assert_eq!(store.stat(&path("s/log")).unwrap().unwrap().len, 4);
    written(vec![rename("s/log", "s/old")]);
    assert_eq!(store.list(&path("s")).unwrap().entries[0].name.as_str(), "old");
    written(vec![replace("s/state", "x")]);
    assert_eq!(shown(store), ["s/", "s/old: 1\n2\n", "s/state: x"]);
    written(vec![remove("s/old")]);
    assert!(store.stat(&path("s/old")).unwrap().is_none());
}

pub(crate) fn written_and_synced_commits_keep_their_order(store: &dyn Store) {
    let writer = lock(store, "s");
    for n in 0..9_u64 {
        let durability = if n % 3 == 2 { Durability::Synced } else { Durability::Buffered };
        let steps = vec![append("s/log", &format!("{n}\n")), replace("s/state", &n.to_string())];
        assert_eq!(writer.commit(steps, durability).unwrap().appended, [2 * n]);
    }
    assert_eq!(shown(store), ["s/", "s/log: 0\n1\n2\n3\n4\n5\n6\n7\n8\n", "s/state: 8"]);
    writer.release().unwrap();
}
