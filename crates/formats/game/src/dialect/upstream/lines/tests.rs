//! Changes in the lines of the upstream dialect are read back as stored, and can be reverted.

use super::*;
use crate::state::GameState;

fn tree(text: &str) -> JsonTree {
    JsonTree::parse(text).unwrap()
}

/// A change of the player in the upstream dialect: applied, stored, read again.
fn stored(delta: Delta, state: &mut GameState) -> Option<Vec<ChangeRecord>> {
    let mut group = DeltaGroup { scope: Scope::Player, deltas: vec![delta] };
    state.apply(&mut group).ok()?;
    let id = "s-1-1".to_owned();
    let change = ChangeRecord { id, turn: 1, event: None, time: Some(1), group, extra: Vec::new() };
    let mut lines = String::new();
    write_change(&change, "", &mut lines);
    Some(
        lines
            .lines()
            .map(|line| ChangeRecord::parse(&TextSlice::from_text(line)).unwrap())
            .collect(),
    )
}

/// The changes that were read lead from the state before to the same state, and back.
#[track_caller]
fn check(before: &str, delta: &Delta) {
    let state = GameState { player: tree(before), ..GameState::empty() };
    let (mut there, mut again) = (state.clone(), state.clone());
    let Some(changes) = stored(delta.clone(), &mut there) else { return };
    for change in &changes {
        again.apply(&mut change.group.clone()).unwrap();
    }
    assert_eq!(again.player.to_line(), there.player.to_line(), "{before}: {delta:?}");
    for change in changes.iter().rev() {
        again.revert(&change.group).unwrap();
    }
    assert_eq!(again.player.to_line(), state.player.to_line(), "{before}: {delta:?}");
}

#[test]
fn whatever_is_stored_in_the_form_of_the_program_can_be_taken_back() {
    let states = [
        r#"{"slot":null,"list":[null,1,null],"deep":{"x":null,"y":[[],[null]]},"n":3}"#,
        r#"{"slot":0,"list":[],"deep":{},"n":-1.5}"#,
        r#"{"list":[1,1.0,[1],{"a":null},"null"],"deep":{"y":{}}}"#,
    ];
    let paths = ["slot", "list", "list.0", "list.2", "deep", "deep.x", "deep.y.0", "new.a.b", "n"];
    let values = ["null", "1", "[]", "[null]", "[1]", r#"{"a":null}"#, r#""null""#, "1.0"];
    for state in states {
        for path in paths {
            let path = || DeltaPath::array(path.split('.'));
            check(state, &Delta::delete(path()));
            for value in values {
                let value = || tree(value);
                check(state, &Delta::set(path(), value()));
                check(state, &Delta::push(path(), value()));
                check(state, &Delta::pull(path(), value()));
                check(state, &Delta::increment(path(), value()));
            }
        }
    }
}
