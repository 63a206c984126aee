//! Sessions that are removed or archived after they were listed, and updates that fail.

use std::fs::{self, File};
use std::io;

use everturn::format::Transition;
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::store::{StoreError, failed_opens};
use everturn_catalog::{Query, SortOrder, SummaryDetail, UpdateReport};

use crate::support::{World, at, later, named, shown};

fn transition(world: &World, place: &SessionRef, to: Transition) -> SessionRef {
    named("game")
        .capabilities()
        .lifecycle
        .unwrap()
        .transition(&world.store, place, to, at(0), &mut |_| {})
        .unwrap()
        .session
}

/// Lists the sessions, changes them, and only then updates the index and searches for `dragon`.
fn search_after(world: &World, change: impl FnOnce()) -> (UpdateReport, Vec<String>) {
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    change();
    let updated = catalog.update(&sources, &sessions, later(), &mut |_| {});
    let query = Query::parse("dragon", at(86_400)).unwrap();
    let found = catalog.search(&sources, &sessions, &query, (10, SortOrder::Date));
    let found = shown(&sources, &sessions, &found);
    assert_eq!(catalog.take_notes(), Vec::<String>::new());
    (updated, found)
}

#[test]
fn a_session_that_is_removed_or_archived_after_it_was_listed_is_not_damaged() {
    let other = "other 1: The dragon wakes.";
    let tale = "tale 1: The dragon sleeps.";
    for (to, expected) in
        [(Transition::Trash, vec![other]), (Transition::Archive, vec![other, tale])]
    {
        let world = World::new();
        let place = world.session("game", "tale", &["The dragon sleeps."]);
        world.session("game", "other", &["The dragon wakes."]);
        let place = transition(&world, &place, Transition::Complete);
        let (updated, found) = search_after(&world, || {
            transition(&world, &place, to);
        });
        assert_eq!(updated.left_out, Vec::new());
        assert_eq!(found, expected);
        assert_eq!(world.update().left_out, Vec::new());
        let again = world.update();
        assert_eq!((again.read, again.left_out), (0, Vec::new()));
    }
}

#[test]
fn a_search_after_an_update_that_failed_reads_the_sessions() {
    let world = World::new();
    world.session("game", "tale", &["The dragon sleeps."]);
    world.update();
    world.session("game", "other", &["The dragon wakes."]);
    let lock = File::open(world.cache().join("index/.tantivy-writer.lock")).unwrap();
    lock.lock().unwrap();
    let (mut found, notes) = world.find("dragon");
    found.sort();
    assert_eq!(found, ["other 1: The dragon wakes.", "tale 1: The dragon sleeps."]);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("the index cannot be updated: "), "{notes:?}");
    lock.unlock().unwrap();
    let (mut found, notes) = world.find("dragon");
    found.sort();
    assert_eq!(found, ["other 1: The dragon wakes.", "tale 1: The dragon sleeps."]);
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn an_open_that_failed_before_an_update_does_not_excuse_damage() {
    let world = World::new();
    let place = world.session("chatlog", "tale", &["The dragon sleeps."]);
    fs::write(world.root().join(place.path.as_str()), "{").unwrap();
    let before = failed_opens();
    let too_many_files = io::Error::from_raw_os_error(24);
    drop(StoreError::io("open", &FilePath::root())(too_many_files));
    assert!(failed_opens() > before);
    let updated = world.update();
    assert_eq!((updated.read, updated.left_out.len()), (1, 1), "{updated:?}");
    let again = world.update();
    assert_eq!((again.read, again.left_out.len()), (0, 1), "{again:?}");
}
