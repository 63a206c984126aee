//! Which writer may write where.

use everturn_store::{Store, StoreError};

use super::{lock, refuses, shown, synced};
use crate::support::{append, path, remove, rename, replace};

fn is_busy(store: &dyn Store, scope: &str) -> bool {
    match store.lock(&[path(scope)]) {
        Ok(_) => false,
        Err(StoreError::Busy { scope: named, .. }) => {
            assert_eq!(named, path(scope));
            true
        }
        Err(other) => panic!("{other:?}"),
    }
}

pub(crate) fn a_writer_keeps_to_its_scope(store: &dyn Store) {
    let writer = lock(store, "s/a");
    synced(&*writer, vec![append("s/a/log", "{}\n")]).unwrap();
    let outside = ["s", "s/b", "s/ab", "t", "s/b/a"];
    for place in outside {
        let beyond = path(place);
        for step in [append(place, "{}\n"), replace(place, ""), remove(place)] {
            refuses!(
                store,
                writer,
                [append("s/a/log", "{}\n"), step],
                StoreError::OutsideScope { path } if path == beyond
            );
        }
        refuses!(store, writer, [rename("s/a/log", place)], StoreError::OutsideScope { .. });
        refuses!(store, writer, [rename(place, "s/a/new")], StoreError::OutsideScope { .. });
    }
    synced(&*writer, vec![remove("s/a")]).unwrap();
    assert_eq!(shown(store), ["s/"]);
}

pub(crate) fn a_writer_may_have_several_scopes(store: &dyn Store) {
    let writer = store.lock(&[path("active/x"), path("paused/x"), path("active/x/sub")]).unwrap();
    synced(&*writer, vec![append("active/x/log", "{}\n")]).unwrap();
    synced(&*writer, vec![rename("active/x", "paused/x")]).unwrap();
    assert_eq!(shown(store), ["active/", "paused/", "paused/x/", "paused/x/log: {}\n"]);
    refuses!(store, writer, [rename("paused/x", "done/x")], StoreError::OutsideScope { .. });
    assert!(is_busy(store, "active/x") && is_busy(store, "paused/x"));
    drop(writer);
    assert!(!is_busy(store, "active/x") && !is_busy(store, "paused/x"));
    let nobody = store.lock(&[]).unwrap();
    refuses!(store, nobody, [append("a", "{}\n")], StoreError::OutsideScope { .. });
}

pub(crate) fn a_writer_can_add_scopes_and_release_them(store: &dyn Store) {
    let mut writer = lock(store, "s/a");
    synced(&*writer, vec![append("s/a/log", "1\n")]).unwrap();
    for round in 0..2 {
        let (copy, staged) = (format!("s/b{round}"), format!(".everturn/staging/b{round}"));
        let copied = format!("{copy}/log");
        refuses!(store, writer, [append(&copied, "1\n")], StoreError::OutsideScope { .. });
        writer.add_scopes(&[path(&copy), path(&staged)]).unwrap();
        assert!(is_busy(store, &copy) && is_busy(store, "s/a"));
        synced(&*writer, vec![append(&format!("{staged}/log"), "1\n")]).unwrap();
        synced(&*writer, vec![rename(&staged, &copy), append("s/a/log", "2\n")]).unwrap();
        writer.add_scopes(&[path("s/c")]).unwrap();
        synced(&*writer, vec![append("s/c", "{}\n"), append(&copied, "3\n")]).unwrap();
        writer.release_added_scopes().unwrap();
        assert!(!is_busy(store, &copy) && !is_busy(store, "s/c") && is_busy(store, "s/a"));
        refuses!(store, writer, [append(&copied, "1\n")], StoreError::OutsideScope { .. });
        synced(&*lock(store, &copy), vec![append(&copied, "4\n")]).unwrap();
        synced(&*lock(store, "s/c"), vec![remove("s/c")]).unwrap();
    }
    writer.release_added_scopes().unwrap();
    synced(&*writer, vec![append("s/a/log", "5\n")]).unwrap();
    writer.add_scopes(&[path("s/d")]).unwrap();
    writer.release().unwrap();
    assert!(!is_busy(store, ""));
    let copies = ["s/b0/", "s/b0/log: 1\n3\n4\n", "s/b1/", "s/b1/log: 1\n3\n4\n"];
    let all = [["s/", "s/a/", "s/a/log: 1\n2\n2\n5\n"].as_slice(), &copies].concat();
    assert_eq!(shown(store), all);
}

pub(crate) fn an_added_scope_that_is_busy_changes_nothing(store: &dyn Store) {
    let (mut writer, other) = (lock(store, "s/a"), lock(store, "s/m"));
    for scopes in [["s/b", "s/m"], ["s/m/x", "s/z"], ["s/b", "s"], ["s/a", "s/b"], ["s/a/x", "s/b"]]
    {
        let error = writer.add_scopes(&scopes.map(path)).unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
        assert!(!is_busy(store, "s/b") && !is_busy(store, "s/z"));
        refuses!(store, writer, [append("s/b", "{}\n")], StoreError::OutsideScope { .. });
        synced(&*writer, vec![append("s/a/log", "{}\n")]).unwrap();
    }
    drop(other);
    writer.add_scopes(&[path("s/m"), path("s/m/x")]).unwrap();
    synced(&*writer, vec![append("s/m/x", "{}\n"), append("s/a/log", "{}\n")]).unwrap();
    drop(writer);
    assert!(!is_busy(store, ""));
}

