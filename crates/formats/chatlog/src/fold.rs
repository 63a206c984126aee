//! Folds the journal into the document.
//!
//! A document that fits into one commit is replaced by that commit, which also removes the journal. A larger one is
//! built below `.everturn/staging/`, and one commit moves it beside the document as `<id>.folded.json`: from then on it
//! is the chat log, whatever else exists there. Two more commits remove the files it replaces and rename it; a later
//! writer that finds them missing makes them first.
//!
//! The commit that puts the new document in place first appends a line to the journal that names this document. If the
//! journal reappears, after a crash or with a restored copy, the line shows that the document contains all of it.

use super::content::{DocumentBytes, DocumentDigest};
use super::error::ChatError;
use super::journal::JournalOp;
use super::log::ChatLog;
use super::paths::{ChatPaths, below};
use super::rewrite::{DocumentSink, RewritePlan, write};
use super::survey::survey;
use everturn_json::names::FilePath;
use everturn_store::{
    AppendAt, Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError, Writer,
};

/// The largest document that is written by one commit, and the part of a larger one that one commit carries.
pub(crate) const BATCH_BYTES: u64 = 8 << 20;

/// The smallest document that gets an index; smaller ones are read as quickly without.
const INDEX_FROM: u64 = 256 << 10;

/// Builds a document in pieces.
struct BatchSink<'a> {
    writer: &'a dyn Writer,
    file: FilePath,
    batch: usize,
    buffer: Vec<u8>,
    written: u64,
}

impl BatchSink<'_> {
    /// Writes the first bytes of the buffer, which end with a newline.
    fn flush(&mut self, end: usize) -> Result<(), ChatError> {
        let rest = self.buffer.split_off(end.min(self.buffer.len()));
        let lines = std::mem::replace(&mut self.buffer, rest);
        if lines.is_empty() {
            return Ok(());
        }
        let (at, length) = (AppendAt::Offset(self.written), lines.len() as u64);
        let step = Step::Append { file: self.file.clone(), at, lines };
        self.writer.commit(vec![step], Durability::Buffered)?;
        self.written += length;
        Ok(())
    }

    fn flush_lines(&mut self) -> Result<bool, ChatError> {
        if self.buffer.len() < self.batch {
            return Ok(true);
        }
        match self.buffer.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => self.flush(at + 1).map(|()| true),
            None => Ok(false),
        }
    }

    /// Only whole lines are appended, so the last line gets a newline.
    fn finish(mut self) -> Result<(), ChatError> {
        if self.buffer.last().is_some_and(|byte| *byte != b'\n') {
            self.buffer.push(b'\n');
        }
        self.flush(self.buffer.len())
    }
}

impl DocumentSink for BatchSink<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), ChatError> {
        self.buffer.extend_from_slice(bytes);
        self.flush_lines().map(drop)
    }

    fn allow_newline(&mut self) -> Result<(), ChatError> {
        if !self.flush_lines()? {
            self.buffer.push(b'\n');
            self.flush(self.buffer.len())?;
        }
        Ok(())
    }

    fn wants_lines(&self) -> bool {
        true
    }
}

/// The step that replaces the content of a file.
pub(crate) fn replace(file: &FilePath, expect: Precondition, bytes: Vec<u8>) -> Step {
    Step::Replace { file: file.clone(), expect, bytes, mode: FileMode::Default }
}

fn remove_if_there(
    store: &dyn Store,
    file: &FilePath,
    steps: &mut Vec<Step>,
) -> Result<(), StoreError> {
    if store.stat(file)?.is_some() {
        steps.push(Step::Remove { path: file.clone() });
    }
    Ok(())
}

/// The line of the journal which states that `document` contains all of it.
fn folded_line(log: &ChatLog, document: DocumentDigest) -> Result<Option<Step>, ChatError> {
    let file = &log.files.journal;
    if log.unplaced > 0 || log.store.stat(file)?.is_none() {
        return Ok(None);
    }
    let lines = JournalOp::Folded { document }.line("").into_bytes();
    Ok(Some(Step::Append { file: file.clone(), at: AppendAt::End, lines }))
}

