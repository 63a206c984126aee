//! Finds the commits that cannot be completed as they were written, before anything is changed.

use super::current_state::is_ours;
use super::{Recovery, open_uncached, stat_optional};
use crate::disk::{FileAccess, read_all};
use crate::store::StoreError;
use crate::store::fingerprint::Fingerprint;
use crate::store::record::NewContent;
use crate::store::replay::{ContentHistory, FileHistory, PathEnd};
use crate::store::staging::{intact_source, staged_path};
use everturn_json::names::FilePath;

impl Recovery<'_> {
    pub(super) fn assess(&mut self) {
        for (name, file) in &self.history.files {
            match self.assess_file(name, file) {
                Ok(true) => {}
                Ok(false) => {
                    self.changed.insert(name.clone());
                    self.in_doubt.extend(&file.commits);
                }
                Err(error) => self.note_blocked(Err(error), [name].into_iter(), &file.commits),
            }
        }
        for ending in &self.history.endings {
            let PathEnd::Removed { path, held, commit } = ending else { continue };
            let done = stat_optional(self.disk, path).and_then(|found| match found {
                Some(stat) => self.is_removed(path, stat, held),
                None => Ok(true),
            });
            match done {
                Ok(true) => {}
                Ok(false) => drop(self.in_doubt.insert(*commit)),
                Err(error) => self.note_blocked(Err(error), [path].into_iter(), &[*commit]),
            }
        }
    }

    /// Returns whether a file can get the content that the log has for it. A file that another program has changed
    /// cannot.
    fn assess_file(&self, name: &FilePath, file: &FileHistory) -> Result<bool, StoreError> {
        let ContentHistory::Replaced { before, after, .. } = &file.content else { return Ok(true) };
        let Some(place) = self.history.locate(self.disk, name)? else { return Ok(true) };
        let found = match stat_optional(self.disk, &place)? {
            Some(_) => {
                let file = open_uncached(self.disk, &place, FileAccess::Read)?;
                Some(read_all(&*file).map_err(StoreError::io("read", &place))?)
            }
            None => None,
        };
        if found.as_ref().is_some_and(|found| !is_ours(found, before, after)) {
            return Ok(false);
        }
        if let Some(NewContent::Staged(staged)) = after.last() {
            let print = found.as_deref().map(Fingerprint::of);
            if print != Some(staged.fingerprint)
                && intact_source(self.disk, self.number, *staged)?.is_none()
            {
                let staged = staged_path(self.number, staged.number);
                return Err(StoreError::Lost { path: place, staged });
            }
        }
        Ok(true)
    }
}
