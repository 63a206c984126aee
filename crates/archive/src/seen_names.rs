//! [`SeenNames`]: the names that occurred in an archive.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::error::EntryRefusal;
use everturn_json::names::FilePath;

/// The kind of an accepted entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Dir,
}

/// Names with their kinds. Parent directories of an entry are not stored, so that deep paths cost no more than their
/// own length.
#[derive(Debug, Default)]
pub(super) struct SeenNames {
    names: BTreeMap<FilePath, EntryKind>,
    bytes: u64,
}

impl SeenNames {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The total length of all names.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a name, if it does not conflict with others.
    pub(super) fn add(&mut self, path: &FilePath, kind: EntryKind) -> Result<(), EntryRefusal> {
        match self.names.get(path) {
            Some(known) if *known == kind => return Err(EntryRefusal::Twice),
            Some(_) => return Err(EntryRefusal::FileAndDirectory),
            None => {}
        }
        if self.is_below_a_file(path) || (kind == EntryKind::File && self.is_above(path)) {
            return Err(EntryRefusal::FileAndDirectory);
        }
        self.bytes += path.as_str().len() as u64;
        self.names.insert(path.clone(), kind);
        Ok(())
    }

    fn is_below_a_file(&self, path: &FilePath) -> bool {
        let text = path.as_str();
        let mut above = text.match_indices('/').filter_map(|(end, _)| text.get(..end));
        above.any(|above| self.names.get(above) == Some(&EntryKind::File))
    }

    fn is_above(&self, path: &FilePath) -> bool {
        let inside = format!("{path}/");
        let from = (Bound::Included(inside.as_str()), Bound::Unbounded);
        let mut following = self.names.range::<str, _>(from);
        following.next().is_some_and(|(next, _)| next.as_str().starts_with(&inside))
    }
}
