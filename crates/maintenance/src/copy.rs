//! Copies all files of a root to another one, byte for byte: between directories and servers, in both directions.
//!
//! [`CopyPlan::new`] compares the roots and writes nothing. [`CopyPlan::write`] copies what the target lacks, one commit
//! for each session, so that a session is never seen half copied. [`CopyPlan::verify`] compares both roots again. A copy
//! that was interrupted is continued by copying again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::session_files::files_below;
use everturn_store::{
    Durability, FileMode, OWN_DIR, Precondition, Step, Store, StoreError, audit_dir, pins_dir,
    quarantine_dir, read_optional, seals_dir, snapshot, trash_dir,
};

use crate::registry;

/// The most bytes of one commit. A larger session is copied in several.
const COMMIT_BYTES: u64 = 256 << 20;

/// How a database of SQLite starts. Programs write to it outside of commits, so a copy could be torn.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The endings of the files beside a database.
const BESIDE_DATABASE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The bits of permission that a private file lacks.
const OTHERS: u32 = 0o077;

/// Files that are copied together, and the paths to lock for that.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CopyUnit {
    scopes: Vec<FilePath>,
    files: Vec<FilePath>,
}

/// What a copy has to do.
#[derive(Debug, Default)]
pub struct CopyPlan {
    units: Vec<CopyUnit>,
    /// The number of sessions in the source.
    pub sessions: usize,
    /// Files that the target lacks.
    pub missing: BTreeSet<FilePath>,
    /// Files that the target has with the same bytes.
    pub same: BTreeSet<FilePath>,
    /// Files that the target has with other bytes. Nothing is copied while there are any.
    pub different: BTreeSet<FilePath>,
    /// Files that are not copied, because they are databases.
    pub databases: BTreeSet<FilePath>,
}

/// The result of comparing both roots after a copy.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CopyVerdict {
    /// The number of files that are the same.
    pub same: usize,
    /// Files that are missing or different: they have changed in the source or in the target meanwhile.
    pub different: Vec<FilePath>,
}

impl CopyPlan {
    /// Compares two roots.
    pub fn new(from: &Arc<dyn Store>, to: &Arc<dyn Store>) -> Result<CopyPlan, SessionError> {
        let mut plan = CopyPlan::default();
        let mut left: BTreeSet<FilePath> = user_files(from)?.into_iter().collect();
        plan.set_databases_aside(from, &mut left)?;
        for unit in units(from, &mut left, &mut plan.sessions)? {
            plan.compare(from, to, &unit)?;
            plan.units.push(unit);
        }
        Ok(plan)
    }

    fn set_databases_aside(
        &mut self,
        from: &Arc<dyn Store>,
        files: &mut BTreeSet<FilePath>,
    ) -> Result<(), StoreError> {
        for file in files.iter() {
            if from.read(file, 0..SQLITE.len() as u64)? == SQLITE {
                let is_beside = |other: &&FilePath| {
                    let end = other.as_str().strip_prefix(file.as_str());
                    end.is_some_and(|end| end.is_empty() || BESIDE_DATABASE.contains(&end))
                };
                self.databases.extend(files.iter().filter(is_beside).cloned());
            }
        }
        files.retain(|file| !self.databases.contains(file));
        Ok(())
    }

    fn compare(
        &mut self,
        from: &Arc<dyn Store>,
        to: &Arc<dyn Store>,
        unit: &CopyUnit,
    ) -> Result<(), StoreError> {
        for file in &unit.files {
            let group = match to.stat(file)? {
                None => &mut self.missing,
                Some(_) if read_optional(from, file)? == read_optional(to, file)? => &mut self.same,
                Some(_) => &mut self.different,
            };
            group.insert(file.clone());
        }
        Ok(())
    }

    /// Copies the files that the target lacks. `copied` gets the number of files of each commit.
    ///
    /// Nothing is replaced: a file that has appeared in the target meanwhile is an error.
    pub fn write(
        &self,
        from: &Arc<dyn Store>,
        to: &Arc<dyn Store>,
        copied: &mut dyn FnMut(usize),
    ) -> Result<(), StoreError> {
        for unit in &self.units {
            let missing: Vec<&FilePath> =
                unit.files.iter().filter(|file| self.missing.contains(*file)).collect();
            if missing.is_empty() {
                continue;
            }
            // The files of a session are of one moment.
            let source = snapshot(from, &unit.scopes)?;
            let writer = to.lock(&unit.scopes)?;
            let (mut steps, mut bytes) = (Vec::new(), 0);
            for file in missing {
                let Some(step) = copy_step(&source, file)? else { continue };
                steps.push(step.0);
                bytes += step.1;
                if bytes >= COMMIT_BYTES {
                    copied(steps.len());
                    writer.commit(std::mem::take(&mut steps), Durability::Synced)?;
                    bytes = 0;
                }
            }
            copied(steps.len());
            writer.commit(steps, Durability::Synced)?;
            writer.release()?;
        }
        Ok(())
    }

