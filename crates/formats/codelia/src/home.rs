//! [`CodeliaHome`]: the files and the index of a home.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::error::{CodeliaError, IndexError};
use super::index::{IndexRow, MemoryIndex, SessionIndex, SqliteIndex};
use super::log::MessageReader;
use super::paths::{HomePaths, stamp};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::format::error_chain;
use everturn_store::disk::DirListing;
use everturn_store::{Store, StoreError};

/// The home of Codelia in a store: with XDG directories, the state directory.
#[derive(Clone)]
pub struct CodeliaHome {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: HomePaths,
    /// The index to use in place of the database.
    given: Option<Arc<dyn SessionIndex>>,
}

impl CodeliaHome {
    /// The home at the root of a store, with the index in its database.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> CodeliaHome {
        CodeliaHome { store, files: HomePaths::default(), given: None }
    }

    /// The home at the root of a store, with another index.
    #[must_use]
    pub fn with_index(store: Arc<dyn Store>, index: Arc<dyn SessionIndex>) -> CodeliaHome {
        CodeliaHome { store, files: HomePaths::default(), given: Some(index) }
    }

    /// The home in a directory of a store.
    #[must_use]
    pub(super) fn at(store: Arc<dyn Store>, base: FilePath) -> CodeliaHome {
        CodeliaHome { store, files: HomePaths::at(base), given: None }
    }

    /// The index, if it exists. Reading never creates one.
    pub(super) fn index(&self) -> Result<Option<Arc<dyn SessionIndex>>, IndexError> {
        if let Some(given) = &self.given {
            return Ok(Some(Arc::clone(given)));
        }
        let file = self.files.database();
        match self.store.stat(&file) {
            Ok(None) | Err(StoreError::Missing { .. }) => return Ok(None),
            Ok(Some(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(path) = self.store.local_path(&file)? else { return Ok(None) };
        // Without a log, the database is complete, and SQLite need not create or touch the files beside it.
        let index = match self.has_database_log()? {
            false => SqliteIndex::open_immutable(&path)?,
            true => SqliteIndex::open_read_only(&path)?,
        };
        Ok(Some(Arc::new(index)))
    }

    /// Whether changes of the database are in a log beside it.
    fn has_database_log(&self) -> Result<bool, StoreError> {
        let [_, log, _] = self.files.database_files();
        for file in [log, self.files.database_journal()] {
            match self.store.stat(&file) {
                Ok(Some(stat)) if stat.len > 0 => return Ok(true),
                Ok(_) | Err(StoreError::Missing { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Reads from the index; `None` if there is none. A log that appears meanwhile may have changed the database under
    /// a reader that did not look at it, so the read is repeated then.
    pub(super) fn read_index<T>(
        &self,
        read: impl Fn(&dyn SessionIndex) -> Result<T, IndexError>,
    ) -> Result<Option<T>, IndexError> {
        let had_log = self.has_database_log().unwrap_or(true);
        let Some(index) = self.index()? else { return Ok(None) };
        let found = read(&*index);
        if had_log || !self.has_database_log()? {
            return found.map(Some);
        }
        match self.index()? {
            Some(index) => read(&*index).map(Some),
            None => Ok(None),
        }
    }

    /// Whether another process is writing to the index now.
    pub(super) fn has_locked_index(&self) -> bool {
        let file = self.files.database();
        let is_there = self.given.is_none() && matches!(self.store.stat(&file), Ok(Some(_)));
        let path = self.store.local_path(&file).ok().flatten().filter(|_| is_there);
        path.is_some_and(|path| SqliteIndex::is_locked(&path))
    }

    /// The index, created if it does not exist.
    pub(super) fn index_to_write(&self) -> Result<Arc<dyn SessionIndex>, IndexError> {
        if let Some(given) = &self.given {
            return Ok(Arc::clone(given));
        }
        Ok(match self.store.local_path(&self.files.database())? {
            Some(path) => Arc::new(SqliteIndex::open(&path)?),
            // A store without real files has no place for a database.
            None => Arc::new(MemoryIndex::default()),
        })
    }

    /// Sets the creation and change times in the index for a session converted from another one. As with every other
    /// writer, an unusable index is left as it is.
    pub fn set_times(
        &self,
        id: &SessionId,
        created: Option<Timestamp>,
        updated: Option<Timestamp>,
    ) {
        let Ok(index) = self.index_to_write() else { return };
        let dated = index.change(id.as_str(), &mut |row| {
            let mut row = row?;
            if let Some(created) = created {
                row.set_own("created", stamp(created).into());
            }
            if let Some(updated) = updated {
                row.updated_at = stamp(updated);
            }
            Some(row)
        });
        dated.ok();
    }

    /// The index row of a session; an index that cannot be read has none and makes a finding.
    pub(super) fn row(&self, id: &SessionId, findings: &mut Vec<Finding>) -> Option<IndexRow> {
        let read = self.read_index(|index| index.row(id.as_str()));
        read.map(Option::flatten).unwrap_or_else(|error| {
            findings.push(self.unusable(&error));
            None
        })
    }

    /// The finding for an unusable index.
    pub(super) fn unusable(&self, error: &IndexError) -> Finding {
        Finding::new(
            &self.files.database(),
            FindingCode::BadIndex,
            format!("cannot be used; the logs are read instead: {}", error_chain(error)),
        )
    }

    /// Lists a directory; a missing one is empty, and an unreadable one makes a finding.
    pub(super) fn listing(&self, dir: &FilePath, findings: &mut Vec<Finding>) -> DirListing {
        let mut note = |code: FindingCode, message: String| {
            findings.push(Finding::new(dir, code, message));
        };
        match self.store.list(dir) {
            Ok(listing) => {
                for (name, reason) in &listing.refused {
                    note(
                        FindingCode::BadName,
                        format!("contains {name:?}, which is ignored: {reason}"),
                    );
                }
                listing
            }
            Err(StoreError::Missing { .. }) => DirListing::default(),
            Err(error) => {
                note(FindingCode::Unreadable, format!("cannot be read: {}", error_chain(&error)));
                DirListing::default()
            }
        }
    }

    /// The messages of the log of a session.
    pub fn messages(&self, id: &SessionId) -> Result<MessageReader, CodeliaError> {
        MessageReader::open(&self.store, &self.files.log(id)?, 0, 0)
    }

    /// The parent of a branch, from the file beside its log.
    pub(super) fn parent(&self, id: &SessionId) -> Result<Option<String>, CodeliaError> {
        let file = self.files.lineage(id)?;
        let Some(bytes) = everturn_store::read_optional(&self.store, &file)? else {
            return Ok(None);
        };
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| CodeliaError::damaged(&file, error.to_string()))?;
        let parent = value.get("lineage").and_then(|lineage| lineage.get("parent"));
        Ok(parent.and_then(Value::as_str).map(str::to_owned))
    }
}
