//! The front door: sessions of every format through [`everturn::Root`] and [`everturn::Session`].
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
#![expect(clippy::disallowed_methods, reason = "the test damages files as another program would")]

use std::path::Path;
use std::time::Duration;

use everturn::campaign::CampaignSession;
use everturn::chatlog::{ChatMessage, ChatSession};
use everturn::codelia::CodeliaSession;
use everturn::game::{Game, Turn};
use everturn::linggen::LinggenSession;
use everturn::thread::ThreadSession;
use everturn::{AnySession, Error, ErrorKind, NewMark, RepairMode, Revision, Root, Transition};
use jiff::Timestamp;

fn root(dir: &Path) -> Root {
    let now: Timestamp = "2026-01-01T10:00:00Z".parse().unwrap();
    Root::builder().clock(move || now).owner(7, "today").open_or_create(dir).unwrap()
}

fn trust(turn: u32) -> Turn {
    let told = Turn::by("player")
        .narrate(&format!("Turn {turn}."))
        .event("talk", "You talk to Luna.")
        .set("world.npcs.luna.trust", turn);
    let told = if turn == 1 { told.set("player.heard", Vec::<String>::new()) } else { told };
    told.push("player.heard", format!("word {turn}"))
}

#[test]
fn a_game_is_written_and_read_with_types() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut game = Game::open_or_create(&root, "demo").unwrap();
    for turn in 1..=3 {
        assert_eq!(game.append(trust(turn)).unwrap().turn, u64::from(turn));
    }
    let state = game.state_at(2).unwrap();
    assert_eq!(state.turn(), 2);
    assert_eq!(state.get::<u32>("world.npcs.luna.trust").unwrap(), 2);
    assert_eq!(state.get::<Vec<String>>("player.heard").unwrap(), ["word 1", "word 2"]);
    let missing = state.get::<u32>("world.npcs.sol.trust").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert_eq!(state.get_optional::<u32>("world.npcs.sol.trust").unwrap(), None);
    let other_type = state.get::<u32>("player.heard").unwrap_err();
    assert!(matches!(other_type, Error::ValueType { .. }), "{other_type}");
    assert_eq!(other_type.kind(), ErrorKind::Request);
    assert_eq!(state.get_at::<u32>(&["world", "npcs", "luna", "trust"]).unwrap(), Some(2));

    let texts = |range: std::ops::RangeInclusive<u64>| -> Vec<String> {
        let entries = game.entries(range).unwrap();
        entries.map(|entry| entry.unwrap().text).filter(|text| text.starts_with("Turn")).collect()
    };
    assert_eq!(texts(0..=u64::MAX), ["Turn 1.", "Turn 2.", "Turn 3."]);
    assert_eq!(texts(2..=2), ["Turn 2."]);
    assert_eq!(game.entries(..).unwrap().count(), game.entries(0..4).unwrap().count());
    assert_eq!(game.entries(0..0).unwrap().count(), 0);

    let changes = game.diff(1, 3).unwrap();
    let paths: Vec<String> = changes.iter().map(|change| change.delta.to_line()).collect();
    assert!(paths.iter().any(|line| line.contains("npcs.luna.trust")), "{paths:?}");
    assert_eq!(game.state_at(9).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_game_is_undone_rewound_forked_and_marked() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut game = Game::create(&root, "demo").unwrap();
    for turn in 1..=4 {
        game.append(trust(turn)).unwrap();
    }
    game.undo(1).unwrap();
    assert_eq!(game.state().unwrap().get::<u32>("world.npcs.luna.trust").unwrap(), 3);
    let mark = game.add_mark(&NewMark { turn: Some(2), ..NewMark::bookmark("the gate") }).unwrap();
    assert_eq!(game.marks().unwrap()[0].id, mark.id);
    assert_eq!(game.remove_mark(&mark.id).unwrap().name, "the gate");

    let fork = game.fork_at("other", 2).unwrap();
    assert_eq!(fork.state().unwrap().get::<u32>("world.npcs.luna.trust").unwrap(), 2);
    game.rewind(1).unwrap();
    assert_eq!(game.state().unwrap().get::<u32>("world.npcs.luna.trust").unwrap(), 1);
    // It goes on from there.
    assert_eq!(game.append(trust(9)).unwrap().turn, 2);
    game.close().unwrap();
    assert_eq!(root.sessions().unwrap().len(), 3);
}

