//! Long outputs of tools, which Claude Code keeps in files of their own.
//!
//! The message of the tool has the first lines of an output and names the file. The whole output is a record of the
//! session, which is searched and not sent anywhere. `OutputFetcher` reads it as an object.

use std::sync::Arc;

use serde_json::json;

use super::TOOL_RESULTS;
use crate::fetch::{FileWindow, RecordFetcher};
use crate::record::{EntryDraft, Parent, RecordInfo, RecordSpan};
use crate::survey::{ScannedRecord, Surveyor};
use crate::thread_tree::Placement;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::LARGEST_TEXT;
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

/// Adds the outputs of a session's tools.
pub(super) fn add_outputs(
    surveyor: &mut Surveyor,
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<(), SessionError> {
    let (Some(dir), Ok(id)) = (place.path.parent(), Name::parse(&place.id)) else { return Ok(()) };
    let dir = dir.join(&id).join(&Name::parse(TOOL_RESULTS)?);
    let listing = match store.list(&dir) {
        Ok(listing) => listing,
        Err(StoreError::Missing { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in listing.entries.into_iter().filter(|entry| entry.kind == FileKind::File) {
        let file = dir.join(&entry.name);
        let length = store.stat(&file)?.map_or(0, |stat| stat.len);
        if length > LARGEST_TEXT {
            let message = format!("an output of {length} bytes is too long to display");
            surveyor.quarantine(Finding::new(&file, FindingCode::TooLarge, message));
            continue;
        }
        let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
        surveyor.survey.files.push(file);
        let at = RecordSpan { file: number, offset: 0, length };
        let look = RecordInfo::from_drafts(vec![EntryDraft::bookkeeping(TOOL_RESULTS, "")]);
        let seen = ScannedRecord { tree: &JsonTree::null(), text: "", at, line: None };
        let number = surveyor.add(&seen, &look, Parent::Root);
        if let Some(node) = surveyor.node(number) {
            node.placement = Placement::Aside;
        }
    }
    Ok(())
}

/// Reads records of a session, and outputs of tools as objects.
pub(super) struct OutputFetcher {
    store: Arc<dyn Store>,
    files: Vec<FilePath>,
    lines: FileWindow,
}

impl OutputFetcher {
    pub(super) fn new(store: &Arc<dyn Store>, files: &[FilePath]) -> OutputFetcher {
        let lines = FileWindow::new(store, files);
        OutputFetcher { store: Arc::clone(store), files: files.to_vec(), lines }
    }
}

impl RecordFetcher for OutputFetcher {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        let Some(file) = self.files.get(at.file as usize).filter(|_| at.file > 0) else {
            return self.lines.fetch(at);
        };
        let bytes = self.store.read(file, 0..LARGEST_TEXT)?;
        let text = String::from_utf8_lossy(&bytes);
        let name = file.name().map(|name| name.as_str().to_owned());
        let record = json!({"type": TOOL_RESULTS, "file": name, "text": text});
        JsonTree::from_value(&record).map_err(|error| SessionError::request(error.to_string()))
    }
}
