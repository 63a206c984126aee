//! Turns, and the state at each of them.

use std::sync::Arc;

use everturn::game::{GameWriter, Session, State};

use super::support::{at, game, id, memory, now, turn};

#[test]
fn the_state_at_every_turn_is_what_it_was_then() {
    let store = memory();
    let mut game = game(&store, "session-abc123");
    let mut states: Vec<State> = vec![game.state().clone()];
    for number in 1..=230 {
        let done = game.append(&turn(number), at(number as i64)).unwrap();
        assert_eq!(done.turn, number);
        assert!(done.overdue.is_none(), "{:?}", done.overdue);
        states.push(game.state().clone());
    }
    game.release().unwrap();
    let session = Session::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    assert_eq!(session.turn(), 230);
    for (number, expected) in states.iter().enumerate() {
        let moment = session.state_at(number as u64).unwrap();
        assert!(moment.state.is_same(expected), "turn {number}");
        assert_eq!(moment.findings, []);
    }
    let last = session.resume().unwrap();
    assert!(last.state.is_same(&states[230]));
    let mut replay = session.replay(1).unwrap();
    let mut count = 0;
    while let Some(frame) = replay.next() {
        let frame = frame.unwrap();
        count += 1;
        assert_eq!(frame.turn.turn, count);
        assert_eq!(frame.changes.len(), 2);
        assert!(replay.state().is_same(&states[usize::try_from(count).unwrap()]));
    }
    assert_eq!(count, 230);
    let mut game = GameWriter::open(Arc::clone(&store), &id("session-abc123")).unwrap();
    assert_eq!(game.append(&turn(231), at(231)).unwrap().turn, 231);
    game.close(now()).unwrap();
}