#[test]
fn sessions_are_found_by_id_path_and_latest() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    Game::create(&root, "demo").unwrap().append(trust(1)).unwrap();
    ChatSession::create(&root, "demo-2").unwrap().close().unwrap();
    assert_eq!(root.find("demo").unwrap().format(), "game");
    assert_eq!(root.find("sessions/active/demo").unwrap().id(), "demo");
    assert_eq!(Game::open(&root, "latest").unwrap().id(), "demo");
    // The beginning of an id is not a name.
    let unknown = root.find("dem").unwrap_err();
    assert_eq!(unknown.to_string(), "no session \"dem\"; known sessions: demo, demo-2");
    assert!(matches!(Game::open(&root, "demo-2"), Err(Error::Format { .. })));
    assert_eq!(Game::create(&root, "demo").unwrap_err().kind(), ErrorKind::Request);
    ChatSession::create(&root, "demo").unwrap().close().unwrap();
    assert!(matches!(root.find("demo"), Err(Error::Ambiguous { .. })));
    assert_eq!(Game::open(&root, "demo").unwrap().format(), "game");
}

#[test]
fn a_second_writer_is_told_that_the_session_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let (root, other) = (root(dir.path()), root(dir.path()));
    let mut game = Game::create(&root, "demo").unwrap();
    game.append(trust(1)).unwrap();
    let mut second = Game::open(&other, "demo").unwrap();
    assert_eq!(second.state().unwrap().turn(), 1);
    let busy = second.append(trust(2)).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    assert!(busy.to_string().contains("pid 7"), "{busy}");
    game.close().unwrap();
    assert_eq!(second.append(trust(2)).unwrap().turn, 2);
}

#[test]
fn what_cannot_be_stored_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut game = Game::create(&root(dir.path()), "demo").unwrap();
    let no_value = game.append(Turn::by("player").set("world", 1)).unwrap_err();
    assert_eq!(no_value.kind(), ErrorKind::Request);
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(game.append(Turn::by("player").set("world.map", no_json)).is_err());
    assert_eq!(game.append(trust(1)).unwrap().turn, 1);
    let missing = Root::open(dir.path().join("nowhere")).unwrap_err();
    assert!(matches!(missing, Error::Root { .. }), "{missing}");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn the_other_formats_have_the_same_door() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut chat = ChatSession::create(&root, "tale").unwrap();
    chat.append(ChatMessage::by("narrator", "Narrator", "It rains.")).unwrap();
    assert_eq!(chat.entries(..).unwrap().next().unwrap().unwrap().text, "It rains.");

    let mut agent = CodeliaSession::create(&root, "fix").unwrap();
    agent.append("user", "Fix the test.").unwrap();
    assert_eq!(agent.entries(..).unwrap().next().unwrap().unwrap().text, "Fix the test.");

    let mut agent = LinggenSession::create_in_project(&root, "work", "/srv/site").unwrap();
    agent.append("Look around.").unwrap();
    assert_eq!(agent.entries(..).unwrap().next().unwrap().unwrap().text, "Look around.");

    let mut thread = ThreadSession::create(&root, "support-7").unwrap();
    thread.append("user", "It does not start.").unwrap();
    assert_eq!(thread.entries(..).unwrap().next().unwrap().unwrap().text, "It does not start.");

    let campaign = CampaignSession::create(&root, "camp").unwrap();
    assert_eq!(campaign.summary().unwrap().turns, Some(0));
    campaign.close().unwrap();
    assert_eq!(root.sessions().unwrap().len(), 5);
}

#[test]
fn the_program_in_the_readme_is_the_example_of_the_crate() {
    let readme = include_str!("../../../../README.md");
    let program = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let example = include_str!("../../src/lib.rs").lines();
    let example = example.skip_while(|line| *line != "//! ```").skip(1);
    let example =
        example.take_while(|line| *line != "//! ```").filter(|line| !line.starts_with("//! #"));
    let example: Vec<&str> =
        example.map(|line| line.trim_start_matches("//!").trim_start()).collect();
    let program: Vec<&str> = program.lines().map(str::trim_start).collect();
    assert_eq!(program, example);
}

#[test]
fn create_gives_the_type_that_is_asked_for_and_refuses_latest() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut game: Game = root.create("demo").unwrap();
    game.append(trust(1)).unwrap();
    game.close().unwrap();
    for refused in [
        Game::create(&root, "latest").map(drop),
        ChatSession::create(&root, "latest").map(drop),
        root.find("demo").unwrap().fork("latest").map(drop),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Request);
        assert!(error.to_string().contains("reserved"), "{error}");
    }
    let empty = tempfile::tempdir().unwrap();
    let none = Game::open_or_create(&Root::open(empty.path()).unwrap(), "latest").unwrap_err();
    assert!(none.to_string().contains("reserved"), "{none}");
}

