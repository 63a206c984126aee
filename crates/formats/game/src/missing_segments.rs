//! Detects missing log files.
//!
//! The name of a full log file contains its turns, so the names of the others show which one is missing. Turns without
//! changes leave no lines, and no file if there are enough of them. Whether changes are missing, too, is decided by the
//! counts in the metadata.

use super::error::GameError;
use super::log::{LogItem, RecordLog, first_turn};
use super::paths::{LogFile, LogKind};
use super::session::Session;
use super::turn::TurnRecord;
use super::writer::TURNS_PER_FILE;
use everturn_json::finding::{Finding, FindingCode};

/// Looks for the turns of a session that no log file has.
pub(crate) struct SegmentSearch<'s> {
    session: &'s Session,
}

impl SegmentSearch<'_> {
    pub(crate) fn of(session: &Session) -> SegmentSearch<'_> {
        SegmentSearch { session }
    }

    /// Returns findings for missing log files of these turns, both ends included.
    pub(crate) fn missing_files(
        &self,
        log: LogKind,
        first: u64,
        last: u64,
    ) -> Result<Vec<Finding>, GameError> {
        if self.missing_ranges(log, first, last)?.is_empty() {
            return Ok(Vec::new());
        }
        // A file may have been renamed while the names were read.
        self.session.invalidate_files();
        let mut missing = Vec::new();
        for (from, to) in self.missing_ranges(log, first, last)? {
            let is_missing = match log {
                LogKind::Turns => !self.has_turns(from, to)?,
                LogKind::Deltas => self.had_changes(from)?,
            };
            if is_missing {
                missing.push(self.missing_file(log, from, to));
            }
        }
        Ok(missing)
    }

    /// Fails if a log file is missing: new data would be based on incomplete history.
    pub(crate) fn require_logs(&self) -> Result<(), GameError> {
        // Without metadata there are no counts to compare with, and lost data cannot be replaced.
        if !self.session.rules().keeps_metadata() {
            return Ok(());
        }
        for log in [LogKind::Turns, LogKind::Deltas] {
            if let Some(finding) = self.missing_files(log, 0, self.session.turn)?.first() {
                return Err(GameError::damaged(&finding.file, &finding.message));
            }
        }
        Ok(())
    }

    fn missing_file(&self, log: LogKind, from: u64, to: u64) -> Finding {
        let file = if to == self.session.turn && self.session.rules().renames_full_logs() {
            LogFile::current(log, from)
        } else {
            LogFile::closed(from, to)
        };
        let what = match log {
            LogKind::Turns => "turns",
            LogKind::Deltas => "changes of turns",
        };
        Finding::new(
            &file.path(log, &self.session.dir),
            FindingCode::MissingFile,
            format!("the file with {what} {from} to {to} is missing"),
        )
    }

    /// Returns the turns within `first..=last` that no file covers.
    fn missing_ranges(
        &self,
        log: LogKind,
        first: u64,
        last: u64,
    ) -> Result<Vec<(u64, u64)>, GameError> {
        let files = self.session.files()?;
        if log == LogKind::Deltas && !self.session.rules().logs_every_change() {
            return Ok(Vec::new());
        }
        let mut next = files.snapshots.first().map_or(0, |(file, _)| file.turn) + 1;
        let mut gaps = Vec::new();
        for (file, path) in files.log(log) {
            let start = match file.first {
                Some(start) => start,
                // Only its first line shows where the current change log file starts.
                None => {
                    let start = first_turn(&self.session.store, path)?.unwrap_or(next);
                    let is_short = start.saturating_sub(next) < TURNS_PER_FILE;
                    if is_short && !self.is_since_snapshot(next) { next } else { start }
                }
            };
            if start > next {
                gaps.push((next, start - 1));
            }
            next = file.last.map_or(u64::MAX, |end| next.max(end.saturating_add(1)));
        }
        if next <= self.session.turn {
            gaps.push((next, self.session.turn));
        }
        let clipped = gaps.into_iter().filter(|(from, to)| *from <= last && *to >= first);
        Ok(clipped.collect())
    }

    /// Returns whether a file with another name has some of these turns.
    fn has_turns(&self, from: u64, to: u64) -> Result<bool, GameError> {
        for (_, path) in &self.session.files()?.turns {
            for piece in RecordLog::open(
                &self.session.store,
                path,
                from..to.saturating_add(1),
                TurnRecord::parse,
            )? {
                if let LogItem::Row(turn, _) = piece?
                    && (from..=to).contains(&turn.turn)
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn count_in_metadata(&self, field: &str) -> Option<u64> {
        self.session.meta.as_ref()?.number(&["deltaStats", field])
    }

    /// Returns whether the turn comes after the last snapshot, so that few changes have to be counted.
    fn is_since_snapshot(&self, turn: u64) -> bool {
        self.count_in_metadata("lastSnapshotTurn").is_some_and(|snapshot| turn > snapshot)
    }

    /// Returns whether turns without lines had changes: then the logs have fewer changes than the metadata count.
    fn had_changes(&self, from: u64) -> Result<bool, GameError> {
        let (first, counted) = if self.is_since_snapshot(from) {
            let snapshot = self.count_in_metadata("lastSnapshotTurn").unwrap_or(0);
            (snapshot + 1, self.count_in_metadata("deltasSinceSnapshot"))
        } else {
            (0, self.count_in_metadata("totalDeltas"))
        };
        let Some(counted) = counted.filter(|counted| *counted > 0) else { return Ok(false) };
        let mut found = 0;
        let mut rows = self.session.present_changes(first, u64::MAX - 1)?;
        while let Some(row) = rows.next_line() {
            found += row?.0.deltas() as u64;
            if found >= counted {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
