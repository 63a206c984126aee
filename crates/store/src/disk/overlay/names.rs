//! [`OverlayNames`]: the names that differ from those of the base.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::super::FileId;
use super::files::OverlayInode;
use everturn_json::names::{FilePath, Name};

/// The target of a name.
#[derive(Clone)]
pub(super) enum NameTarget {
    /// None: the name was removed, or lies in a new directory.
    Absent,
    /// This path of the base, if it exists: a file, or a directory with everything in it.
    Base(FilePath),
    /// A new directory, which hides everything of the base.
    Dir(FileId),
    /// A new file.
    File(Arc<OverlayInode>),
}

/// The changed names. A name that is not listed has the target of its nearest listed ancestor, or else the same path of
/// the base. Nothing is listed below a file or a removed name.
#[derive(Default)]
pub(super) struct OverlayNames(BTreeMap<FilePath, NameTarget>);

impl OverlayNames {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn changed(&self) -> impl Iterator<Item = &FilePath> {
        self.0.keys()
    }

    /// Returns the target of `path`.
    pub(super) fn locate(&self, path: &FilePath) -> NameTarget {
        match self.0.get(path) {
            Some(place) => place.clone(),
            None => self.inherited_target(path),
        }
    }

    /// Returns the target that `path` would have if it were not listed itself.
    pub(super) fn inherited_target(&self, path: &FilePath) -> NameTarget {
        if self.0.is_empty() {
            return NameTarget::Base(path.clone());
        }
        let above = path.ancestors().find_map(|dir| self.0.get_key_value(&dir));
        match above {
            None => NameTarget::Base(path.clone()),
            Some((dir, NameTarget::Base(base))) => {
                path.rebased(dir, base).map_or(NameTarget::Absent, NameTarget::Base)
            }
            Some((_, NameTarget::Absent | NameTarget::Dir(_) | NameTarget::File(_))) => {
                NameTarget::Absent
            }
        }
    }

    /// Returns whether `path` or a directory above it is listed.
    pub(super) fn is_touched(&self, path: &FilePath) -> bool {
        !self.0.is_empty()
            && (self.0.contains_key(path) || path.ancestors().any(|dir| self.0.contains_key(&dir)))
    }

    /// Returns the listed names directly in `dir`.
    pub(super) fn children(&self, dir: &FilePath) -> impl Iterator<Item = (Name, NameTarget)> {
        let inside = self.listed_below(dir);
        inside.filter(|(path, _)| path.parent().as_ref() == Some(dir)).filter_map(
            |(path, place)| {
                let name = path.name()?;
                Some((name, place.clone()))
            },
        )
    }

    /// Returns everything listed below `dir`.
    fn listed_below(&self, dir: &FilePath) -> impl Iterator<Item = (&FilePath, &NameTarget)> {
        // Paths are sorted, so those that start with the name and `/` are adjacent.
        let start = if dir.is_root() { String::new() } else { format!("{dir}/") };
        let range = self.0.range::<str, _>((Bound::Included(start.as_str()), Bound::Unbounded));
        range.take_while(move |(path, _)| path.as_str().starts_with(&start))
    }

    /// Sets the target of `path`.
    pub(super) fn put(&mut self, path: &FilePath, place: NameTarget) {
        self.0.remove(path);
        // A name that is back where it was on the base need not be listed.
        let unchanged = match (&place, self.inherited_target(path)) {
            (NameTarget::Base(base), NameTarget::Base(same)) => *base == same,
            _ => false,
        };
        if !unchanged {
            self.0.insert(path.clone(), place);
        }
    }

    /// Moves `from`, with everything listed below it. `covered` is whether the base has something under the old name
    /// that must be hidden.
    pub(super) fn rename(&mut self, from: &FilePath, to: &FilePath, covered: bool) {
        let place = self.locate(from);
        let inside: Vec<FilePath> = self.listed_below(from).map(|(path, _)| path.clone()).collect();
        let mut moved = Vec::with_capacity(inside.len());
        for path in inside {
            if let (Some(place), Some(path)) = (self.0.remove(&path), path.rebased(from, to)) {
                moved.push((path, place));
            }
        }
        self.remove(from, covered);
        self.put(to, place);
        for (path, place) in moved {
            self.put(&path, place);
        }
    }

    /// Removes a name, with everything listed below it.
    pub(super) fn remove(&mut self, path: &FilePath, covered: bool) {
        let inside: Vec<FilePath> = self.listed_below(path).map(|(path, _)| path.clone()).collect();
        for inner in inside {
            self.0.remove(&inner);
        }
        self.0.remove(path);
        if covered {
            self.0.insert(path.clone(), NameTarget::Absent);
        }
    }

    /// Returns the names under which a path of the base is visible.
    pub(super) fn visible_names(&self, base: &FilePath) -> Vec<FilePath> {
        let redirected = self.0.iter().filter_map(|(path, place)| match place {
            NameTarget::Base(from) => base.rebased(from, path),
            _ => None,
        });
        let shows = |path: &FilePath| match self.locate(path) {
            NameTarget::Base(shown) => shown == *base,
            _ => false,
        };
        redirected.chain([base.clone()]).filter(shows).collect()
    }
}
