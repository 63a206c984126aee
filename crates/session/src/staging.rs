//! Builds a directory out of sight, over several commits; the last one moves it into place.

use std::sync::Arc;

use everturn_archive::PackProgress;
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{AppendAt, Durability, Step, Store, StoreError, Writer, staging_dir};

/// The most bytes in one commit, unless a single file or line is longer.
pub const BATCH_BYTES: u64 = 32 << 20;

/// The staging directory of a session.
pub fn staging_path(id: &SessionId) -> FilePath {
    staging_dir().join(id.as_name())
}

/// How the content of a file may be split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitMode {
    /// Not at all.
    Whole,
    /// Between lines; the last one may lack a newline.
    Log,
    /// Between lines; a newline is added to the last one if it lacks it.
    Lines,
}

/// A session that is being built. After a crash nothing of it is visible.
pub struct StagingDir<'a> {
    store: &'a Arc<dyn Store>,
    writer: &'a dyn Writer,
    pub(crate) dir: FilePath,
    steps: Vec<Step>,
    size: u64,
    batch: u64,
    state: PackProgress,
    progress: &'a mut dyn FnMut(PackProgress),
}

impl<'a> StagingDir<'a> {
    /// Starts, after clearing the remains of a failed attempt.
    pub fn begin(
        store: &'a Arc<dyn Store>,
        writer: &'a dyn Writer,
        id: &SessionId,
        batch: u64,
        total: u64,
        progress: &'a mut dyn FnMut(PackProgress),
    ) -> Result<StagingDir<'a>, StoreError> {
        let dir = staging_path(id);
        clear_staging(store, writer, &dir)?;
        let state = PackProgress { done: 0, total };
        let (steps, size) = (Vec::new(), 0);
        Ok(StagingDir { store, writer, dir, steps, size, batch, state, progress })
    }

    /// Adds a file.
    pub(crate) fn add_file(&mut self, file: FilePath, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.add_step(bytes.len() as u64, Step::replace(file, bytes))
    }

    fn add_step(&mut self, len: u64, step: Step) -> Result<(), StoreError> {
        if self.size + len > self.batch {
            self.flush()?;
        }
        self.steps.push(step);
        self.size += len;
        self.state.done += len;
        (self.progress)(self.state);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.size = 0;
        self.writer.commit(std::mem::take(&mut self.steps), Durability::Buffered)?;
        Ok(())
    }

    /// Copies the first `len` bytes of a file. If a log does not fit into one commit, an incomplete last line gets a
    /// newline in the copy, because only whole lines are appended.
    pub fn copy(
        &mut self,
        from: &FilePath,
        to: &FilePath,
        len: u64,
        content: SplitMode,
    ) -> Result<(), StoreError> {
        if content == SplitMode::Whole || len <= self.batch {
            let mut bytes = self.read(from, 0..len)?;
            if content == SplitMode::Lines && bytes.last() != Some(&b'\n') {
                bytes.push(b'\n');
            }
            return self.add_file(to.clone(), bytes);
        }
        let mut at = 0;
        while at < len {
            let mut lines = self.read_lines(from, at, len)?;
            let read = lines.len() as u64;
            if lines.last() != Some(&b'\n') {
                lines.push(b'\n');
            }
            let file = to.clone();
            self.add_step(read, Step::Append { file, at: AppendAt::Offset(at), lines })?;
            at += read;
        }
        Ok(())
    }

    /// As many lines of a file as fit into one commit, at least one.
    fn read_lines(&self, from: &FilePath, at: u64, len: u64) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        loop {
            let start = at + bytes.len() as u64;
            let end = len.min(start + self.batch);
            bytes.extend(self.read(from, start..end)?);
            if end == len {
                return Ok(bytes);
            }
            if let Some(newline) = bytes.iter().rposition(|byte| *byte == b'\n') {
                bytes.truncate(newline + 1);
                return Ok(bytes);
            }
        }
    }

    fn read(&self, from: &FilePath, range: std::ops::Range<u64>) -> Result<Vec<u8>, StoreError> {
        let wanted = range.end - range.start;
        let bytes = self.store.read(from, range)?;
        if bytes.len() as u64 != wanted {
            return Err(StoreError::Changed { file: from.clone() });
        }
        Ok(bytes)
    }

    /// Commits the files added so far, so that they can be read.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        if self.steps.is_empty() { Ok(()) } else { self.commit() }
    }

    /// Moves the directory into place, durably. The steps in `last` go into the same commit.
    pub fn finish(mut self, to: FilePath, last: Vec<Step>) -> Result<(), StoreError> {
        self.flush()?;
        let mut steps = last;
        steps.push(Step::Rename { from: self.dir.clone(), to });
        self.writer.commit(steps, Durability::Synced)?;
        Ok(())
    }
}

/// Clears a locked staging directory.
pub(crate) fn clear_staging(
    store: &Arc<dyn Store>,
    writer: &dyn Writer,
    dir: &FilePath,
) -> Result<(), StoreError> {
    if store.stat(dir)?.is_some() {
        writer.commit(vec![Step::Remove { path: dir.clone() }], Durability::Buffered)?;
    }
    Ok(())
}

/// Runs `work`, which builds a session; if it fails, clears the staging directory.
pub fn build_staged<T, E>(
    store: &Arc<dyn Store>,
    writer: &dyn Writer,
    id: &SessionId,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let done = work();
    if done.is_err() {
        // If clearing fails, the next attempt does it; the directory is not visible.
        drop(clear_staging(store, writer, &staging_path(id)));
    }
    done
}
