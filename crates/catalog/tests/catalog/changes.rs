//! Only changed sessions are read again.

use everturn::format::Transition;
use everturn_catalog::{Catalog, SummaryDetail, UpdateReport};

use crate::support::{World, at, later, layouts, named};

fn read(updated: &UpdateReport) -> (usize, usize) {
    (updated.read, updated.removed)
}

#[test]
fn a_second_update_reads_nothing() {
    let world = World::new();
    for layout in layouts() {
        world.session(
            layout,
            if layout == "linggen" { "sess-1" } else { "tale" },
            &["Hello there"],
        );
    }
    assert_eq!(read(&world.update()), (6, 0));
    assert_eq!(read(&world.update()), (0, 0));
}

#[test]
fn what_was_added_is_found_and_what_was_there_is_not_read_again() {
    for layout in layouts() {
        let world = World::new();
        let place = world.session(layout, "sess-1", &["I seek the first thing", "I rest"]);
        world.session("game", "other", &["nothing"]);
        world.update();
        world.say(layout, &place, "I seek the second thing");
        let updated = world.update();
        assert_eq!(read(&updated), (1, 0), "{layout}");
        let grows = matches!(layout, "game" | "codelia" | "linggen");
        if grows {
            assert_eq!(updated.bytes, "I seek the second thing".len() as u64, "{layout}");
        }
        for (query, turn) in [("first", 1), ("second", 3)] {
            let (found, _) =
                world.find(&format!("\"seek the {query} thing\" session:{}", place.id));
            let turn = format!("{} {turn}: ", place.id);
            assert!(found.iter().any(|hit| hit.starts_with(&turn)), "{layout}: {found:?}");
            let user: Vec<_> = found.iter().filter(|hit| hit.contains(": I seek")).collect();
            assert_eq!(user.len(), 1, "{layout}: {found:?}");
        }
    }
}

#[test]
fn an_edit_of_what_was_said_counts() {
    let world = World::new();
    let place = world.session("chatlog", "tale", &["The first telling", "More"]);
    world.update();
    let mut editor =
        named("chatlog").capabilities().editing.unwrap().edit(&world.store, &place).unwrap();
    let edit = everturn::model::Revision::Edit { turn: 1, text: "The other telling".to_owned() };
    editor.revise(&edit, at(9000)).unwrap();
    editor.close(at(9000)).unwrap();
    world.check("first", &[]);
    world.check("telling", &["tale 1: The other telling"]);
}

#[test]
fn a_log_that_was_rewritten_is_read_anew() {
    let world = World::new();
    let place = world.session("codelia", "one", &["alpha", "beta"]);
    world.update();
    let log = world.root().join(place.path.as_str());
    let text = std::fs::read_to_string(&log).unwrap();
    // Longer, in the same file, with different content.
    std::fs::write(&log, text.replace("alpha", "gamma and more")).unwrap();
    world.check("alpha", &[]);
    world.check("gamma", &["one 1: gamma and more"]);
    world.check("beta", &["one 2: beta"]);
}

#[test]
fn sessions_that_move_or_go_are_found_where_they_are() {
    let world = World::new();
    let place = world.session("game", "tale", &["The dragon sleeps."]);
    world.session("game", "other", &["The dragon wakes."]);
    world.update();
    let game = named("game");
    let staged = game
        .capabilities()
        .lifecycle
        .unwrap()
        .transition(&world.store, &place, Transition::Pause, at(0), &mut |_| {})
        .unwrap();
    assert_eq!(read(&world.update()), (1, 1));
    world.check("dragon status:paused", &["tale 1: The dragon sleeps."]);
    game.capabilities()
        .lifecycle
        .unwrap()
        .transition(&world.store, &staged.session, Transition::Trash, at(1), &mut |_| {})
        .unwrap();
    assert_eq!(read(&world.update()), (0, 1));
    world.check("dragon", &["other 1: The dragon wakes."]);
}

#[test]
fn several_roots_share_one_index_and_those_that_vanish_are_forgotten() {
    let (one, two) = (World::new(), World::new());
    one.session("game", "tale", &["The dragon sleeps."]);
    two.session("game", "tale", &["The dragon wakes."]);
    let update = |worlds: &[&World]| {
        let mut catalog = one.catalog();
        let sources: Vec<_> = worlds.iter().flat_map(|world| world.sources()).collect();
        let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
        catalog.update(&sources, &sessions, later(), &mut |_| {})
    };
    assert_eq!(read(&update(&[&one, &two])), (2, 0));
    // Another root in the index is neither lost nor searched.
    one.check("dragon", &["tale 1: The dragon sleeps."]);
    assert_eq!(read(&update(&[&one, &two])), (0, 0));
    drop(two);
    assert_eq!(read(&update(&[&one])), (0, 1));
}

#[test]
fn a_list_opens_no_files_of_sessions_that_did_not_change() {
    let world = World::new();
    let place = world.session("game", "tale", &["The dragon sleeps."]);
    world.session("chatlog", "chat", &["Hello."]);
    let list = || {
        let sessions = world.catalog().sessions(&world.sources(), SummaryDetail::All, later());
        let shown = sessions.sessions.iter().map(|session| {
            let summary = &session.summary;
            format!(
                "{} {} {:?} {}",
                summary.session.id, summary.layout, summary.turns, summary.title
            )
        });
        shown.collect::<Vec<_>>()
    };
    let fresh = list();
    assert_eq!(list(), fresh);
    // The cached summary differs from the file; the list shows that the file was not read again.
    let meta = world.root().join(place.path.as_str()).join("session.meta.json");
    let kept = std::fs::read_dir(world.cache()).unwrap().count();
    assert_eq!(kept, 2);
    world.say("game", &place, "And wakes.");
    assert_eq!(list()[0], "tale game Some(2) Player");
    std::fs::write(&meta, std::fs::read_to_string(&meta).unwrap().replace("Player", "Vex"))
        .unwrap();
    assert!(list().contains(&"tale game Some(2) Vex".to_owned()), "{:?}", list());
    assert!(
        Catalog::new(None)
            .sessions(&world.sources(), SummaryDetail::All, later())
            .failed
            .is_empty()
    );
}
