//! [`HeldCommits`]: commits that are held back, so that the last turn before a session is closed and everything that
//! closing writes are one commit.

use std::cell::{Cell, RefCell};

use jiff::Timestamp;

use super::{GameWriter, TurnOutcome};
use crate::error::GameError;
use crate::turn::TurnInput;
use everturn_store::{AppendAt, CommitReceipt, Durability, Step, Store, StoreError};

/// The steps of commits that are held back, in order. The first one is that of a turn.
#[derive(Default)]
pub(super) struct HeldCommits {
    commits: RefCell<Vec<Vec<Step>>>,
    /// Where the lines of the turn are expected to start.
    offsets: RefCell<Vec<u64>>,
    /// Whether a file of lines ends within one.
    is_torn: Cell<bool>,
}

impl HeldCommits {
    /// Holds a commit back; returns what its receipt is expected to be.
    pub(super) fn hold(
        &self,
        store: &dyn Store,
        steps: Vec<Step>,
    ) -> Result<CommitReceipt, StoreError> {
        let mut appended = Vec::new();
        for step in &steps {
            if let Step::Append { file, .. } = step {
                let end = store.stat(file)?.map_or(0, |stat| stat.len);
                let last = if end > 0 { store.read(file, end - 1..end)? } else { Vec::new() };
                self.is_torn
                    .set(self.is_torn.get() || last.first().is_some_and(|byte| *byte != b'\n'));
                appended.push(end);
            }
        }
        let mut commits = self.commits.borrow_mut();
        if commits.is_empty() {
            self.offsets.borrow_mut().clone_from(&appended);
        }
        commits.push(steps);
        Ok(CommitReceipt { appended, ..CommitReceipt::default() })
    }
}

/// Joins commits to one that leaves the same files; `None` if that is impossible.
fn join(commits: &[Vec<Step>], offsets: &[u64]) -> Option<Vec<Step>> {
    let mut joined: Vec<Step> = Vec::new();
    let mut offsets = offsets.iter();
    for step in commits.iter().flatten() {
        let mut same = joined.iter_mut().filter(|other| other.paths().eq(step.paths()));
        match (step, same.next()) {
            (Step::Append { file, lines, .. }, None) => {
                // The indexes have this offset.
                let at = AppendAt::Offset(*offsets.next()?);
                joined.push(Step::Append { file: file.clone(), at, lines: lines.clone() });
            }
            (Step::Replace { .. }, None) => joined.push(step.clone()),
            (
                Step::Replace { bytes: new, mode: new_mode, .. },
                Some(Step::Replace { bytes, mode, .. }),
            ) => {
                bytes.clone_from(new);
                *mode = *new_mode;
            }
            _ => return None,
        }
    }
    Some(joined)
}

impl GameWriter {
    /// Stores a turn as the last one before the session is closed: if possible, one commit has the turn and everything
    /// that [`GameWriter::close`] would write.
    pub fn append_last(
        &mut self,
        input: &TurnInput,
        now: Timestamp,
    ) -> Result<TurnOutcome, GameError> {
        // In other sessions, closing writes nothing.
        let defers = self.session.rules().defers_states() && self.foreign_base.is_none();
        if !defers || self.indexes().is_err() {
            return self.append(input, now);
        }
        self.held = Some(HeldCommits::default());
        let mut stored = match self.append(input, now) {
            Ok(stored) => stored,
            Err(error) => {
                self.held = None;
                return Err(error);
            }
        };
        if self.held.is_some() && stored.deferred_error.is_none() {
            stored.deferred_error = self.write_all(now).err();
            let receipt = self.commit_held()?;
            stored.findings.extend(receipt.findings);
        } else if self.held.is_some() {
            stored.findings.extend(self.commit_held()?.findings);
            self.is_complete.set(false);
        }
        Ok(stored)
    }

    /// Makes the commits that were held back: as one, or else each by itself. If that of the turn fails, nothing has
    /// happened, and the writer only serves to release the session.
    pub(super) fn commit_held(&mut self) -> Result<CommitReceipt, GameError> {
        let Some(held) = self.held.take() else { return Ok(CommitReceipt::default()) };
        let is_whole = !held.is_torn.get();
        let (commits, offsets) = (held.commits.into_inner(), held.offsets.into_inner());
        if is_whole
            && commits.len() > 1
            && let Some(steps) = join(&commits, &offsets)
            && let Ok(receipt) = self.writer.commit(steps, Durability::Synced)
        {
            self.is_complete.set(true);
            return Ok(receipt);
        }
        let mut commits = commits.into_iter();
        let turn = commits.next().unwrap_or_default();
        let receipt = match self.writer.commit(turn, Durability::Synced) {
            Ok(receipt) => receipt,
            Err(error) => {
                self.is_lost = true;
                return Err(error.into());
            }
        };
        if receipt.appended != offsets {
            // Another program has appended a line meanwhile. Closing the session makes the indexes again.
            self.indexes = None;
            return Ok(receipt);
        }
        // What cannot be stored now is tried again when the session is closed.
        let rest =
            commits.try_for_each(|steps| self.writer.commit(steps, Durability::Synced).map(drop));
        self.is_complete.set(rest.is_ok());
        Ok(receipt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::turns::replace;
    use everturn_json::names::FilePath;

    fn path(text: &str) -> FilePath {
        FilePath::parse(text).unwrap()
    }

    fn append(file: &str) -> Step {
        Step::Append { file: path(file), at: AppendAt::End, lines: b"{}\n".to_vec() }
    }

    #[test]
    fn later_contents_replace_earlier_ones() {
        let turn = vec![append("t"), replace(path("meta"), b"1".to_vec())];
        let rest =
            vec![replace(path("meta"), b"2".to_vec()), replace(path("state"), b"3".to_vec())];
        let joined = join(&[turn, rest], &[7]).unwrap();
        let lines = b"{}\n".to_vec();
        let line = Step::Append { file: path("t"), at: AppendAt::Offset(7), lines };
        let meta = replace(path("meta"), b"2".to_vec());
        assert_eq!(joined, [line, meta, replace(path("state"), b"3".to_vec())]);
    }

    #[test]
    fn renames_and_second_lines_are_not_joined() {
        let away = Step::Rename { from: path("t"), to: path("u") };
        assert_eq!(join(&[vec![append("t"), away], vec![]], &[0]), None);
        assert_eq!(join(&[vec![append("t")], vec![append("t")]], &[0]), None);
        let over = replace(path("t"), Vec::new());
        assert_eq!(join(&[vec![append("t")], vec![over]], &[0]), None);
    }
}
