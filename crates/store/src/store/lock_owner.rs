//! [`LockOwner`], and its text in a lock file: one JSON object.
//!
//! The text is encoded and parsed here, without serde, which a program that only stores files does not need.

use std::fmt;

use crate::disk::{Disk, FileAccess, read_all};
use everturn_json::json::{Container, entries, key_matches, unescape, value_end};
use everturn_json::names::FilePath;

/// The process that opens a store, as shown to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockOwner {
    /// The process ID.
    pub pid: u32,
    /// The start time, in human-readable form.
    pub started: String,
}

impl LockOwner {
    /// Returns the text for a lock file.
    pub(super) fn to_text(&self) -> Vec<u8> {
        render_owner(self)
    }

    /// Reads the lock owner from a lock file.
    pub(super) fn read(disk: &dyn Disk, file: &FilePath) -> Option<LockOwner> {
        LockOwner::parse(&read_all(&*disk.open(file, FileAccess::Read).ok()?).ok()?)
    }

    /// Parses the lock owner from the first line of a lock file.
    pub(super) fn parse(text: &[u8]) -> Option<LockOwner> {
        parse_owner(text.split(|byte| *byte == b'\n').next()?)
    }
}

impl fmt::Display for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}, started {}", self.pid, self.started)
    }
}

/// Returns the text for a lock owner.
fn render_owner(owner: &LockOwner) -> Vec<u8> {
    let mut text = format!("{{\"pid\":{},\"started\":\"", owner.pid);
    for character in owner.started.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            control if control < ' ' => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push_str("\"}");
    text.into_bytes()
}

/// Parses a lock owner. Unknown members are ignored.
fn parse_owner(text: &[u8]) -> Option<LockOwner> {
    let text = text.trim_ascii_end();
    let found = entries(text, 0).ok()??;
    if found.container != Container::Object || value_end(text, 0).ok()? != text.len() {
        return None;
    }
    let value = |name: &str| {
        let is_it = |raw: &[u8]| key_matches(raw, name);
        let mut all = found
            .list
            .iter()
            .filter(|entry| entry.key.clone().and_then(|key| text.get(key)).is_some_and(is_it));
        let value = all.next()?.value.clone();
        if all.next().is_some() { None } else { text.get(value) }
    };
    let started = value("started")?;
    if !started.starts_with(b"\"") {
        return None;
    }
    Some(LockOwner {
        pid: str::from_utf8(value("pid")?).ok()?.parse().ok()?,
        started: String::from_utf8(unescape(started).into_owned()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn owner(pid: u32, started: &str) -> LockOwner {
        LockOwner { pid, started: started.to_owned() }
    }

    #[test]
    fn a_lock_file_is_one_object() {
        let text = render_owner(&owner(7, "2026-01-01T00:00:00Z"));
        assert_eq!(text, br#"{"pid":7,"started":"2026-01-01T00:00:00Z"}"#);
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "{",
            "[]",
            "{}",
            "7",
            r#"{"pid":7}"#,
            r#"{"pid":"7","started":"x"}"#,
            r#"{"pid":-7,"started":"x"}"#,
            r#"{"pid":7.5,"started":"x"}"#,
            r#"{"pid":7,"started":8}"#,
            r#"{"pid":7,"pid":8,"started":"x"}"#,
            r#"{"pid":7,"started":"\ud800"}"#,
            r#"{"pid":7,"started":"x"} y"#,
        ] {
            assert_eq!(parse_owner(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn other_members_and_white_space_are_left_alone() {
        let text = b"{ \"host\": [1], \"started\": \"a\\u0062\", \"pid\": 7 }\n";
        assert_eq!(parse_owner(text), Some(owner(7, "ab")));
    }

    proptest! {
        #[test]
        fn a_text_is_json_and_names_its_owner(pid: u32, started: String) {
            let text = render_owner(&owner(pid, &started));
            let value: Value = serde_json::from_slice(&text).unwrap();
            prop_assert_eq!(value, json!({ "pid": pid, "started": started }));
            prop_assert_eq!(parse_owner(&text), Some(owner(pid, &started)));
        }
    }
}
