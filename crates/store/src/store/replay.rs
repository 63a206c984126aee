//! [`LogHistory`]: what a log requires of each name, and which commits require it.
//!
//! Records are not simply redone one after the other: the disk may already show the effects of later records. Instead
//! all of them are folded into one history for each name, and each name is then brought to the end of its history, from
//! whatever point the crash left it at.

use std::collections::{BTreeMap, BTreeSet};

use super::fingerprint::Fingerprint;
use super::record::{LogOp, NewContent, Record, RemovedContent};
use everturn_json::names::FilePath;

/// One change at the end of a file.
#[derive(Debug)]
pub(super) enum TailEdit {
    Cut { at: u64, was: Fingerprint },
    Append { at: u64, bytes: Vec<u8> },
}

/// The changes of the content of one file.
#[derive(Debug)]
pub(super) enum ContentHistory {
    Edited(Vec<TailEdit>),
    Replaced {
        /// The contents before each replacement, where the file existed.
        before: Vec<Fingerprint>,
        /// The contents after each replacement, in order; only the last must exist in the end.
        after: Vec<NewContent>,
        private: bool,
    },
}

/// The history of one file: the changes of its content, and the commits that made them.
#[derive(Debug)]
pub(super) struct FileHistory {
    pub(super) content: ContentHistory,
    /// The indexes of these commits in the log, in order.
    pub(super) commits: Vec<usize>,
}

/// How a name ended.
#[derive(Debug)]
pub(super) enum PathEnd {
    Renamed { from: FilePath, to: FilePath },
    Removed { path: FilePath, held: RemovedContent, commit: usize },
}

impl PathEnd {
    /// Returns the names that end, and the new names of renamed files.
    pub(super) fn names(&self) -> impl Iterator<Item = &FilePath> {
        let (first, second) = match self {
            PathEnd::Renamed { from, to } => (from, Some(to)),
            PathEnd::Removed { path, .. } => (path, None),
        };
        std::iter::once(first).chain(second)
    }

    fn touches(&self, names: &[FilePath]) -> bool {
        self.names().any(|path| names.iter().any(|name| path.is_within(name)))
    }
}

/// The folded contents of a log.
#[derive(Debug, Default)]
pub(super) struct LogHistory {
    /// The content of files, by the name they had when it changed.
    pub(super) files: BTreeMap<FilePath, FileHistory>,
    pub(super) endings: Vec<PathEnd>,
    /// The number of commits.
    pub(super) commits: usize,
}

impl LogHistory {
    pub(super) fn fold(records: Vec<Record>) -> LogHistory {
        let aborted: BTreeSet<u64> = records
            .iter()
            .filter_map(|record| match record {
                Record::Abort(index) => Some(*index),
                _ => None,
            })
            .collect();
        let mut history = LogHistory::default();
        for (index, record) in (0..).zip(records) {
            match record {
                Record::Batch(ops) if !aborted.contains(&index) => {
                    ops.into_iter().for_each(|op| history.add_op(op));
                    history.commits += 1;
                }
                Record::Batch(_) | Record::Abort(_) => {}
                Record::Barrier(names) => history.apply_barrier(&names),
            }
        }
        history
    }

    fn apply_barrier(&mut self, names: &[FilePath]) {
        self.files.retain(|path, _| !names.iter().any(|name| path.is_within(name)));
        self.endings.retain(|ending| !ending.touches(names));
    }

    fn add_op(&mut self, op: LogOp) {
        let commit = self.commits;
        match op {
            LogOp::Cut { file, at, was } => self.edit(file, TailEdit::Cut { at, was }),
            LogOp::Append { file, at, bytes } => self.edit(file, TailEdit::Append { at, bytes }),
            LogOp::Replace { file, was, private, new } => self.replace(file, was, private, new),
            LogOp::Rename { from, to } => self.endings.push(PathEnd::Renamed { from, to }),
            LogOp::Remove { path, held } => {
                self.endings.push(PathEnd::Removed { path, held, commit });
            }
        }
    }

    fn edit(&mut self, file: FilePath, edit: TailEdit) {
        let commit = self.commits;
        let history = self.files.entry(file).or_insert_with(FileHistory::edited);
        if !matches!(history.content, ContentHistory::Edited(_)) {
            // The writer logs a barrier before a name changes in another way.
            *history = FileHistory::edited();
        }
        if let ContentHistory::Edited(edits) = &mut history.content {
            edits.push(edit);
        }
        history.commits.push(commit);
    }

    fn replace(&mut self, file: FilePath, was: Option<Fingerprint>, secret: bool, new: NewContent) {
        let commit = self.commits;
        let history = self.files.entry(file).or_insert_with(FileHistory::replaced);
        if !matches!(history.content, ContentHistory::Replaced { .. }) {
            *history = FileHistory::replaced();
        }
        if let ContentHistory::Replaced { before, after, private } = &mut history.content {
            before.extend(was);
            after.push(new);
            *private |= secret;
        }
        history.commits.push(commit);
    }
}

impl FileHistory {
    fn edited() -> FileHistory {
        FileHistory { content: ContentHistory::Edited(Vec::new()), commits: Vec::new() }
    }

    fn replaced() -> FileHistory {
        let content =
            ContentHistory::Replaced { before: Vec::new(), after: Vec::new(), private: false };
        FileHistory { content, commits: Vec::new() }
    }
}

impl LogHistory {
    /// Returns every name in the log.
    pub(super) fn names(&self) -> impl Iterator<Item = &FilePath> {
        self.files.keys().chain(self.endings.iter().flat_map(PathEnd::names))
    }

    /// Returns whether the log holds changes of names within `scopes`.
    pub(super) fn touches(&self, scopes: &[FilePath]) -> bool {
        self.names().any(|path| scopes.iter().any(|scope| path.is_within(scope)))
    }
}

/// Returns whether `found` is what a power cut can leave of `bytes`: truncated, with holes, or whole.
pub(super) fn is_remnant(found: &[u8], bytes: &[u8]) -> bool {
    found.len() <= bytes.len()
        && found.iter().zip(bytes).all(|(found, byte)| found == byte || *found == 0)
}
