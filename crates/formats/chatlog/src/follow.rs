//! What follows from a document, made true again after texts in it were replaced.

use std::sync::Arc;

use super::content::Content;
use super::error::ChatError;
use super::journal::Base;
use super::names::Files;
use everturn_json::names::FilePath;
use everturn_store::overlay::Changes;
use everturn_store::{Store, read_if_there};
use everturn_value::tree::Tree;

/// A journal names the document that it was begun for, by its length and checksum; the index tells where things
/// are, and goes.
pub(super) fn follow(
    store: &Arc<dyn Store>,
    document: &FilePath,
    changes: &mut Changes,
) -> Result<(), ChatError> {
    let Ok(files) = Files::of(document) else { return Ok(()) };
    if let Some(Some(bytes)) = changes.get(&files.document)
        && let Some(before) = read_if_there(store, &files.document)?
    {
        let old = Content::held(&files.document, before).mark()?;
        let new = Content::held(&files.document, bytes.clone()).mark()?;
        let journal = match changes.get(&files.journal) {
            Some(content) => content.clone(),
            None => read_if_there(store, &files.journal)?,
        };
        if let Some(journal) = journal
            && let Some(end) = journal.iter().position(|byte| *byte == b'\n')
            && let Some(first) = journal.get(..end).and_then(|line| str::from_utf8(line).ok())
            && let Some(base) = Tree::parse(first).ok().as_ref().and_then(Base::parse)
            && base.mark == old
        {
            let rest = journal.get(end + 1..).unwrap_or_default();
            let line = Base { mark: new, ..base }.line();
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