    /// Reads both roots again and compares them.
    pub fn verify(
        &self,
        from: &Arc<dyn Store>,
        to: &Arc<dyn Store>,
    ) -> Result<CopyVerdict, StoreError> {
        let mut verdict = CopyVerdict::default();
        for unit in &self.units {
            let (source, target) = (snapshot(from, &unit.scopes)?, snapshot(to, &unit.scopes)?);
            for file in &unit.files {
                let bytes = read_optional(&source, file)?;
                if bytes.is_some() && bytes == read_optional(&target, file)? {
                    verdict.same += 1;
                } else {
                    verdict.different.push(file.clone());
                }
            }
        }
        Ok(verdict)
    }
}

/// The step that creates a file, and its length. `None` if the source no longer has the file.
fn copy_step(source: &Arc<dyn Store>, file: &FilePath) -> Result<Option<(Step, u64)>, StoreError> {
    let Some(bytes) = read_optional(source, file)? else { return Ok(None) };
    let is_private = source.stat(file)?.is_some_and(|stat| stat.mode & OTHERS == 0);
    let mode = if is_private { FileMode::OwnerOnly } else { FileMode::Default };
    let len = bytes.len() as u64;
    let step = Step::Replace { file: file.clone(), expect: Precondition::Absent, bytes, mode };
    Ok(Some((step, len)))
}

/// The directories of Everturn itself that belong to the sessions.
fn kept_dirs() -> [FilePath; 5] {
    [trash_dir(), quarantine_dir(), seals_dir(), pins_dir(), audit_dir()]
}

/// All files of a root, without logs and locks.
fn user_files(store: &Arc<dyn Store>) -> Result<Vec<FilePath>, StoreError> {
    let mut files = Vec::new();
    for entry in store.list(&FilePath::root())?.entries {
        if entry.name.as_str() != OWN_DIR && !entry.linked {
            files.extend(files_below(store, &FilePath::root().join(&entry.name))?);
        }
    }
    for dir in kept_dirs() {
        files.extend(files_below(store, &dir)?);
    }
    Ok(files)
}

/// Groups files: those of a session belong together; the others are copied by directory.
fn units(
    from: &Arc<dyn Store>,
    left: &mut BTreeSet<FilePath>,
    sessions: &mut usize,
) -> Result<Vec<CopyUnit>, SessionError> {
    let mut units = Vec::new();
    for format in registry::ALL {
        for place in format.locate(from)?.sessions {
            let owned = format.session_files(from, &place)?;
            let is_own = |file: &&FilePath| owned.paths.iter().any(|path| file.is_within(path));
            let files: Vec<FilePath> = left.iter().filter(is_own).cloned().collect();
            files.iter().for_each(|file| {
                left.remove(file);
            });
            *sessions += 1;
            if !files.is_empty() {
                let scopes = lock_scopes(&owned.scopes, &files);
                units.push(CopyUnit { scopes, files });
            }
        }
    }
    let mut others: BTreeMap<FilePath, Vec<FilePath>> = BTreeMap::new();
    for file in std::mem::take(left) {
        let kept = kept_dirs().into_iter().find(|dir| file.is_within(dir));
        others.entry(kept.unwrap_or_else(|| file.clone())).or_default().push(file);
    }
    units.extend(others.into_iter().map(|(scope, files)| CopyUnit { scopes: vec![scope], files }));
    Ok(units)
}

/// The paths to lock for a session: those of its writer, and files of the session that are elsewhere.
fn lock_scopes(scopes: &[FilePath], files: &[FilePath]) -> Vec<FilePath> {
    let is_outside = |file: &&FilePath| !scopes.iter().any(|scope| file.is_within(scope));
    scopes.iter().chain(files.iter().filter(is_outside)).cloned().collect()
}
