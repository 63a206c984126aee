//! Reads records again, one by one, when they are shown.
//!
//! `RecordFetcher` is the trait, and `FileWindow` implements it for files.

use std::sync::Arc;

use super::record::RecordSpan;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

/// The number of bytes read at a time.
const CHUNK: u64 = 256 << 10;

/// Reads records at the positions that the first pass found.
pub(super) trait RecordFetcher {
    /// The record at a span.
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError>;
}

/// Reads files through a buffer around the last requested span: records are mostly read in order.
pub(super) struct FileWindow {
    store: Arc<dyn Store>,
    files: Vec<FilePath>,
    held: Option<(RecordSpan, Vec<u8>)>,
}

impl FileWindow {
    pub(super) fn new(store: &Arc<dyn Store>, files: &[FilePath]) -> FileWindow {
        FileWindow { store: Arc::clone(store), files: files.to_vec(), held: None }
    }

    fn file(&self, at: RecordSpan) -> FilePath {
        self.files.get(at.file as usize).cloned().unwrap_or_default()
    }

    /// The bytes of a span, if they are buffered.
    fn held(&self, at: RecordSpan) -> Option<&[u8]> {
        let (from, bytes) = self.held.as_ref().filter(|(from, _)| from.file == at.file)?;
        let start = usize::try_from(at.offset.checked_sub(from.offset)?).ok()?;
        bytes.get(start..start.checked_add(usize::try_from(at.length).ok()?)?)
    }

    /// The text of a span. It is an error if the file has changed in the meantime.
    pub(super) fn text(&mut self, at: RecordSpan) -> Result<&str, SessionError> {
        if self.held(at).is_none() {
            let end = at.offset.saturating_add(at.length.max(CHUNK));
            let bytes = self.store.read(&self.file(at), at.offset..end)?;
            self.held = Some((RecordSpan { length: bytes.len() as u64, ..at }, bytes));
        }
        let changed = StoreError::Changed { file: self.file(at) };
        let text = self.held(at).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| changed.into())
    }
}

impl RecordFetcher for FileWindow {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        let changed = StoreError::Changed { file: self.file(at) };
        let tree = JsonTree::parse(self.text(at)?);
        Ok(tree.map_err(|_| changed)?.into_expanded())
    }
}
