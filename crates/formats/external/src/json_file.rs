//! JSON documents whose elements are records.

use std::ops::Range;
use std::sync::Arc;

use super::record::RecordSpan;
use super::survey::{ScannedRecord, Surveyor};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::json::{ContainerEntries, entries, key_matches};
use everturn_json::jsonl::LARGEST_TEXT;
use everturn_session::format::SessionError;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

/// A document that is held in memory while its elements are read.
pub(super) struct JsonFile {
    text: String,
    file: u32,
}

impl JsonFile {
    /// Reads one of the documents of a session. An unusable document only makes a finding.
    pub(super) fn read(
        surveyor: &mut Surveyor,
        store: &Arc<dyn Store>,
        file: u32,
    ) -> Result<Option<JsonFile>, SessionError> {
        let Some(path) = surveyor.survey.files.get(file as usize).cloned() else { return Ok(None) };
        let stat = store.stat(&path)?.ok_or_else(|| StoreError::Missing { path: path.clone() })?;
        if stat.len > LARGEST_TEXT {
            let message = format!("a document of {} bytes is too long to display", stat.len);
            surveyor.quarantine(Finding::new(&path, FindingCode::TooLarge, message));
            return Ok(None);
        }
        let bytes = store.read(&path, 0..u64::MAX)?;
        if bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
            let message = "the file is empty".to_owned();
            surveyor.quarantine(Finding::new(&path, FindingCode::EmptyDocument, message));
            return Ok(None);
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                surveyor.quarantine(Finding::new(&path, FindingCode::NotUtf8, error.to_string()));
                return Ok(None);
            }
        };
        let start = text.len() - text.trim_start_matches('\u{feff}').len();
        if let Err(bad) = JsonTree::parse(text.get(start..).unwrap_or_default()) {
            surveyor.quarantine(Finding::new(
                &path,
                FindingCode::BadDocument,
                format!("not JSON: {bad}"),
            ));
            return Ok(None);
        }
        Ok(Some(JsonFile { text, file }))
    }

    /// The document itself, without white space around it.
    pub(super) fn span(&self) -> Range<usize> {
        let start = self.text.len() - self.text.trim_start_matches('\u{feff}').trim_start().len();
        start..self.text.trim_end().len().max(start)
    }

    /// A part of the document, as a record.
    pub(super) fn part(&self, span: &Range<usize>) -> Option<(JsonTree, &str, RecordSpan)> {
        let text = self.text.get(span.clone())?;
        let tree = JsonTree::parse(text).ok()?.into_expanded();
        let (offset, length) = (span.start as u64, text.len() as u64);
        Some((tree, text, RecordSpan { file: self.file, offset, length }))
    }

    /// Passes the elements of an array to `each`: that of the document itself, or of one of its members.
    pub(super) fn each(
        &self,
        key: Option<&str>,
        mut each: impl FnMut(&ScannedRecord<'_>),
    ) -> Option<()> {
        let start = self.span().start;
        for span in spans(&self.text, start, key)? {
            let (tree, text, at) = self.part(&span)?;
            each(&ScannedRecord { tree: &tree, text, at, line: None });
        }
        Some(())
    }
}

/// The positions of the elements of an array in a text: of the array at `start`, or of the member `key` of the object
/// there.
pub(super) fn spans(text: &str, start: usize, key: Option<&str>) -> Option<Vec<Range<usize>>> {
    let inside =
        |start: usize| -> Option<ContainerEntries> { entries(text.as_bytes(), start).ok()? };
    let start = match key {
        None => start,
        Some(key) => {
            let list = inside(start)?.list;
            let is = |range: &Range<usize>| {
                text.as_bytes().get(range.clone()).is_some_and(|raw| key_matches(raw, key))
            };
            let member = list.into_iter().rfind(|entry| entry.key.as_ref().is_some_and(is))?;
            member.value.start
        }
    };
    let found = inside(start)?;
    let is_array = text.as_bytes().get(found.span.start) == Some(&b'[');
    is_array.then(|| found.list.into_iter().map(|entry| entry.value).collect())
}

/// An object without one of its members.
pub(super) fn without(tree: &JsonTree, key: &str) -> JsonTree {
    JsonTree::from_members(tree.children().into_iter().filter(|(name, _)| name != key))
}
