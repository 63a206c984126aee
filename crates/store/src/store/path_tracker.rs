//! [`PathTracker`]: how the current epoch of the log uses names, so that replay is never ambiguous.
//!
//! Replay sees the disk as a crash left it, not as it was when a record was written. It can tell what has happened only
//! if the log uses each name in one way: it is appended to, or replaced, any number of times, and then at most renamed
//! or removed once. A batch that would use a name in another way must first write a barrier: flush the name, and log
//! that.

use std::collections::HashMap;

use super::Step;
use super::record::LogOp;
use everturn_json::names::{FilePath, PathSet};

/// How a file changes in the log, until a barrier for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathUse {
    Appended,
    Replaced,
}

/// The uses of all names since the log was last recycled.
#[derive(Debug, Default)]
pub(super) struct PathTracker {
    uses: HashMap<FilePath, PathUse>,
    /// Names that were renamed or removed, and the new names of renamed files.
    retired: Vec<Vec<FilePath>>,
    /// The same names, for a quick negative lookup.
    retired_names: PathSet,
}

fn paths_overlap(a: &FilePath, b: &FilePath) -> bool {
    a.is_within(b) || b.is_within(a)
}

impl PathTracker {
    /// Returns the names that need a barrier before a batch of `steps` may be logged.
    pub(super) fn find_conflicts(&self, steps: &[Step]) -> Vec<FilePath> {
        let mut names: Vec<FilePath> = Vec::new();
        for step in steps {
            for path in step.paths().filter(|path| self.retired_names.overlaps(path)) {
                let touched =
                    |group: &&Vec<FilePath>| group.iter().any(|name| paths_overlap(name, path));
                names.extend(self.retired.iter().filter(touched).flatten().cloned());
            }
            match step {
                Step::Append { file, .. } => {
                    self.add_conflicts(file, PathUse::Replaced, &mut names);
                }
                Step::Replace { file, .. } => {
                    self.add_conflicts(file, PathUse::Appended, &mut names);
                }
                Step::Rename { to, .. } => {
                    names.extend(self.uses.keys().filter(|path| paths_overlap(path, to)).cloned());
                }
                Step::Remove { .. } => {}
            }
        }
        names.sort();
        names.dedup();
        names
    }

    fn add_conflicts(&self, file: &FilePath, way: PathUse, names: &mut Vec<FilePath>) {
        if self.uses.get(file) == Some(&way) {
            names.push(file.clone());
        }
    }

    /// Records a batch that is being logged.
    pub(super) fn record_ops(&mut self, ops: &[LogOp]) {
        for op in ops {
            match op {
                LogOp::Cut { .. } => {}
                LogOp::Append { file, .. } => {
                    self.uses.entry(file.clone()).or_insert(PathUse::Appended);
                }
                LogOp::Replace { file, .. } => {
                    self.uses.insert(file.clone(), PathUse::Replaced);
                }
                LogOp::Rename { from, to } => self.retire(vec![from.clone(), to.clone()]),
                LogOp::Remove { path, .. } => self.retire(vec![path.clone()]),
            }
        }
    }

    fn retire(&mut self, names: Vec<FilePath>) {
        self.retired_names.extend(names.iter().cloned());
        self.retired.push(names);
    }

    /// Returns whether the log holds changes of names within `scopes`.
    pub(super) fn has_uses_within(&self, scopes: &[FilePath]) -> bool {
        let inside = |path: &FilePath| scopes.iter().any(|scope| path.is_within(scope));
        self.uses.keys().any(inside) || self.retired.iter().flatten().any(inside)
    }

    /// Returns `scopes` together with the other names of files that were renamed into a scope or out of it: one barrier
    /// must cover both names of a file.
    pub(super) fn with_renames(&self, scopes: &[FilePath]) -> Vec<FilePath> {
        let inside = |path: &FilePath| scopes.iter().any(|scope| path.is_within(scope));
        let across = self.retired.iter().filter(|group| group.iter().any(inside)).flatten();
        let outside = across.filter(|path| !inside(path));
        scopes.iter().chain(outside).cloned().collect()
    }

    /// Drops names that are safe on the disk, and all names below them.
    pub(super) fn apply_barrier(&mut self, names: &[FilePath]) {
        let settled = |path: &FilePath| names.iter().any(|name| path.is_within(name));
        self.uses.retain(|path, _| !settled(path));
        self.retired.retain(|group| !group.iter().any(settled));
        self.retired_names.clear();
        self.retired_names.extend(self.retired.iter().flatten().cloned());
    }
}
