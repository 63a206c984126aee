//! What is thrown away can come back, until it is asked for twice to be gone.

use everturn::game::{
    ArchiveOptions, GameError, PurgePlan, TrashName, archive, complete, list, pause, purge,
    restore, trash, trashed,
};

use super::support::{assert_states, at, files, id, played, put, stores};

const NAME: &str = "session-abc123";

#[test]
fn a_session_comes_back_as_it_was() {
    for store in stores() {
        let states = played(&store, NAME, 12);
        pause(&store, &id(NAME), at(20)).unwrap();
        let before = files(&store);
        let gone = trash(&store, &id(NAME), at(30)).unwrap();
        assert_eq!(gone.path.as_str(), format!("sessions/paused/{NAME}"));
        assert_eq!(TrashName::parse(&gone.name.to_string()), Some(gone.name.clone()));
        assert!(list(&store).unwrap().is_empty());
        assert!(files(&store).keys().all(|file| file.is_within(&everturn::store::trash_dir())));
        assert_eq!(trashed(&store).unwrap(), std::slice::from_ref(&gone));
        restore(&store, &gone.name).unwrap();
        assert!(files(&store) == before);
        assert_states(&store, NAME, &states);
        assert_eq!(trashed(&store).unwrap(), []);
        assert!(matches!(restore(&store, &gone.name), Err(GameError::NotInTrash { .. })));
    }
}

#[test]
fn nothing_comes_back_over_a_session_that_is_there() {
    for store in stores() {
        played(&store, NAME, 2);
        let first = trash(&store, &id(NAME), at(30)).unwrap();
        played(&store, NAME, 1);
        let before = files(&store);
        assert!(matches!(restore(&store, &first.name), Err(GameError::Taken { .. })));
        assert!(files(&store) == before);
        // In the same second, and still each has its place.
        let second = trash(&store, &id(NAME), at(30)).unwrap();
        assert_ne!(first.name, second.name);
        assert_eq!(trashed(&store).unwrap(), [first, second]);
    }
}

#[test]
fn an_archive_is_thrown_away_too() {
    for store in stores() {
        played(&store, NAME, 2);
        complete(&store, &id(NAME), at(3)).unwrap();
        archive(&store, &id(NAME), &ArchiveOptions::default(), at(4), &mut |_| {}).unwrap();
        let gone = trash(&store, &id(NAME), at(5)).unwrap();
        assert_eq!(gone.path.as_str(), format!("sessions/archives/{NAME}.tar.gz"));
        assert!(matches!(trash(&store, &id(NAME), at(6)), Err(GameError::NoSession { .. })));
        restore(&store, &gone.name).unwrap();
        assert_eq!(trashed(&store).unwrap().len(), 1);
    }
}

#[test]
fn only_what_was_looked_at_before_is_removed_for_good() {
    for store in stores() {
        played(&store, NAME, 2);
        let gone = trash(&store, &id(NAME), at(30)).unwrap();
        played(&store, "other", 2);
        let other = trash(&store, &id("other"), at(31)).unwrap();
        let plan = PurgePlan::new(&store, std::slice::from_ref(&gone.name)).unwrap();
        assert!(plan.entries[0].1 > 1000);
        let file = format!(".everturn/trash/{}/sessions/active/{NAME}/new.txt", gone.name);
        put(&store, &file, b"new");
        let before = files(&store);
        assert!(matches!(purge(&store, &plan), Err(GameError::Input { .. })));
        assert!(files(&store) == before);
        let plan = PurgePlan::new(&store, std::slice::from_ref(&gone.name)).unwrap();
        purge(&store, &plan).unwrap();
        assert_eq!(trashed(&store).unwrap(), [other]);
        let again = PurgePlan::new(&store, &[gone.name]);
        assert!(matches!(again, Err(GameError::NotInTrash { .. })));
    }
}

#[test]
fn names_that_are_none_are_not_read() {
    for name in [
        "20260101T100000Z",
        "20260101T100000Z-",
        "20260101T100000Z-a..b",
        "20261301T100000Z-a",
        "2026-a",
        "-a",
    ] {
        assert_eq!(TrashName::parse(name), None, "{name}");
    }
    let name = TrashName::parse("20260101T100000Z-a-b").unwrap();
    assert_eq!((name.id.as_str(), name.time), ("a-b", at(0)));
}
