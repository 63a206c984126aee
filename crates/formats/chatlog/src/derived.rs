//! Recomputes derived data of a document whose texts are about to be replaced.

use std::sync::Arc;

use super::content::DocumentBytes;
use super::error::ChatError;
use super::journal::JournalBase;
use super::paths::ChatPaths;
use everturn_json::names::FilePath;
use everturn_store::overlay::FileChanges;
use everturn_store::{Store, read_optional};
use everturn_value::tree::JsonTree;

/// Updates the length and checksum by which the journal names its document, and removes the index, whose offsets are no
/// longer valid.
pub(super) fn update_derived(
    store: &Arc<dyn Store>,
    document: &FilePath,
    changes: &mut FileChanges,
) -> Result<(), ChatError> {
    let Ok(files) = ChatPaths::of(document) else { return Ok(()) };
    if let Some(Some(bytes)) = changes.get(&files.document)
        && let Some(before) = read_optional(store, &files.document)?
    {
        let old = DocumentBytes::held(&files.document, before).digest()?;
        let new = DocumentBytes::held(&files.document, bytes.clone()).digest()?;
        let journal = match changes.get(&files.journal) {
            Some(content) => content.clone(),
            None => read_optional(store, &files.journal)?,
        };
        if let Some(journal) = journal
            && let Some(end) = journal.iter().position(|byte| *byte == b'\n')
            && let Some(first) = journal.get(..end).and_then(|line| str::from_utf8(line).ok())
            && let Some(base) = JsonTree::parse(first).ok().as_ref().and_then(JournalBase::parse)
            && base.mark == old
        {
            let rest = journal.get(end + 1..).unwrap_or_default();
            let line = JournalBase { mark: new, ..base }.line();
            changes.insert(files.journal.clone(), Some([line.as_bytes(), rest].concat()));
        }
    }
    let touched = [&files.document, &files.journal, &files.folded];
    if touched.into_iter().any(|file| changes.contains_key(file))
        && store.stat(&files.index).is_ok_and(|stat| stat.is_some())
    {
        changes.insert(files.index, None);
    }
    Ok(())
}
