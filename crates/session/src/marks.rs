//! Marks of sessions whose format cannot store them: one document in the directory of the session.
//!
//! `everturn.marks.json`: `{"marks": [{"id", "kind", "name", "description", "turn", "entry", "time"}], "changed"}`, with
//! the time of the last change. Other members of the document are preserved.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::format::SessionError;
use crate::model::{Mark, MarkKind, NewMark};
use crate::repair::find_objects;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_store::{Fingerprint, Precondition, Step, Store, StoreError, read_optional};
use everturn_value::document::{Document, EditError, JsonStyle, PathSegment};

/// The name of the document.
pub const FILE: &str = "everturn.marks.json";

/// The member of the document that contains the marks.
const MARKS: PathSegment<'static> = PathSegment::Key("marks");

/// The member of the document that contains the time of the last change.
const CHANGED: PathSegment<'static> = PathSegment::Key("changed");

/// The maximum length in bytes of a mark's name and of its description.
const LONGEST: usize = 10_000;

/// The path of the document in a session's directory.
pub fn marks_file(dir: &FilePath) -> FilePath {
    Name::parse(FILE).map_or_else(|_| dir.clone(), |name| dir.join(&name))
}

/// The marks of a session, ordered by turn.
pub fn read_marks(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<Mark>, SessionError> {
    let mut marks = MarkDocument::open(store, dir)?.list()?;
    marks.sort_by_key(|mark| mark.turn);
    Ok(marks)
}

/// When the marks of a session were last changed, if that is known. [`check_marks`] reports a damaged document.
pub fn marks_changed(
    store: &Arc<dyn Store>,
    dir: &FilePath,
) -> Result<Option<Timestamp>, StoreError> {
    let file = marks_file(dir);
    // A list of sessions asks this of each of them, and most have no marks.
    if store.stat(&file)?.is_none() {
        return Ok(None);
    }
    let Some(bytes) = read_optional(store, &file)? else { return Ok(None) };
    let document = Document::parse_like(&bytes, &JsonStyle::PRETTY_RAW_LINE).ok();
    let changed = document.and_then(|document| document.value(&[CHANGED]).ok().flatten());
    Ok(changed.as_ref().and_then(Value::as_str).and_then(|time| time.parse().ok()))
}

/// Returns the document with only the marks up to a turn; `None` if nothing changes. An invalid document is not
/// changed.
pub fn truncate_marks(bytes: &[u8], turn: u64) -> Option<Vec<u8>> {
    let mut document = Document::parse_like(bytes, &JsonStyle::PRETTY_RAW_LINE).ok()?;
    let list = document.value(&[MARKS]).ok()??;
    let mut changed = false;
    for (index, mark) in list.as_array()?.iter().enumerate().rev() {
        if mark.get("turn").and_then(Value::as_u64).is_some_and(|of| of > turn) {
            changed |= document.remove(&[MARKS, PathSegment::Index(index)]).ok()?;
        }
    }
    changed.then(|| document.into_bytes())
}

/// Like [`truncate_marks`], for the document of a session, if it has one.
pub fn truncated_marks(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    turn: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    match store.read(&marks_file(dir), 0..u64::MAX) {
        Ok(bytes) => Ok(truncate_marks(&bytes, turn)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks the marks of a session whose last turn is `last`.
pub fn check_marks(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    last: u64,
) -> Result<Vec<Finding>, StoreError> {
    let file = marks_file(dir);
    let bytes = match store.read(&file, 0..u64::MAX) {
        Ok(bytes) => bytes,
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let document = match Document::parse_like(&bytes, &JsonStyle::PRETTY_RAW_LINE) {
        Ok(document) => document,
        Err(error) => return Ok(vec![error.finding(&file)]),
    };
    let mut findings = document.findings(&file);
    let mut note = |code: FindingCode, message: String| {
        findings.push(Finding::new(&file, code, message));
    };
    match (MarkDocument { file: file.clone(), document, expect: Precondition::Anything }).list() {
        Err(error) => note(FindingCode::BadDocument, error.to_string()),
        Ok(marks) => {
            for mark in marks.iter().filter(|mark| mark.turn > last) {
                let Mark { id, turn, .. } = mark;
                note(
                    FindingCode::UnknownReference,
                    format!("{id:?} marks turn {turn}, but turn {last} is the last"),
                );
            }
        }
    }
    Ok(findings)
}

/// Returns a damaged document with everything in it that is intact: each whole mark once, and the other members if the
/// document can be parsed.
pub fn repaired_marks(bytes: &[u8]) -> Result<Vec<u8>, EditError> {
    let mut marks: Vec<Value> = Vec::new();
    find_objects(bytes, |_, tree| {
        let mark = tree.to_value().ok().filter(|value| parse_mark(value).is_some());
        let is_mark = mark.is_some();
        marks.extend(mark.filter(|mark| !marks.contains(mark)));
        is_mark
    });
    let mut members = match serde_json::from_slice(bytes) {
        Ok(Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    members.insert("marks".to_owned(), Value::Array(marks));
    let document = Document::new(&Value::Object(members), JsonStyle::PRETTY_RAW_LINE)?;
    Ok(document.into_bytes())
}

/// A document with these marks.
pub fn marks_document(marks: &[Value]) -> Result<Vec<u8>, EditError> {
    let document = Document::new(&json!({"marks": marks}), JsonStyle::PRETTY_RAW_LINE)?;
    Ok(document.into_bytes())
}

/// The document of marks, and the content that it must still have when it is written.
pub struct MarkDocument {
    file: FilePath,
    document: Document,
    expect: Precondition,
}

impl MarkDocument {
    /// Opens the marks of the session in `dir`, which may have none yet.
    pub fn open(store: &Arc<dyn Store>, dir: &FilePath) -> Result<MarkDocument, SessionError> {
        let file = marks_file(dir);
        let damaged =
            |reason: &dyn std::fmt::Display| SessionError::damaged(format!("{file}: {reason}"));
        let (document, expect) = match store.read(&file, 0..u64::MAX) {
            Ok(bytes) => {
                let document = Document::parse_like(&bytes, &JsonStyle::PRETTY_RAW_LINE);
                let document = document.map_err(|error| damaged(&error))?;
                (document, Precondition::Content(Fingerprint::of(&bytes)))
            }
            Err(StoreError::Missing { .. }) => {
                let document = Document::new(&json!({"marks": []}), JsonStyle::PRETTY_RAW_LINE);
                (document.map_err(|error| damaged(&error))?, Precondition::Absent)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(MarkDocument { file, document, expect })
    }

    fn damaged(&self, reason: impl std::fmt::Display) -> SessionError {
        SessionError::damaged(format!("{}: {reason}", self.file))
    }

    /// The marks in the order in which they were added.
    pub(crate) fn list(&self) -> Result<Vec<Mark>, SessionError> {
        let list = self.document.value(&[MARKS]).map_err(|error| self.damaged(error))?;
        let Some(Value::Array(list)) = list else {
            return Err(self.damaged("it has no array \"marks\""));
        };
        let mark = |(index, mark): (usize, &Value)| {
            parse_mark(mark)
                .ok_or_else(|| self.damaged(format!("mark {} has no id, name or turn", index + 1)))
        };
        list.iter().enumerate().map(mark).collect()
    }

    /// Adds a mark to a session whose last turn is `last`; returns it with the step that stores it.
    pub fn add(
        mut self,
        new: &NewMark,
        last: u64,
        now: Timestamp,
    ) -> Result<(Mark, Step), SessionError> {
        let turn = new.turn.unwrap_or(last);
        if turn > last {
            return Err(SessionError::NoTurn { turn, first: 0, last });
        }
        if new.name.trim().is_empty() {
            return Err(SessionError::request("a mark needs a name"));
        }
        if new.name.len() > LONGEST || new.description.len() > LONGEST {
            return Err(SessionError::request(format!(
                "the name or description of a mark is too long (maximum {LONGEST} bytes)"
            )));
        }
        let numbers = self.list()?;
        let numbers = numbers.iter().filter_map(|mark| mark.id.strip_prefix("mark-")?.parse().ok());
        let number = numbers.max().unwrap_or(0_u64).saturating_add(1);
        let mark = Mark {
            id: format!("mark-{number}"),
            kind: new.kind.clone(),
            name: new.name.trim().to_owned(),
            description: new.description.clone(),
            turn,
            entry: new.entry.clone(),
            time: Some(now),
        };
        let value = json!({
            "id": mark.id,
            "kind": mark.kind.as_str(),
            "name": mark.name,
            "description": mark.description,
            "turn": mark.turn,
            "entry": mark.entry,
            "time": now.to_string(),
        });
        self.document.push(&[MARKS], &value).map_err(|error| self.damaged(error))?;
        Ok((mark, self.into_step(now)?))
    }

    /// Removes the mark with this ID; returns it with the step that removes it.
    pub fn remove(mut self, id: &str, now: Timestamp) -> Result<(Mark, Step), SessionError> {
        let marks = self.list()?;
        let found = marks.into_iter().enumerate().find(|(_, mark)| mark.id == id);
        let (index, mark) =
            found.ok_or_else(|| SessionError::request(format!("there is no mark {id:?}")))?;
        let path = [MARKS, PathSegment::Index(index)];
        self.document.remove(&path).map_err(|error| SessionError::damaged(error.to_string()))?;
        Ok((mark, self.into_step(now)?))
    }

    fn into_step(mut self, now: Timestamp) -> Result<Step, SessionError> {
        let set = self.document.set(&[CHANGED], &now.to_string());
        set.map_err(|error| self.damaged(error))?;
        Ok(Step::replace_expecting(self.file, self.expect, self.document.into_bytes()))
    }
}

fn parse_mark(value: &Value) -> Option<Mark> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Mark {
        id: text("id")?,
        kind: MarkKind::parse(&text("kind").unwrap_or_else(|| "bookmark".to_owned())),
        name: text("name")?,
        description: text("description").unwrap_or_default(),
        turn: value.get("turn")?.as_u64()?,
        entry: text("entry"),
        time: text("time").and_then(|time| time.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_keeps_every_whole_mark() {
        let mark =
            |id: &str, turn| json!({"id": id, "kind": "bookmark", "name": "n", "turn": turn});
        let marks = [mark("mark-1", 1), mark("mark-2", 2)];
        let whole = String::from_utf8(marks_document(&marks).unwrap()).unwrap();
        let kept = |text: &str| {
            let repaired = repaired_marks(text.as_bytes()).unwrap();
            let repaired: Value = serde_json::from_slice(&repaired).unwrap();
            repaired["marks"].as_array().unwrap().clone()
        };
        assert_eq!(kept(&whole), marks);
        assert_eq!(kept(&whole.replacen('[', "", 1)), marks);
        assert_eq!(kept(&whole.replace("\"turn\": 1", "\"turn\": x")), [marks[1].clone()]);
        assert_eq!(kept(&whole[..whole.len() - 12]), [marks[0].clone()]);
        assert_eq!(kept("{\"marks\": [], \"marks\": 1}"), Vec::<Value>::new());
        let other = repaired_marks(b"{\"own\": 7, \"marks\": [{\"id\": 1}]}").unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&other).unwrap(),
            json!({"own": 7, "marks": []})
        );
    }

    #[test]
    fn marks_of_later_turns_go_and_everything_else_stays() {
        let text = "{\"own\": 1.50, \"marks\": [{\"id\": \"a\", \"name\": \"x\", \"turn\": 3},\n {\"id\": \"b\", \"turn\": 1, \"colour\": \"red\"}]}";
        let cut_at = |turn| {
            truncate_marks(text.as_bytes(), turn).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(cut_at(3), None);
        let left = cut_at(2).unwrap();
        assert!(left.contains("1.50") && left.contains("\"colour\": \"red\""), "{left}");
        assert!(!left.contains("\"a\""), "{left}");
        for wrong in ["", "{", "[]", "{\"marks\": 1}", "{\"marks\": [{\"turn\": \"9\"}]}"] {
            assert_eq!(truncate_marks(wrong.as_bytes(), 0), None, "{wrong}");
        }
    }
}
