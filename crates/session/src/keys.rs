//! Idempotency keys in records, for the formats that implement [`KeyedTurns`](crate::format::KeyedTurns).

use everturn_value::tree::JsonTree;

use crate::format::SessionError;

/// The maximum length of a key in bytes.
pub const LONGEST_KEY: usize = 200;

/// Returns an error if a key cannot be stored.
pub fn check_key(key: &str) -> Result<(), SessionError> {
    if key.is_empty() || key.len() > LONGEST_KEY || key.chars().any(char::is_control) {
        return Err(SessionError::request(format!(
            "a key has 1 to {LONGEST_KEY} bytes and no control characters"
        )));
    }
    Ok(())
}

/// Returns a record in which a field has this text; all other members keep their spelling.
#[must_use]
pub fn with_text(record: &JsonTree, field: &str, text: &str) -> JsonTree {
    let value = JsonTree::from_value(text).unwrap_or_else(|_| JsonTree::null());
    let others = record.children().into_iter().filter(|(key, _)| key != field);
    JsonTree::from_members(others.chain([(field.to_owned(), value)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_short_and_printable() {
        for key in ["a", "7f3c-11", "門", &"k".repeat(LONGEST_KEY)] {
            assert!(check_key(key).is_ok(), "{key}");
        }
        for key in ["", "a\nb", "\u{0}", &"k".repeat(LONGEST_KEY + 1)] {
            assert!(check_key(key).is_err(), "{key:?}");
        }
    }

    #[test]
    fn a_field_is_added_or_replaced_and_nothing_else_changes() {
        let record = JsonTree::parse(r#"{"n": 1.50, "key": "old", "m": "\u00e9"}"#).unwrap();
        let line = with_text(&record, "key", "new").to_line();
        assert_eq!(line, r#"{"n":1.50,"m":"\u00e9","key":"new"}"#);
    }
}