/// The step that removes the journal. A journal with changes that could not be applied goes to the trash.
fn journal_end(log: &ChatLog) -> Result<Option<Step>, ChatError> {
    let journal = &log.files.journal;
    if log.store.stat(journal)?.is_none() {
        return Ok(None);
    }
    Ok(Some(match log.unplaced {
        0 => Step::Remove { path: journal.clone() },
        _ => Step::Rename { from: journal.clone(), to: free_name(log)? },
    }))
}

/// An unused name in the trash for the journal of a chat log.
fn free_name(log: &ChatLog) -> Result<FilePath, ChatError> {
    let mark = log.content.digest()?;
    let mut count = 1_u64;
    loop {
        let file = below(&log.files.trash, &format!("journal-{:016x}-{count}.jsonl", mark.sum));
        if log.store.stat(&file)?.is_none() {
            return Ok(file);
        }
        count += 1;
    }
}

/// Removes a journal that has no changes for the document.
pub(crate) fn drop_journal(log: &ChatLog, writer: &dyn Writer) -> Result<(), ChatError> {
    if let Some(step) = journal_end(log)? {
        writer.commit(vec![step], Durability::Synced)?;
    }
    Ok(())
}

/// A document with its index, ready for the last commit.
pub(crate) enum BuiltDocument {
    /// The whole content.
    Whole { bytes: Vec<u8>, index: Option<Vec<u8>> },
    /// A file in the staging directory.
    Staged { file: FilePath, index: Vec<u8> },
}

/// A document that fits into one commit; it must be valid.
pub(crate) fn whole(bytes: Vec<u8>, target: &ChatPaths) -> Result<BuiltDocument, ChatError> {
    let index = survey(&DocumentBytes::held(&target.document, bytes.clone()))?;
    let index = (bytes.len() as u64 >= INDEX_FROM).then(|| index.to_bytes()).transpose()?;
    Ok(BuiltDocument::Whole { bytes, index })
}

/// Whether a document of this length gets an index.
pub(crate) fn wants_index(bytes: u64) -> bool {
    bytes >= INDEX_FROM
}

/// The steps that write an index beside a document, or remove one that is no longer needed.
fn index_steps(
    store: &dyn Store,
    files: &ChatPaths,
    index: Option<Vec<u8>>,
    steps: &mut Vec<Step>,
) -> Result<(), StoreError> {
    match index {
        Some(index) => steps.push(replace(&files.index, Precondition::Anything, index)),
        None => remove_if_there(store, &files.index, steps)?,
    }
    Ok(())
}

/// Builds a new version of a chat log for the files of `target`, without any visible change.
pub(crate) fn build(
    log: &ChatLog,
    plan: &RewritePlan,
    target: &ChatPaths,
    writer: &dyn Writer,
    batch: u64,
) -> Result<BuiltDocument, ChatError> {
    let size = log.content.len().saturating_add(log.overlay.bytes);
    if size <= batch {
        let mut bytes = Vec::new();
        write(log, plan, &mut bytes)?;
        return whole(bytes, target);
    }
    if log.store.stat(&target.staging)?.is_some() {
        writer.commit(vec![Step::Remove { path: target.staging.clone() }], Durability::Buffered)?;
    }
    let file = below(&target.staging, "document.json");
    let batch = usize::try_from(batch).unwrap_or(usize::MAX);
    let buffer = Vec::new();
    let mut pieces = BatchSink { writer, file: file.clone(), batch, buffer, written: 0 };
    write(log, plan, &mut pieces)?;
    pieces.finish()?;
    let missing = || StoreError::Missing { path: file.clone() };
    let content = DocumentBytes::open(&log.store, &file)?.ok_or_else(missing)?;
    let index = survey(&content)?.to_bytes()?;
    Ok(BuiltDocument::Staged { file, index })
}

