//! The names that differ from those of the base.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::super::FileId;
use super::files::OverlayInode;
use everturn_json::names::{FilePath, Name};

/// Where a name leads.
#[derive(Clone)]
pub(super) enum NameTarget {
    /// Nowhere: the name was removed, or lies in a new directory.
    Absent,
    /// To this path of the base, if there is something: a file, or a directory with all that is in it.
    Base(FilePath),
    /// To a new directory, in which nothing of the base shows.
    Dir(FileId),
    /// To a new file.
    File(Arc<OverlayInode>),
}

/// A name that is not listed leads where the nearest listed directory above it leads, or else to the same
/// path of the base. Nothing is listed below a file or a name that was removed.
#[derive(Default)]
pub(super) struct OverlayNames(BTreeMap<FilePath, NameTarget>);

impl OverlayNames {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn changed(&self) -> impl Iterator<Item = &FilePath> {
        self.0.keys()
    }

    /// Where `path` leads.
    pub(super) fn locate(&self, path: &FilePath) -> NameTarget {
        match self.0.get(path) {
            Some(place) => place.clone(),
            None => self.inherited_target(path),
        }
    }

    /// Where `path` would lead if it were not listed itself.
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

    /// Whether `path` or a directory above it is listed.
    pub(super) fn is_touched(&self, path: &FilePath) -> bool {
        !self.0.is_empty()
            && (self.0.contains_key(path) || path.ancestors().any(|dir| self.0.contains_key(&dir)))
    }

    /// The listed names directly in `dir`.
    pub(super) fn children(&self, dir: &FilePath) -> impl Iterator<Item = (Name, NameTarget)> {
        let inside = self.listed_below(dir);
        inside.filter(|(path, _)| path.parent().as_ref() == Some(dir)).filter_map(
            |(path, place)| {
                let name = path.name()?;
                Some((name, place.clone()))
            },
        )
    }

    /// All that is listed below `dir`.
    fn listed_below(&self, dir: &FilePath) -> impl Iterator<Item = (&FilePath, &NameTarget)> {
        // In the order of the paths, all that begins with the name and `/` stands together.
        let start = if dir.is_root() { String::new() } else { format!("{dir}/") };
        let range = self.0.range::<str, _>((Bound::Included(start.as_str()), Bound::Unbounded));
        range.take_while(move |(path, _)| path.as_str().starts_with(&start))
    }

    /// Lets `path` lead to `place`.
    pub(super) fn put(&mut self, path: &FilePath, place: NameTarget) {
        self.0.remove(path);
        // What is back where it was on the base need not be listed.
        let unchanged = match (&place, self.inherited_target(path)) {
            (NameTarget::Base(base), NameTarget::Base(same)) => *base == same,
            _ => false,
        };
        if !unchanged {
            self.0.insert(path.clone(), place);
        }
    }

    /// Moves `from`, with what is listed below it. `covered` says whether something of the base lies
    /// under the old name and must not show.
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

    /// Removes a name, with what is listed below it.
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

    /// The names by which a path of the base shows.
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
