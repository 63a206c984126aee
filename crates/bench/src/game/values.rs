//! States as `serde_json` values, and changes applied to them, in the straightforward way.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::peer::PeerError;

/// A whole state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StateValues {
    /// The world.
    pub(crate) world: Value,
    /// The player.
    pub(crate) player: Value,
    /// The scene.
    pub(crate) scene: Value,
}

/// A line of the change log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeGroup {
    pub(crate) delta_id: String,
    pub(crate) turn_id: u64,
    pub(crate) event_id: String,
    pub(crate) timestamp: i64,
    pub(crate) scope: String,
    pub(crate) deltas: Vec<ValueChange>,
}

/// One change. The old value is written, but not used when replaying forward.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ValueChange {
    pub(crate) op: String,
    pub(crate) path: Value,
    pub(crate) value: Value,
    #[serde(rename = "previousValue", skip_serializing_if = "Option::is_none", skip_deserializing)]
    pub(crate) previous: Option<Value>,
}

impl ValueChange {
    /// Creates a change at a dotted path.
    pub(crate) fn new(op: &str, path: &str, value: Value) -> ValueChange {
        ValueChange { op: op.to_owned(), path: Value::from(path), value, previous: None }
    }

    fn refused(&self) -> PeerError {
        PeerError::Session(format!("{} at {} failed", self.op, self.path))
    }

    /// Applies the change; returns the old value.
    fn apply(&mut self, state: &mut Value) -> Result<Option<Value>, PeerError> {
        let value = std::mem::take(&mut self.value);
        let Some(path) = self.path.as_str() else {
            return Ok(Some(std::mem::replace(state, value)));
        };
        let (above, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut place = state;
        for key in above.split('.').filter(|key| !key.is_empty()) {
            place = place.get_mut(key).ok_or_else(|| self.refused())?;
        }
        if self.op == "set" {
            let members = place.as_object_mut().ok_or_else(|| self.refused())?;
            return Ok(members.insert(last.to_owned(), value));
        }
        let place = place.get_mut(last).ok_or_else(|| self.refused())?;
        match (self.op.as_str(), place) {
            ("increment", place) => {
                let sum = place.as_i64().zip(value.as_i64()).map(|(was, more)| was + more);
                let sum = Value::Number(Number::from(sum.ok_or_else(|| self.refused())?));
                Ok(Some(std::mem::replace(place, sum)))
            }
            ("push", Value::Array(list)) => {
                list.push(value);
                Ok(None)
            }
            ("pull", Value::Array(list)) => {
                list.retain(|element| *element != value);
                Ok(None)
            }
            _ => Err(self.refused()),
        }
    }
}

impl StateValues {
    fn part(&mut self, scope: &str) -> &mut Value {
        match scope {
            "world" => &mut self.world,
            "player" => &mut self.player,
            _ => &mut self.scene,
        }
    }

    /// Applies a group that was read; its values move into the state.
    pub(crate) fn apply(&mut self, group: &mut ChangeGroup) -> Result<(), PeerError> {
        let part = self.part(&group.scope);
        group.deltas.iter_mut().try_for_each(|change| change.apply(part).map(drop))
    }

    /// Applies a group that is to be written; the old values are stored in it.
    pub(crate) fn apply_noting(&mut self, group: &mut ChangeGroup) -> Result<(), PeerError> {
        let part = self.part(&group.scope);
        for change in &mut group.deltas {
            let value = change.value.clone();
            change.previous = change.apply(part)?;
            change.value = value;
        }
        Ok(())
    }
}

impl StateValues {
    /// Removes the write time of the file, which is not part of a state.
    pub(crate) fn unstamped(mut self) -> StateValues {
        for part in [&mut self.world, &mut self.player] {
            part.as_object_mut().map(|part| part.shift_remove("lastUpdated"));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(op: &str, path: &str, value: Value, expect: &Value, previous: Option<&Value>) {
        let world = json!({"a": {"n": 4, "l": [1, 2, 1]}});
        let mut state = StateValues { world, player: Value::Null, scene: Value::Null };
        let mut change = ValueChange::new(op, path, value);
        assert_eq!(change.apply(&mut state.world).unwrap().as_ref(), previous, "{op} {path}");
        assert_eq!(&state.world["a"], expect, "{op} {path}");
    }

    #[test]
    fn every_operation_does_what_it_says() {
        check("set", "a.n", json!("x"), &json!({"n": "x", "l": [1, 2, 1]}), Some(&json!(4)));
        check("set", "a.m", json!(1), &json!({"n": 4, "l": [1, 2, 1], "m": 1}), None);
        check("increment", "a.n", json!(3), &json!({"n": 7, "l": [1, 2, 1]}), Some(&json!(4)));
        check("push", "a.l", json!(9), &json!({"n": 4, "l": [1, 2, 1, 9]}), None);
        check("pull", "a.l", json!(1), &json!({"n": 4, "l": [2]}), None);
        let mut state = json!({"a": 1});
        assert!(ValueChange::new("push", "a", json!(1)).apply(&mut state).is_err());
        assert!(ValueChange::new("set", "b.c", json!(1)).apply(&mut state).is_err());
    }
}
