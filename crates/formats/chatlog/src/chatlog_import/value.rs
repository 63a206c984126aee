//! Builds the values of documents.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rusqlite::types::Value;

use everturn_value::tree::{JsonTree, TreeNode};

pub(super) fn text(words: &str) -> JsonTree {
    JsonTree::from_value(words).unwrap_or_else(|_| JsonTree::null())
}

pub(super) fn number(number: i64) -> JsonTree {
    JsonTree::from_value(&number).unwrap_or_else(|_| JsonTree::null())
}

pub(super) fn flag(flag: bool) -> JsonTree {
    JsonTree::from_value(&flag).unwrap_or_else(|_| JsonTree::null())
}

pub(super) fn list(elements: Vec<JsonTree>) -> JsonTree {
    JsonTree(TreeNode::Array(elements.into_iter().map(|tree| tree.0).collect()))
}

pub(super) fn object<K: Into<String>>(
    members: impl IntoIterator<Item = (K, JsonTree)>,
) -> JsonTree {
    JsonTree::from_members(members.into_iter().map(|(key, value)| (key.into(), value)))
}

/// An object with some members added at the end, or replaced where the key exists.
pub(super) fn with(
    tree: &JsonTree,
    members: impl IntoIterator<Item = (&'static str, JsonTree)>,
) -> JsonTree {
    let mut all = tree.children();
    for (key, value) in members {
        match all.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => all.push((key.to_owned(), value)),
        }
    }
    object(all)
}

/// A cell as JSON; bytes are encoded in base64.
pub(super) fn of_cell(cell: &Value) -> JsonTree {
    match cell {
        Value::Null => JsonTree::null(),
        Value::Integer(whole) => number(*whole),
        Value::Real(real) => JsonTree::from_value(real).unwrap_or_else(|_| JsonTree::null()),
        Value::Text(words) => text(words),
        Value::Blob(bytes) => text(&BASE64_STANDARD.encode(bytes)),
    }
}

/// The time in a cell: as SQLite writes it, as JavaScript does, or as a number of seconds or milliseconds.
pub(super) fn time(cell: &Value) -> Option<Timestamp> {
    match cell {
        Value::Text(words) => {
            let words = words.trim();
            let in_utc = || {
                let civil: DateTime = words.parse().ok()?;
                TimeZone::UTC.to_timestamp(civil).ok()
            };
            words.parse().ok().or_else(in_utc)
        }
        Value::Integer(number) if number.unsigned_abs() >= 100_000_000_000 => {
            Timestamp::from_millisecond(*number).ok()
        }
        Value::Integer(number) => Timestamp::from_second(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_however_they_are_written() {
        let check = |cell: Value, expect: Option<&str>| {
            assert_eq!(time(&cell).map(|time| time.to_string()).as_deref(), expect, "{cell:?}");
        };
        let words = |words: &str| Value::Text(words.to_owned());
        check(words("2023-05-18 12:00:00"), Some("2023-05-18T12:00:00Z"));
        check(words("2023-05-18 12:00:00.250"), Some("2023-05-18T12:00:00.25Z"));
        check(words("2023-05-18T12:00:00.123Z"), Some("2023-05-18T12:00:00.123Z"));
        check(words("2023-05-18T14:00:00+02:00"), Some("2023-05-18T12:00:00Z"));
        check(Value::Integer(1_684_411_200), Some("2023-05-18T12:00:00Z"));
        check(Value::Integer(1_684_411_200_000), Some("2023-05-18T12:00:00Z"));
        check(words("yesterday"), None);
        check(words(""), None);
        check(Value::Integer(i64::MAX), None);
        check(Value::Null, None);
    }
}
