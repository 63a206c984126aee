//! Lines of the change log in both dialects: [`ChangeRecord`] is a line, [`DeltaGroup`] its changes. `ChangeText` has
//! the fields of a line, which a dialect reads.

mod fast_lines;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::dialect::Dialect;
use super::state::Scope;
use super::turn::millis;
use everturn_value::delta::{Delta, DeltaOp, DeltaText, present};
use everturn_value::tree::{JsonTree, TextSlice};

pub(crate) use fast_lines::ChangeLine;

/// Changes that belong together: one line of the change log.
#[derive(Debug, Clone)]
pub struct DeltaGroup {
    /// The part of the state that they change.
    pub scope: Scope,
    /// The changes, in order.
    pub deltas: Vec<Delta>,
}

/// A line of the change log.
#[derive(Debug, Clone)]
pub struct ChangeRecord {
    /// The ID of the change.
    pub id: String,
    /// The turn it belongs to.
    pub turn: u64,
    /// The event that caused it.
    pub event: Option<String>,
    /// The time of the change in milliseconds.
    pub time: Option<i64>,
    /// The changes.
    pub group: DeltaGroup,
    /// Unknown fields of a change that is to be written.
    pub(crate) extra: Vec<(String, JsonTree)>,
}

/// All fields that a line may have in either dialect.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeText<'t> {
    #[serde(borrow, default)]
    pub(crate) delta_id: Option<Cow<'t, str>>,
    pub(crate) turn_id: u64,
    #[serde(borrow, default)]
    pub(crate) event_id: Option<Cow<'t, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) timestamp: Option<&'t RawValue>,
    #[serde(borrow, default)]
    pub(crate) scope: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    pub(crate) deltas: Option<Vec<DeltaText<'t>>>,
    #[serde(borrow, default)]
    pub(crate) target: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    pub(crate) operation: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    pub(crate) path: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) previous_value: Option<&'t RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) new_value: Option<&'t RawValue>,
    #[serde(default)]
    pub(crate) positions: Option<Vec<usize>>,
    #[serde(default)]
    pub(crate) position: Option<usize>,
    #[serde(default)]
    pub(crate) created_parents: usize,
}

impl ChangeRecord {
    /// Parses a line in either dialect.
    pub(crate) fn parse(slice: &TextSlice) -> Result<ChangeRecord, String> {
        let text = ChangeText::parse(slice.as_str()).map_err(|error| error.to_string())?;
        let dialect = Dialect::of_change(&text).ok_or("neither deltas nor an operation")?;
        let group = dialect.rules().read_change(&text, slice)?;
        let time = match text.timestamp.map(RawValue::get) {
            None | Some("null") => None,
            Some(raw) => Some(millis(raw).ok_or_else(|| format!("{raw} is not a time"))?),
        };
        Ok(ChangeRecord {
            id: text.delta_id.unwrap_or_default().into_owned(),
            turn: text.turn_id,
            event: text.event_id.map(Cow::into_owned),
            time,
            group,
            extra: Vec::new(),
        })
    }
}

impl ChangeText<'_> {
    /// Parses the fields of a line.
    pub(crate) fn parse(line: &str) -> Result<ChangeText<'_>, serde_json::Error> {
        serde_json::from_str(line)
    }
}

/// Returns whether changes of a scope affect the number of members, or the first levels, of a key.
pub(crate) fn touches(changes: &[ChangeRecord], scope: Scope, key: &str, depth: usize) -> bool {
    let reaches = |delta: &Delta| {
        let segments = delta.path.segments();
        segments.first().is_none_or(|first| &**first == key)
            && (segments.len() <= depth || (delta.op == DeltaOp::Set && delta.created > 0))
    };
    changes
        .iter()
        .filter(|change| change.group.scope == scope)
        .any(|change| change.group.deltas.iter().any(reaches))
}
