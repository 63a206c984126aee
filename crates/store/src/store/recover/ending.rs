//! Names that end: removals and renames.

use super::{Recovery, look, open_uncached};
use crate::disk::{Access, Kind, Stat, read_all};
use crate::store::StoreError;
use crate::store::apply::remove_tree;
use crate::store::digest::{contents, is_part};
use crate::store::log::own;
use crate::store::quarantine::ensure_dir;
use crate::store::record::Held;
use crate::store::relocate::{is_copy, relocate};
use crate::store::replay::{Content, Ending};
use everturn_json::names::FilePath;

use super::shown::is_ours;

impl Recovery<'_> {
    /// Whether a removal has to wait until all of its commit can be done.
    pub(super) fn must_wait(&self, ending: &Ending) -> bool {
        matches!(ending, Ending::Removed { commit, .. } if self.waiting.contains(commit))
    }

    pub(super) fn end(&mut self, ending: &Ending) -> Result<(), StoreError> {
        match ending {
            Ending::Removed { path, held, commit } => self.remove(path, held, *commit),
            Ending::Renamed { from, to } => self.rename(from, to),
        }
    }

    fn remove(&mut self, path: &FilePath, held: &Held, commit: usize) -> Result<(), StoreError> {
        self.dirs.extend(path.parent());
        let Some(stat) = look(self.disk, path)? else {
            let in_doubt = self.in_doubt.contains(&commit);
            return if in_doubt { self.bring_back(path, held) } else { Ok(()) };
        };
        if !self.is_removed(path, stat, held)? {
            let message = "made again by another program after it was removed; it was kept";
            self.report(path, None, message.to_owned());
            return self.secure_kept(path);
        }
        if self.in_doubt.contains(&commit) {
            let message = "not removed: another program has changed a file of the same commit";
            self.report(path, None, message.to_owned());
            return Ok(());
        }
        ensure_dir(self.disk, &own(&["tmp"]), &mut Vec::new())?;
        drop(remove_tree(self.disk, &self.temp));
        if self.disk.rename(path, &self.temp).is_ok() {
            drop(remove_tree(self.disk, &self.temp));
            return Ok(());
        }
        // On another mount, or in a lower layer of an overlay file system.
        remove_tree(self.disk, path).map_err(StoreError::io("remove", path))
    }

    /// Puts something that was removed back in its place, if it is still there under its temporary name.
    fn bring_back(&mut self, path: &FilePath, held: &Held) -> Result<(), StoreError> {
        let Held::Files(sums) = held else { return Ok(()) };
        let dir = own(&["tmp"]);
        if sums.is_empty() || look(self.disk, &dir)?.is_none() {
            return Ok(());
        }
        let listing = self.disk.list(&dir).map_err(StoreError::io("list", &dir))?;
        let prefix = self.number.temp_prefix();
        for entry in listing.entries.iter().filter(|entry| entry.name.as_str().starts_with(&prefix))
        {
            let temp = dir.join(&entry.name);
            let Some(stat) = look(self.disk, &temp)? else { continue };
            if contents(self.disk, &temp, stat)? == *sums {
                self.make_parents(path)?;
                relocate(self.disk, &temp, path)?;
                self.touch(path);
                let message = "brought back: another program has changed a file of the same commit";
                self.report(path, None, message.to_owned());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether what stands at `path` is what was removed there, or a part of it.
    pub(super) fn is_removed(
        &self,
        path: &FilePath,
        stat: Stat,
        held: &Held,
    ) -> Result<bool, StoreError> {
        match held {
            Held::Unknown | Held::Inode { number: 0, born: 0 } => return Ok(true),
            Held::Inode { number, born } if (stat.id.1, stat.id.2) == (*number, *born) => {
                return Ok(true);
            }
            Held::Files(sums) if is_part(&contents(self.disk, path, stat)?, sums) => {
                return Ok(true);
            }
            Held::Inode { .. } | Held::Files(_) => {}
        }
        self.is_outdated(path, stat)
    }

    fn rename(&mut self, from: &FilePath, to: &FilePath) -> Result<(), StoreError> {
        self.touch(from);
        self.touch(to);
        let dirs = std::mem::take(&mut self.dirs).into_iter();
        self.dirs = dirs.map(|dir| dir.moved(from, to).unwrap_or(dir)).collect();
        match (look(self.disk, from)?, look(self.disk, to)?) {
            (Some(_), None) => {
                self.make_parents(to)?;
                if relocate(self.disk, from, to)?.is_copied() {
                    remove_tree(self.disk, from).map_err(StoreError::io("remove", from))?;
                }
                Ok(())
            }
            (Some(old), Some(new)) => self.drop_old_name(from, old, to, new),
            (None, None) => {
                self.report(from, None, format!("gone before it could become {to}"));
                Ok(())
            }
            (None, Some(_)) => Ok(()),
        }
    }

    /// Whether a file that was replaced before its name ended shows what it was until then.
    fn is_outdated(&self, path: &FilePath, stat: Stat) -> Result<bool, StoreError> {
        let replaced = self.history.files.get(path).filter(|_| stat.kind == Kind::File);
        let Some(Content::Replaced { before, after, .. }) = replaced.map(|file| &file.content)
        else {
            return Ok(false);
        };
        let file = open_uncached(self.disk, path, Access::Read)?;
        let found = read_all(&*file).map_err(StoreError::io("read", path))?;
        Ok(is_ours(&found, before, after))
    }

    /// Removes the old name of something that has its new one: a power cut has brought it back, or it was
    /// copied and not removed yet.
    fn drop_old_name(
        &self,
        from: &FilePath,
        old: Stat,
        to: &FilePath,
        new: Stat,
    ) -> Result<(), StoreError> {
        let same = match old.kind {
            Kind::File => old.id == new.id || self.is_outdated(from, old)?,
            Kind::Dir | Kind::LinkOutside | Kind::Other => false,
        };
        if same || is_copy(self.disk, from, to)? {
            return remove_tree(self.disk, from).map_err(StoreError::io("remove", from));
        }
        self.secure_kept(from)
    }
}