pub(crate) fn everturns_own_directory_is_nobodys(store: &dyn Store) {
    let writer = lock(store, "");
    let places = ["", "/wal/0001.log", "/trash", "/trash/one", "/staging", "/staging/one/log"];
    for place in places.map(|place| format!(".everturn{place}")) {
        for step in [append(&place, "{}\n"), remove(&place), rename(&place, "mine")] {
            refuses!(store, writer, [step], StoreError::OutsideScope { .. });
        }
    }
    synced(&*writer, vec![append(".everturn2", "{}\n")]).unwrap();
}

pub(crate) fn the_trash_and_the_staging_place_belong_to_who_names_them(store: &dyn Store) {
    let scopes = ["s", ".everturn/trash/s", ".everturn/staging/n", ".everturn/wal"].map(path);
    let writer = store.lock(&scopes).unwrap();
    synced(&*writer, vec![append(".everturn/staging/n/log", "1\n")]).unwrap();
    synced(&*writer, vec![replace(".everturn/staging/n/state", "1")]).unwrap();
    assert!(shown(store).is_empty());
    synced(&*writer, vec![rename(".everturn/staging/n", "s")]).unwrap();
    assert_eq!(shown(store), ["s/", "s/log: 1\n", "s/state: 1"]);
    synced(&*writer, vec![append("s/log", "2\n"), rename("s", ".everturn/trash/s")]).unwrap();
    assert!(shown(store).is_empty());
    let kept = store.read(&path(".everturn/trash/s/log"), 0..9).unwrap();
    assert_eq!(kept, b"1\n2\n");
    let others = ["", "/x", "/wal/x", "/trash", "/trash/x", "/trash/sx", "/staging", "/staging/x"];
    for place in others.map(|place| format!(".everturn{place}")) {
        for step in [append(&place, "{}\n"), remove(&place), rename(".everturn/trash/s", &place)] {
            refuses!(store, writer, [step], StoreError::OutsideScope { .. });
        }
    }
    synced(&*writer, vec![rename(".everturn/trash/s", "s")]).unwrap();
    synced(&*writer, vec![rename("s", ".everturn/trash/s")]).unwrap();
    synced(&*writer, vec![remove(".everturn/trash/s")]).unwrap();
    drop(writer);
    let whole = lock(store, ".everturn/trash");
    synced(&*whole, vec![append(".everturn/trash/log", "{}\n")]).unwrap();
    refuses!(store, whole, [remove(".everturn/trash")], StoreError::OutsideScope { .. });
    assert!(is_busy(store, ".everturn/trash/s") && is_busy(store, ""));
}

pub(crate) fn a_scope_has_one_writer(store: &dyn Store) {
    let writer = lock(store, "s/a");
    assert!(is_busy(store, "s/a"));
    synced(&*writer, vec![append("s/a", "{}\n")]).unwrap();
    assert!(is_busy(store, "s/a"));
}

pub(crate) fn what_is_above_or_below_is_busy_too(store: &dyn Store) {
    let _writer = lock(store, "s/a/b");
    for scope in ["", "s", "s/a", "s/a/b/c", "s/a/b/c/d"] {
        assert!(is_busy(store, scope), "{scope}");
    }
}

pub(crate) fn siblings_do_not_meet(store: &dyn Store) {
    let writers = ["s/a", "s/b", "s/ab", "t", "s/c/d"].map(|scope| lock(store, scope));
    for (writer, file) in writers.iter().zip(["s/a/f", "s/b", "s/ab", "t", "s/c/d"]) {
        synced(&**writer, vec![append(file, "{}\n")]).unwrap();
    }
    assert!(is_busy(store, "s/c"));
}

pub(crate) fn a_scope_is_free_after_release_and_after_drop(store: &dyn Store) {
    for _ in 0..2 {
        let writer = lock(store, "s");
        synced(&*writer, vec![append("s/log", "1\n")]).unwrap();
        writer.release().unwrap();
        assert!(!is_busy(store, "s"));
        let writer = lock(store, "s/log");
        synced(&*writer, vec![append("s/log", "2\n")]).unwrap();
        drop(writer);
        assert!(!is_busy(store, ""));
    }
    assert_eq!(shown(store), ["s/", "s/log: 1\n2\n1\n2\n"]);
}

pub(crate) fn a_lock_that_fails_takes_nothing(store: &dyn Store) {
    let writer = lock(store, "m");
    for scopes in [["a", "m"], ["m", "z"], ["a", "m/x"]] {
        let error = store.lock(&scopes.map(path)).map(|_| ()).unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
    }
    assert!(!is_busy(store, "a") && !is_busy(store, "z"));
    drop(writer);
    assert!(!is_busy(store, ""));
}

pub(crate) fn the_root_can_be_a_scope(store: &dyn Store) {
    let writer = lock(store, "");
    assert!(is_busy(store, "a") && is_busy(store, ""));
    synced(&*writer, vec![append("a", "{}\n"), append("b/c", "{}\n")]).unwrap();
    assert_eq!(shown(store), ["a: {}\n", "b/", "b/c: {}\n"]);
    writer.release().unwrap();
    assert!(!is_busy(store, "a"));
}
