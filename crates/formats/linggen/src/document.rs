//! Documents of a home: read, changed in place, and written back only over what was read.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::error::LinggenError;
use everturn_json::names::FilePath;
use everturn_store::{FileMode, Fingerprint, Precondition, Step, Store, read_optional};
use everturn_value::document::{Document, JsonStyle, PathSegment};

/// A JSON document with the content that it was read with.
#[derive(Debug, Clone)]
pub(crate) struct JsonDocument {
    pub(crate) file: FilePath,
    document: Document,
    /// What was read; nothing, if the file is new.
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

    /// A new document, laid out as the program behind these files does it.
    pub(crate) fn new<T: Serialize + ?Sized>(
        file: &FilePath,
        value: &T,
    ) -> Result<JsonDocument, LinggenError> {
        let document = Document::new(value, JsonStyle::PRETTY_RAW)?;
        Ok(JsonDocument { file: file.clone(), document, before: None })
    }

    /// The document that is there, or one that says nothing.
    pub(crate) fn read_or_new(
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<JsonDocument, LinggenError> {
        match JsonDocument::read(store, file)? {
            Some(stored) => Ok(stored),
            None => JsonDocument::new(file, &serde_json::json!({})),
        }
    }

    /// What the document says, as a whole.
    pub(crate) fn value(&self) -> Result<Value, LinggenError> {
        let value = self.document.value(&[]);
        let value = value.map_err(|error| LinggenError::damaged(&self.file, error))?;
        Ok(value.unwrap_or_default())
    }

    /// What stands at a key.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.document.value(&[PathSegment::Key(key)]).ok().flatten()
    }

    pub(crate) fn string(&self, key: &str) -> Option<String> {
        self.get(key)?.as_str().map(str::to_owned)
    }

    /// The document itself, to be changed.
    pub(crate) fn edit(&mut self) -> &mut Document {
        &mut self.document
    }

    pub(crate) fn set<T>(&mut self, key: &str, value: &T) -> Result<(), LinggenError>
    where
        T: Serialize + ?Sized,
    {
        Ok(self.document.set(&[PathSegment::Key(key)], value)?)
    }

    /// The step that writes it, unless somebody else has changed the file meanwhile.
    pub(crate) fn step(self, mode: FileMode) -> Step {
        let expect = self.before.map_or(Precondition::Absent, Precondition::Content);
        Step::Replace { file: self.file, expect, bytes: self.document.into_bytes(), mode }
    }
}