#[test]
fn a_session_of_any_format_gets_the_type_of_its_format() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    Game::create(&root, "demo").unwrap().append(trust(1)).unwrap();
    let mut any = root.find("demo").unwrap();
    any.lock().unwrap();
    let mut game: Game = any.into_format().unwrap();
    assert!(game.is_locked());
    assert_eq!(game.append(trust(2)).unwrap().turn, 2);
    game.close().unwrap();
    let other: Result<ChatSession, Error> = root.find("demo").unwrap().into_format();
    assert!(matches!(other, Err(Error::Format { .. })));
    let same: AnySession = root.find("demo").unwrap().into_format().unwrap();
    assert_eq!(same.id(), "demo");
}

#[test]
fn a_root_is_checked_repaired_and_opened_without_writing() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut game = Game::create(&root, "demo").unwrap();
    for turn in 1..=3 {
        game.append(trust(turn)).unwrap();
    }
    game.close().unwrap();
    assert!(root.check().unwrap().findings.is_empty());
    let log = dir.path().join("sessions/active/demo/turns/turns-0001-current.jsonl");
    let mut torn = std::fs::read_to_string(&log).unwrap();
    torn.push_str("{\"turnId\": 4, \"act");
    std::fs::write(&log, torn).unwrap();
    let reader = Root::open_read_only(dir.path()).unwrap();
    let mut game = Game::open(&reader, "demo").unwrap();
    assert!(!game.check().unwrap().findings.is_empty());
    assert_eq!(game.append(trust(4)).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut game = Game::open(&root, "demo").unwrap();
    assert!(!game.repair(RepairMode::Plan).unwrap().actions.is_empty());
    game.repair(RepairMode::Apply).unwrap();
    assert!(game.check().unwrap().findings.is_empty());
    assert!(game.check().unwrap().stats.records > 0);
}

#[test]
fn a_session_is_restored_from_the_trash_or_removed() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut game = Game::create(&root, "demo").unwrap();
    game.append(trust(1)).unwrap();
    game.transition(Transition::Trash).unwrap();
    drop(game);
    assert!(root.sessions().unwrap().is_empty());
    assert_eq!(root.trash().unwrap()[0].trashed.id, "demo");
    assert!(matches!(root.restore("other"), Err(Error::NoSession { .. })));
    let mut restored = root.restore("demo").unwrap();
    assert_eq!(restored.state().unwrap().turn(), 1);
    restored.transition(Transition::Trash).unwrap();
    drop(restored);
    let trash = root.trash().unwrap();
    root.purge(&trash[0]).unwrap();
    assert!(root.trash().unwrap().is_empty());
}

#[test]
fn waiting_for_a_busy_session_ends() {
    let dir = tempfile::tempdir().unwrap();
    let (root, other) = (root(dir.path()), root(dir.path()));
    let mut game = Game::create(&root, "demo").unwrap();
    game.append(trust(1)).unwrap();
    let mut second = Game::open(&other, "demo").unwrap();
    let busy = second.lock_within(Duration::from_millis(20)).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            game.close().unwrap();
        });
        assert_eq!(second.lock_within(Duration::from_secs(30)).unwrap(), 1);
    });
}

#[test]
fn a_message_is_revised_and_an_unreadable_session_does_not_hide_forks() {
    let dir = tempfile::tempdir().unwrap();
    let root = root(dir.path());
    let mut chat = ChatSession::create(&root, "tale").unwrap();
    chat.append(ChatMessage::by("narrator", "Narrator", "It rains.")).unwrap();
    chat.revise(&Revision::Edit { turn: 1, text: "It snows.".to_owned() }).unwrap();
    assert_eq!(chat.entries(..).unwrap().next().unwrap().unwrap().text, "It snows.");
    chat.close().unwrap();

    let mut game = Game::create(&root, "demo").unwrap();
    game.append(trust(1)).unwrap();
    game.fork("other").unwrap();
    game.fork("broken").unwrap();
    let meta = dir.path().join("sessions/active/broken/session.meta.json");
    std::fs::write(meta, "{").unwrap();
    let forks = game.list_forks().unwrap();
    assert!(forks.sessions.iter().any(|fork| fork.session.id == "other"));
    assert!(!forks.findings.is_empty());
    assert!(game.forks().unwrap().iter().any(|fork| fork.session.id == "other"));
}