/// Replaces the document by a rewritten one.
pub(crate) fn put_in_place(
    log: &ChatLog,
    built: BuiltDocument,
    more: Vec<Step>,
    writer: &dyn Writer,
) -> Result<(), ChatError> {
    let (store, files) = (&*log.store, &log.files);
    let mut steps = more;
    match built {
        BuiltDocument::Whole { bytes, index } => {
            let old = log.content.read(0..log.content.len())?;
            let expect = Precondition::Content(Fingerprint::of(&old));
            let mark = DocumentBytes::held(&files.document, bytes.clone()).digest()?;
            steps.extend(folded_line(log, mark)?);
            steps.push(replace(&files.document, expect, bytes));
            steps.extend(journal_end(log)?);
            index_steps(store, files, index, &mut steps)?;
            writer.commit(steps, Durability::Synced)?;
        }
        BuiltDocument::Staged { file, index } => {
            let now = DocumentBytes::open(&log.store, &files.document)?;
            let now = now.map(|now| now.digest()).transpose()?;
            if now != Some(log.content.digest()?) {
                return Err(StoreError::Changed { file: files.document.clone() }.into());
            }
            let missing = || StoreError::Missing { path: file.clone() };
            let mark = DocumentBytes::open(&log.store, &file)?.ok_or_else(missing)?.digest()?;
            steps.extend(folded_line(log, mark)?);
            steps.push(Step::Rename { from: file, to: files.folded.clone() });
            if log.unplaced > 0 {
                steps.extend(journal_end(log)?);
            }
            writer.commit(steps, Durability::Synced)?;
            finish(store, files, Some(index), writer)?;
        }
    }
    Ok(())
}

/// Finishes a fold: removes the files that the folded document replaces, and renames it.
pub(crate) fn finish(
    store: &dyn Store,
    files: &ChatPaths,
    index: Option<Vec<u8>>,
    writer: &dyn Writer,
) -> Result<(), ChatError> {
    let mut steps = Vec::new();
    remove_if_there(store, &files.document, &mut steps)?;
    remove_if_there(store, &files.journal, &mut steps)?;
    if index.is_none() {
        remove_if_there(store, &files.index, &mut steps)?;
    }
    if !steps.is_empty() {
        writer.commit(steps, Durability::Synced)?;
    }
    let (from, to) = (files.folded.clone(), files.document.clone());
    let mut steps = vec![Step::Rename { from, to }];
    steps.extend(index.map(|index| replace(&files.index, Precondition::Anything, index)));
    remove_if_there(store, &files.staging, &mut steps)?;
    writer.commit(steps, Durability::Synced)?;
    Ok(())
}

/// Puts a new chat log at its path, which must be free.
pub(crate) fn put_new(
    store: &dyn Store,
    built: BuiltDocument,
    target: &ChatPaths,
    writer: &dyn Writer,
) -> Result<(), ChatError> {
    writer.commit(new_steps(store, built, target)?, Durability::Synced)?;
    clear_staging(store, target, writer)
}

/// The steps that put a new chat log at its path, which must be free.
pub(crate) fn new_steps(
    store: &dyn Store,
    built: BuiltDocument,
    target: &ChatPaths,
) -> Result<Vec<Step>, ChatError> {
    Ok(match built {
        BuiltDocument::Whole { bytes, index } => {
            let mut steps = vec![replace(&target.document, Precondition::Absent, bytes)];
            index_steps(store, target, index, &mut steps)?;
            steps
        }
        BuiltDocument::Staged { file, index } => vec![
            Step::Rename { from: file, to: target.document.clone() },
            replace(&target.index, Precondition::Anything, index),
        ],
    })
}

/// Removes the remains of a document that was built.
pub(crate) fn clear_staging(
    store: &dyn Store,
    target: &ChatPaths,
    writer: &dyn Writer,
) -> Result<(), ChatError> {
    let mut rest = Vec::new();
    remove_if_there(store, &target.staging, &mut rest)?;
    if !rest.is_empty() {
        writer.commit(rest, Durability::Buffered)?;
    }
    Ok(())
}
