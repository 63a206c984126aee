//! What the present epoch of the log says about names, so that replaying it is never ambiguous.
//!
//! Replay sees the disk as a crash left it, not as it was when a record was written. It can tell what has
//! happened only if each name has one life in the log: it is appended to, or replaced, any number of
//! times, and then at most renamed or removed once. A batch that would start a second life must first
//! settle the names: flush them, and say so in the log.

use std::collections::HashMap;

use super::Step;
use super::record::Op;
use everturn_json::names::{FilePath, PathSet};

/// In which way a file changes during one life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Appended,
    Replaced,
}

/// The lives of all names since the log was last recycled.
#[derive(Debug, Default)]
pub(super) struct Lives {
    ways: HashMap<FilePath, Way>,
    /// Names that were renamed or removed, and names that others got by that.
    ended: Vec<Vec<FilePath>>,
    /// The same names, to find out quickly that one is not among them.
    ended_names: PathSet,
}

fn overlap(a: &FilePath, b: &FilePath) -> bool {
    a.is_within(b) || b.is_within(a)
}

impl Lives {
    /// The names that must be settled before a batch of `steps` may be logged.
    pub(super) fn clashes(&self, steps: &[Step]) -> Vec<FilePath> {
        let mut names: Vec<FilePath> = Vec::new();
        for step in steps {
            for path in step.paths().filter(|path| self.ended_names.meets(path)) {
                let touched = |group: &&Vec<FilePath>| group.iter().any(|name| overlap(name, path));
                names.extend(self.ended.iter().filter(touched).flatten().cloned());
            }
            match step {
                Step::Append { file, .. } => self.clash(file, Way::Replaced, &mut names),
                Step::Replace { file, .. } => self.clash(file, Way::Appended, &mut names),
                Step::Rename { to, .. } => {
                    names.extend(self.ways.keys().filter(|path| overlap(path, to)).cloned());
                }
                Step::Remove { .. } => {}
            }
        }
        names.sort();
        names.dedup();
        names
    }

    fn clash(&self, file: &FilePath, way: Way, names: &mut Vec<FilePath>) {
        if self.ways.get(file) == Some(&way) {
            names.push(file.clone());
        }
    }

    /// Takes note of a batch that is being logged.
    pub(super) fn note(&mut self, ops: &[Op]) {
        for op in ops {
            match op {
                Op::Cut { .. } => {}
                Op::Append { file, .. } => {
                    self.ways.entry(file.clone()).or_insert(Way::Appended);
                }
                Op::Replace { file, .. } => {
                    self.ways.insert(file.clone(), Way::Replaced);
                }
                Op::Rename { from, to } => self.end(vec![from.clone(), to.clone()]),
                Op::Remove { path, .. } => self.end(vec![path.clone()]),
            }
        }
    }

    fn end(&mut self, names: Vec<FilePath>) {
        self.ended_names.extend(names.iter().cloned());
        self.ended.push(names);
    }

    /// Whether the log says anything about names within `scopes`.
    pub(super) fn any_within(&self, scopes: &[FilePath]) -> bool {
        let inside = |path: &FilePath| scopes.iter().any(|scope| path.is_within(scope));
        self.ways.keys().any(inside) || self.ended.iter().flatten().any(inside)
    }

    /// Forgets names that are safe on the disk, and all below them.
    pub(super) fn settle(&mut self, names: &[FilePath]) {
        let settled = |path: &FilePath| names.iter().any(|name| path.is_within(name));
        self.ways.retain(|path, _| !settled(path));
        self.ended.retain(|group| !group.iter().any(settled));
        self.ended_names.clear();
        self.ended_names.extend(self.ended.iter().flatten().cloned());
    }
}
