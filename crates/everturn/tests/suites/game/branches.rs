//! New sessions from old turns, and the way back.

use std::sync::Arc;

use everturn::game::{
    BranchOptions, GameError, GameState, GameStatus, GameWriter, NewScene, SceneEnd, Session, fork,
    list, pause, rewind,
};
use everturn::store::Store;
use everturn::tree::JsonTree;

use super::metadata::assert_true;
use super::support::{
    assert_states, at, files, game, id, names, now, path, played, program, put, stores, turn,
};

const NAME: &str = "session-abc123";

fn open(store: &Arc<dyn Store>, name: &str) -> Session {
    Session::open(Arc::clone(store), &id(name)).unwrap()
}

fn lineage(store: &Arc<dyn Store>, name: &str) -> String {
    open(store, name).metadata().unwrap().text_at(&["lineage"]).unwrap()
}

/// Small commits, so that many are needed.
fn in_small_commits(how: BranchOptions) -> BranchOptions {
    BranchOptions { batch: 5000, ..how }
}

#[test]
fn a_fork_has_every_turn_up_to_its_own() {
    for store in stores() {
        let states = played(&store, NAME, 230);
        let before = files(&store);
        for last in [0, 1, 57, 100, 101, 200, 229, 230_u64] {
            let name = format!("fork-{last}");
            let how = in_small_commits(BranchOptions::new(id(&name), last));
            let mut seen = Vec::new();
            let done = fork(&store, &id(NAME), &how, at(999), &mut |at| seen.push(at)).unwrap();
            assert_eq!((done.id.as_str(), done.turn), (name.as_str(), last));
            let end = seen.last().unwrap();
            assert_eq!(end.done, end.total, "{last}");
            let kept = usize::try_from(last).unwrap();
            assert_states(&store, &name, &states[..=kept]);
            assert_true(&store, &name);
            let expected = format!(r#"{{"parent":"{NAME}","turn":{last},"kind":"fork"}}"#);
            assert_eq!(compact(&lineage(&store, &name)), expected);
            let mut game = GameWriter::open(Arc::clone(&store), &id(&name)).unwrap();
            assert_eq!(game.append(&turn(7), at(1000)).unwrap().turn, last + 1);
            game.pause(at(1001)).unwrap();
            assert_true(&store, &name);
        }
        let after = files(&store);
        assert!(before.iter().all(|(file, content)| after.get(file) == Some(content)));
        assert!(!after.keys().any(|file| file.is_within(&everturn::store::staging_dir())));
    }
}

fn compact(text: &str) -> String {
    JsonTree::parse(text).unwrap().to_line()
}

/// The metadata that must be the same as when the session stood at that turn.
fn counted(meta: &JsonTree) -> Vec<String> {
    let paths: [&[&str]; 9] = [
        &["current"],
        &["deltaStats"],
        &["files"],
        &["stats", "totalTurns"],
        &["stats", "totalScenes"],
        &["stats", "totalEvents"],
        &["stats", "playTimeMinutes"],
        &["stats", "npcsEncountered"],
        &["stats", "conflictsResolved"],
    ];
    paths.iter().map(|path| meta.text_at(path).unwrap()).collect()
}

/// A session with scenes, and the state and the metadata after each turn.
fn with_scenes(store: &Arc<dyn Store>, turns: u64) -> (Vec<GameState>, Vec<Vec<String>>) {
    let mut game = game(store, NAME);
    let mut states = vec![game.state().clone()];
    let mut metas = vec![counted(open(store, NAME).metadata().unwrap())];
    let mut number = 0;
    while number < turns {
        number += 1;
        let time = at(number as i64 * 60);
        match number % 40 {
            5 => drop(game.start_scene(&NewScene::new("social"), time).unwrap()),
            30 => drop(game.end_scene(&SceneEnd::default(), time).unwrap()),
            _ => drop(game.append(&turn(number), time).unwrap()),
        }
        states.push(game.state().clone());
        metas.push(counted(open(store, NAME).metadata().unwrap()));
    }
    game.release().unwrap();
    (states, metas)
}

#[test]
fn a_rewind_goes_back_with_everything_and_loses_nothing() {
    for store in stores() {
        let (states, metas) = with_scenes(&store, 222);
        put(&store, &format!("sessions/active/{NAME}/notes.txt"), b"keep me");
        put(&store, &format!("sessions/active/{NAME}/indexes/turn-index.json"), b"{}");
        let (mut last, mut line) = (222_usize, states.clone());
        for back in [221, 210, 200, 199, 135, 100, 42, 3, 0_usize] {
            let how = in_small_commits(BranchOptions::rewind_to(back as u64));
            let done = rewind(&store, &id(NAME), &how, at(99_999), &mut |_| {}).unwrap();
            let branch = format!("{NAME}-branch-{last}");
            assert_eq!((done.turn, done.branch.as_str()), (back as u64, branch.as_str()));
            assert_states(&store, &branch, &line);
            assert_true(&store, &branch);
            assert_eq!(open(&store, &branch).status(), GameStatus::Paused);
            let expected = format!(r#"{{"parent":"{NAME}","turn":{last},"kind":"rewind"}}"#);
            assert_eq!(compact(&lineage(&store, &branch)), expected);
            line.truncate(back + 1);
            assert_states(&store, NAME, &line);
            assert_true(&store, NAME);
            let session = open(&store, NAME);
            let mut found = counted(session.metadata().unwrap());
            // Which files show the scene depends on when they were written last.
            let mut before = metas[back].clone();
            for list in [&mut found, &mut before] {
                let mut files = JsonTree::parse(list[2].clone()).unwrap().to_value().unwrap();
                files.as_object_mut().unwrap().remove("currentScene");
                list[2] = files.to_string();
            }
            assert_eq!(found, before, "at turn {back}");
            let inside = names(&session, &store);
            assert!(inside.contains(&"notes.txt".to_owned()));
            assert!(inside.contains(&"indexes/turn-index.json".to_owned()), "{inside:?}");
            last = back;
        }
        let mut game = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
        assert_eq!(game.append(&turn(1), at(100_000)).unwrap().turn, 1);
        game.close(at(100_001)).unwrap();
        assert_true(&store, NAME);
        let back = BranchOptions::rewind_to(0);
        let done = rewind(&store, &id(NAME), &back, at(100_002), &mut |_| {}).unwrap();
        assert_eq!(done.branch.as_str(), format!("{NAME}-branch-1"));
        let mut game = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
        game.append(&turn(2), at(100_003)).unwrap();
        game.close(at(100_004)).unwrap();
        let done = rewind(&store, &id(NAME), &back, at(100_005), &mut |_| {}).unwrap();
        assert_eq!(done.branch.as_str(), format!("{NAME}-branch-1-2"));
    }
}

#[test]
fn scenes_that_began_later_are_gone_after_a_rewind() {
    for store in stores() {
        with_scenes(&store, 90);
        pause(&store, &id(NAME), at(9999)).unwrap();
        let scenes = |name: &str| -> Vec<String> {
            let files = names(&open(&store, name), &store);
            files.into_iter().filter(|file| file.starts_with("scenes/")).collect()
        };
        assert_eq!(scenes(NAME).len(), 3);
        rewind(&store, &id(NAME), &BranchOptions::rewind_to(20), at(9999), &mut |_| {}).unwrap();
        assert_eq!(scenes(NAME), ["scenes/scene-001.json"]);
        assert_eq!(scenes(&format!("{NAME}-branch-90")).len(), 3);
        let file = path(&format!("sessions/paused/{NAME}/scenes/scene-001.json"));
        let scene = String::from_utf8(store.read(&file, 0..9999).unwrap()).unwrap();
        assert_eq!(JsonTree::parse(scene).unwrap().string_at(&["status"]).unwrap(), "active");
    }
}

#[test]
fn a_session_of_the_program_goes_back_too() {
    for store in stores() {
        let states = program(&store, NAME, 130);
        let meta = path(&format!("sessions/active/{NAME}/session.meta.json"));
        let before = store.read(&meta, 0..999).unwrap();
        for (back, last) in [(110, 130), (100, 110), (37, 100), (1, 37_usize)] {
            let how = in_small_commits(BranchOptions::rewind_to(back));
            let done = rewind(&store, &id(NAME), &how, at(999), &mut |_| {}).unwrap();
            assert_states(&store, done.branch.as_str(), &states[..=last]);
            assert_states(&store, NAME, &states[..=usize::try_from(back).unwrap()]);
            assert_eq!(store.read(&meta, 0..999).unwrap(), before);
            assert!(lineage(&store, done.branch.as_str()).contains("rewind"));
        }
        let mut game = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
        assert_eq!(game.append(&turn(1), at(1000)).unwrap().turn, 2);
    }
}

#[test]
fn a_turn_that_is_not_there_and_an_id_that_is_taken_are_refused() {
    for store in stores() {
        played(&store, NAME, 5);
        played(&store, "other", 1);
        pause(&store, &id("other"), now()).unwrap();
        put(&store, "sessions/archives/packed.tar.gz", b"x");
        let before = files(&store);
        let try_fork = |name: &str, turn: u64| {
            fork(&store, &id(NAME), &BranchOptions::new(id(name), turn), now(), &mut |_| {})
                .unwrap_err()
        };
        assert_eq!(
            try_fork("new", 6).to_string(),
            "there is no turn 6: the session has turns 0 to 5"
        );
        assert!(matches!(try_fork("other", 3), GameError::Taken { .. }));
        assert!(matches!(try_fork("packed", 3), GameError::Taken { .. }));
        assert!(matches!(try_fork(NAME, 3), GameError::Taken { .. }));
        let try_rewind = |turn| {
            rewind(&store, &id(NAME), &BranchOptions::rewind_to(turn), now(), &mut |_| {})
                .unwrap_err()
        };
        assert!(matches!(try_rewind(6), GameError::NoTurn { .. }));
        assert!(matches!(try_rewind(5), GameError::Input { .. }));
        assert!(files(&store) == before);
        assert_eq!(list(&store).unwrap().len(), 2);
    }
}

#[test]
fn glued_and_bad_lines_are_cut_where_the_turn_ends() {
    for store in stores() {
        played(&store, NAME, 5);
        let file = format!("sessions/active/{NAME}/turns/turns-0001-current.jsonl");
        let text = String::from_utf8(store.read(&path(&file), 0..u64::MAX).unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let damaged =
            [lines[0], "\r\n", lines[1], "\n{\"bad\n", lines[2], lines[3], "\n", lines[4], "\n"];
        put(&store, &file, damaged.concat().as_bytes());
        let cut = |turn: u64| {
            let how = BranchOptions::new(id(&format!("fork-{turn}")), turn);
            fork(&store, &id(NAME), &how, now(), &mut |_| {}).unwrap();
            let file = file.replace(NAME, &format!("fork-{turn}"));
            String::from_utf8(store.read(&path(&file), 0..u64::MAX).unwrap()).unwrap()
        };
        assert_eq!(cut(1), [lines[0], "\r\n"].concat());
        assert_eq!(cut(2), [lines[0], "\r\n", lines[1], "\n"].concat());
        assert_eq!(cut(3), [lines[0], "\r\n", lines[1], "\n{\"bad\n", lines[2], "\n"].concat());
        assert_eq!(cut(5), damaged.concat());
        let swapped = [lines[1], lines[0], lines[2], lines[3], lines[4], ""].join("\n");
        put(&store, &file, swapped.as_bytes());
        let how = BranchOptions::new(id("swapped"), 1);
        let error = fork(&store, &id(NAME), &how, now(), &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("turn 1 comes after turn 2"), "{error}");
    }
}

#[test]
fn a_log_that_does_not_fit_into_one_commit_is_copied_line_by_line() {
    for store in stores() {
        let states = played(&store, NAME, 20);
        let file = format!("sessions/active/{NAME}/turns/turns-0001-current.jsonl");
        let mut bytes = store.read(&path(&file), 0..u64::MAX).unwrap();
        bytes.extend_from_slice(b"{\"torn\":");
        put(&store, &file, &bytes);
        let how = BranchOptions { batch: 100, ..BranchOptions::new(id("copy"), 20) };
        fork(&store, &id(NAME), &how, now(), &mut |_| {}).unwrap();
        let copy = store.read(&path(&file.replace(NAME, "copy")), 0..u64::MAX).unwrap();
        bytes.push(b'\n');
        assert!(copy == bytes);
        assert!(open(&store, "copy").resume().unwrap().state.is_same(&states[20]));
    }
}

#[test]
fn what_an_attempt_that_died_has_left_is_cleared_by_the_next() {
    for store in stores() {
        let states = played(&store, NAME, 5);
        put(&store, ".everturn/staging/copy/turns/turns-0001-current.jsonl", b"{\"turnId\":9}\n");
        put(&store, ".everturn/staging/copy/left.json", b"{}");
        assert_states(&store, NAME, &states);
        assert_eq!(list(&store).unwrap().len(), 1);
        fork(&store, &id(NAME), &BranchOptions::new(id("copy"), 4), now(), &mut |_| {}).unwrap();
        assert_states(&store, "copy", &states[..5]);
        assert!(!names(&open(&store, "copy"), &store).contains(&"left.json".to_owned()));
    }
}
