//! What a [`Session`](crate::Session) returns: [`EntryIter`], [`ChangeIter`] and [`TypedState`].

use everturn_json::finding::Finding;
use everturn_session::format::RecordStream;
use everturn_session::model::{Entry, SessionState, StateChange};
use serde::de::DeserializeOwned;

use crate::error::Error;

/// An iterator over the entries of a session.
pub struct EntryIter<'s> {
    pub(crate) stream: Box<dyn RecordStream<Item = Entry> + 's>,
}

impl EntryIter<'_> {
    /// The findings of reading them since the last call.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        self.stream.take_findings()
    }
}

impl Iterator for EntryIter<'_> {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Result<Entry, Error>> {
        Some(self.stream.next()?.map_err(Error::from))
    }
}

/// An iterator over the state changes of a session.
pub struct ChangeIter<'s> {
    pub(crate) stream: Box<dyn RecordStream<Item = StateChange> + 's>,
}

impl Iterator for ChangeIter<'_> {
    type Item = Result<StateChange, Error>;

    fn next(&mut self) -> Option<Result<StateChange, Error>> {
        Some(self.stream.next()?.map_err(Error::from))
    }
}

fn type_error(scope: &str, keys: &[&str], error: &impl ToString) -> Error {
    let path = [&[scope], keys].concat().join(".");
    Error::ValueType { path, reason: error.to_string() }
}

/// The state after a turn, with typed access to its values.
#[derive(Debug, Clone)]
pub struct TypedState {
    pub(crate) state: SessionState,
}

impl TypedState {
    /// The turn.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.state.turn
    }

    /// A value of the state. The path starts with the scope, such as `world.npcs.luna.trust`; list elements are
    /// addressed by index. Fails with [`Error::NoValue`] if the state has no such value, and with [`Error::ValueType`] if
    /// it has another type. Dots separate keys: [`TypedState::get_at`] takes keys that contain dots.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.get_optional(path)?.ok_or_else(|| Error::NoValue { path: path.to_owned() })
    }

    /// As [`TypedState::get`]; `None` if the state has no such value.
    pub fn get_optional<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Error> {
        let keys: Vec<&str> = path.split('.').filter(|key| !key.is_empty()).collect();
        self.get_at(&keys)
    }

    /// The value at some keys, the first of which is the scope; `None` if the state has no such value.
    pub fn get_at<T: DeserializeOwned>(&self, keys: &[&str]) -> Result<Option<T>, Error> {
        let Some((scope, keys)) = keys.split_first() else { return Ok(None) };
        let Some(tree) = self.state.get(scope).and_then(|tree| tree.value_at(keys)) else {
            return Ok(None);
        };
        let value = tree.to_value().map_err(|error| type_error(scope, keys, &error))?;
        serde_json::from_value(value).map(Some).map_err(|error| type_error(scope, keys, &error))
    }

    /// The whole state in the common model.
    #[must_use]
    pub fn as_session_state(&self) -> &SessionState {
        &self.state
    }
}
