//! Documents of a home: edited in place, and written back only if the file is unchanged.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::error::LinggenError;
use everturn_json::names::FilePath;
use everturn_store::{FileMode, Fingerprint, Precondition, Step, Store, read_optional};
use everturn_value::document::{Document, JsonStyle, PathSegment};

/// A JSON document, with the fingerprint of the file it was read from.
#[derive(Debug, Clone)]
pub(crate) struct JsonDocument {
    pub(crate) file: FilePath,
    document: Document,
    /// The fingerprint of the file; `None` if it is new.
    before: Option<Fingerprint>,
}

impl JsonDocument {
    /// Reads a document, if there is one.
    pub(crate) fn read(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Option<JsonDocument>, LinggenError> {
        let Some(bytes) = read_optional(store, file)? else { return Ok(None) };
        let document =
            Document::parse(&bytes).map_err(|error| LinggenError::damaged(file, error))?;
        let before = Some(Fingerprint::of(&bytes));
        Ok(Some(JsonDocument { file: file.clone(), document, before }))
    }

    /// A new document, formatted as the program behind these files does.
    pub(crate) fn new<T: Serialize + ?Sized>(
        file: &FilePath,
        value: &T,
    ) -> Result<JsonDocument, LinggenError> {
        let document = Document::new(value, JsonStyle::PRETTY_RAW)?;
        Ok(JsonDocument { file: file.clone(), document, before: None })
    }

    /// The existing document, or an empty one.
    pub(crate) fn read_or_new(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<JsonDocument, LinggenError> {
        match JsonDocument::read(store, file)? {
            Some(stored) => Ok(stored),
            None => JsonDocument::new(file, &serde_json::json!({})),
        }
    }

    /// The whole value of the document.
    pub(crate) fn value(&self) -> Result<Value, LinggenError> {
        let value = self.document.value(&[]);
        let value = value.map_err(|error| LinggenError::damaged(&self.file, error))?;
        Ok(value.unwrap_or_default())
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.document.value(&[PathSegment::Key(key)]).ok().flatten()
    }

    pub(crate) fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.as_str().map(str::to_owned)
    }

    /// The document itself, for edits.
    pub(crate) fn edit(&mut self) -> &mut Document {
        &mut self.document
    }

    pub(crate) fn set<T>(&mut self, key: &str, value: &T) -> Result<(), LinggenError>
    where
        T: Serialize + ?Sized,
    {
        Ok(self.document.set(&[PathSegment::Key(key)], value)?)
    }

    /// The step that writes it, unless the file has been changed in the meantime.
    pub(crate) fn step(self, mode: FileMode) -> Step {
        let expect = self.before.map_or(Precondition::Absent, Precondition::Content);
        Step::Replace { file: self.file, expect, bytes: self.document.into_bytes(), mode }
    }
}
