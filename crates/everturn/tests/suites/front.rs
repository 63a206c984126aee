//! The front door: sessions of every format through [`everturn::Root`] and [`everturn::Session`].
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::path::Path;

use everturn::campaign::CampaignSession;
use everturn::chatlog::{ChatMessage, ChatSession};
use everturn::codelia::CodeliaSession;
use everturn::game::{Game, Turn};
use everturn::linggen::LinggenSession;
use everturn::{Error, ErrorKind, NewMark, Root};
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
    assert!(matches!(state.get::<u32>("player.heard"), Err(Error::Value { .. })));

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

    let campaign = CampaignSession::create(&root, "camp").unwrap();
    assert_eq!(campaign.summary().unwrap().turns, Some(0));
    campaign.close().unwrap();
    assert_eq!(root.sessions().unwrap().len(), 4);
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
