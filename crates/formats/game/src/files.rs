//! Which files a session has, cached from its directory listings.

use std::sync::Arc;

use super::paths::{LogFile, LogKind, SnapshotFile};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError};

/// The log files and snapshots of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct GameFiles {
    pub(crate) turns: Vec<(LogFile, FilePath)>,
    pub(crate) deltas: Vec<(LogFile, FilePath)>,
    pub(crate) snapshots: Vec<(SnapshotFile, FilePath)>,
}

impl GameFiles {
    /// Lists the files of the session at `dir`.
    pub(crate) fn list(store: &Arc<dyn Store>, dir: &FilePath) -> Result<GameFiles, StoreError> {
        let log = |log: LogKind| -> Result<Vec<(LogFile, FilePath)>, StoreError> {
            let place = log.dir(dir);
            let names = list_dir(store, &place)?;
            let mut files: Vec<(LogFile, FilePath)> = names
                .into_iter()
                .filter_map(|path| Some((LogFile::parse(log, path.name()?.as_str())?, path)))
                .collect();
            // Files that are still being written come last.
            files.sort_by_key(|(file, _)| (file.last.is_none(), file.first, file.last));
            Ok(files)
        };
        let mut snapshots: Vec<(SnapshotFile, FilePath)> =
            list_dir(store, &SnapshotFile::dir(dir))?
                .into_iter()
                .filter_map(|path| Some((SnapshotFile::parse(path.name()?.as_str())?, path)))
                .collect();
        snapshots.sort_by_key(|(file, _)| *file);
        Ok(GameFiles { turns: log(LogKind::Turns)?, deltas: log(LogKind::Deltas)?, snapshots })
    }

    pub(crate) fn log(&self, log: LogKind) -> &[(LogFile, FilePath)] {
        match log {
            LogKind::Turns => &self.turns,
            LogKind::Deltas => &self.deltas,
        }
    }

    /// Returns the files that may have lines for these turns, in order.
    pub(crate) fn covering(&self, log: LogKind, first: u64, last: u64) -> Vec<FilePath> {
        let files = self.log(log);
        let may = |file: &LogFile| {
            file.first.is_none_or(|start| start <= last) && file.last.is_none_or(|end| end >= first)
        };
        // The current change log file starts where the last closed one ends.
        let closed = files.iter().filter_map(|(file, _)| file.last).max().unwrap_or(0);
        let skip = |file: &LogFile| file.first.is_none() && last <= closed;
        files
            .iter()
            .filter(|(file, _)| may(file) && !skip(file))
            .map(|(_, path)| path.clone())
            .collect()
    }

    /// Returns the snapshots at or before a turn, newest first.
    pub(crate) fn snapshots_until(
        &self,
        turn: u64,
    ) -> impl Iterator<Item = &(SnapshotFile, FilePath)> {
        let end = self.snapshots.partition_point(|(file, _)| file.turn <= turn);
        self.snapshots.iter().take(end).rev()
    }

    /// Returns the last turn according to the names of closed files.
    pub(crate) fn last_closed(&self, log: LogKind) -> u64 {
        self.log(log).iter().filter_map(|(file, _)| file.last).max().unwrap_or(0)
    }
}

pub(crate) use everturn_session::trash::list_dir;
