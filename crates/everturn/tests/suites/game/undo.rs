//! Turns that are taken back.

use std::sync::Arc;

use everturn::game::{GameError, GameState, GameWriter, NewScene, SceneEnd, Session};

use super::metadata::{assert_indexes_true, assert_true};
use super::support::{assert_states, at, game, id, path, program, stores, turn};

const NAME: &str = "session-abc123";

#[test]
fn an_undo_makes_the_state_what_it_was_and_can_be_undone() {
    for store in stores() {
        let mut game = game(&store, NAME);
        let mut states = vec![game.state().clone()];
        for number in 1..=20 {
            game.append(&turn(number), at(number as i64)).unwrap();
            states.push(game.state().clone());
        }
        for count in [1, 5, 1, 1, 3, 20] {
            let last = game.turn();
            let target = usize::try_from(last - count).unwrap();
            let done = game.undo(count, at(30)).unwrap();
            assert_eq!(done.turn, last + 1);
            assert!(done.deferred_error.is_none());
            assert!(game.state().is_same(&states[target]), "undo {count}");
            states.push(game.state().clone());
        }
        let line = game.session().turns(21, 21).unwrap().next().unwrap().unwrap();
        assert_eq!(line.actor, "system");
        assert_eq!(line.events()[0].kind, "undo");
        let changes = line.raw.text_at(&["stateChanges"]).unwrap();
        assert_eq!(changes, r#"[{"type":"undo","turns":[20,20]}]"#);
        assert_eq!(line.raw.text_at(&["gameTime", "day"]).unwrap(), "1");
        game.release().unwrap();
        assert_states(&store, NAME, &states);
        assert_true(&store, NAME);
    }
}

#[test]
fn the_game_of_the_program_is_undone_too() {
    for store in stores() {
        let mut states = program(&store, NAME, 12);
        let mut game = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
        for count in [1, 4, 1] {
            let target = usize::try_from(game.turn() - count).unwrap();
            game.undo(count, at(40)).unwrap();
            assert!(game.state().is_same(&states[target]), "undo {count}");
            states.push(game.state().clone());
        }
        game.release().unwrap();
        let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
        assert!(session.resume().unwrap().state.is_same(states.last().unwrap()));
    }
}

/// The scene of a state, as far as it matters here.
fn scene(state: &GameState) -> Option<String> {
    let part = |key: &str| state.scene.string_at(&[key]);
    Some(format!("{} {}", part("sceneId")?, part("status")?))
}

#[test]
fn scenes_begin_and_end_backwards() {
    for store in stores() {
        let mut game = game(&store, NAME);
        game.append(&turn(1), at(1)).unwrap();
        game.start_scene(&NewScene::new("social"), at(2)).unwrap();
        game.append(&turn(3), at(3)).unwrap();
        game.end_scene(&SceneEnd::default(), at(4)).unwrap();
        game.start_scene(&NewScene::new("conflict"), at(5)).unwrap();
        let mut seen = Vec::new();
        // The second scene was never begun, then the first did not end, then it was never begun.
        for count in [1, 3, 6] {
            game.undo(count, at(10)).unwrap();
            seen.push(scene(game.state()));
            game.close(at(11)).unwrap();
            assert_true(&store, NAME);
            assert_indexes_true(&store, NAME);
            game = GameWriter::open(Arc::clone(&store), &id(NAME)).unwrap();
            assert_eq!(scene(game.state()), *seen.last().unwrap());
            let current = game.session().metadata().unwrap().string_at(&["current", "sceneId"]);
            assert_eq!(current, game.state().scene.string_at(&["sceneId"]));
        }
        let words: Vec<&str> = seen.iter().map(|scene| scene.as_deref().unwrap_or("-")).collect();
        assert_eq!(words, ["scene-001 completed", "scene-001 active", "-"]);
        let (id, _) = game.start_scene(&NewScene::new("travel"), at(12)).unwrap();
        assert_eq!(id.as_str(), "scene-003");
        game.close(at(13)).unwrap();
        let file = path(&format!("sessions/active/{NAME}/indexes/scene-index.json"));
        let index = String::from_utf8(store.read(&file, 0..u64::MAX).unwrap()).unwrap();
        assert_eq!(index.matches("\"sceneId\"").count(), 3, "{index}");
    }
}

#[test]
fn more_turns_than_there_are_cannot_be_undone() {
    for store in stores() {
        let mut game = game(&store, NAME);
        for number in 1..=3 {
            game.append(&turn(number), at(number as i64)).unwrap();
        }
        let error = game.undo(4, at(5)).unwrap_err();
        assert_eq!(error.to_string(), "cannot undo 4 turns: the session has 3");
        assert!(matches!(game.undo(0, at(5)), Err(GameError::Input { .. })));
        assert_eq!(game.turn(), 3);
        game.undo(3, at(5)).unwrap();
    }
}
