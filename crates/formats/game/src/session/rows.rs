//! Iterates over the lines of a session's logs, skipping superseded ones: [`LogRows`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::changes::ChangeRecord;
use crate::dialect::{Dialect, IncrementTotals};
use crate::error::GameError;
use crate::log::{LogItem, LogLine, RecordLog};
use crate::turn::TurnRecord;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_store::Store;
use everturn_value::tree::TextSlice;

/// A record that belongs to a turn.
pub(crate) trait HasTurn {
    fn turn_number(&self) -> u64;

    /// Returns a key that a line shares with its replacements, which the upstream program appends as it cannot undo.
    fn rewrite_key(&self) -> Option<(u64, i64)> {
        None
    }

    /// Replaces the amounts of increments by their results.
    fn resolve(&mut self, _totals: &IncrementTotals) {}
}

impl HasTurn for TurnRecord {
    fn turn_number(&self) -> u64 {
        self.turn
    }

    fn rewrite_key(&self) -> Option<(u64, i64)> {
        self.time.map(|time| (self.turn, time))
    }
}

impl HasTurn for ChangeRecord {
    fn turn_number(&self) -> u64 {
        self.turn
    }

    fn resolve(&mut self, totals: &IncrementTotals) {
        totals.resolve(self);
    }
}

/// A row, its file, and its position in the file.
pub(crate) type LocatedRecord<R> = (R, Arc<FilePath>, LogLine);

/// The lines of a log, one file after the other.
pub struct LogRows<R> {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: std::vec::IntoIter<FilePath>,
    pub(super) rows: Option<(Arc<FilePath>, RecordLog<R>)>,
    pub(super) wanted: std::ops::Range<u64>,
    pub(super) parse: fn(&TextSlice) -> Result<R, String>,
    pub(super) dialect: Dialect,
    pub(super) superseded: SupersededLines,
    /// The results of increments that are stored as amounts.
    pub(super) totals: Option<Arc<IncrementTotals>>,
    /// The findings so far.
    pub findings: Vec<Finding>,
}

/// The lines of a file that supersede earlier ones: their common key, and the position of the last.
#[derive(Default)]
pub(super) struct SupersededLines(HashMap<(u64, i64), RepeatedLine>);

/// A line that is repeated.
#[derive(Clone, Copy)]
struct RepeatedLine {
    lines: u64,
    line: u64,
    offset: u64,
    length: u64,
    /// Whether it was returned, in place of the first.
    told: bool,
}

#[expect(
    private_bounds,
    reason = "only the rows of a session's logs are read, and they are public"
)]
impl<R: HasTurn> LogRows<R> {
    /// Returns the next line and its file.
    pub(crate) fn next_line(&mut self) -> Option<Result<LocatedRecord<R>, GameError>> {
        loop {
            let Some((file, rows)) = &mut self.rows else {
                let file = self.files.next()?;
                if let Err(error) = self.open(&file) {
                    return Some(Err(error));
                }
                continue;
            };
            match rows.next() {
                None => self.rows = None,
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(LogItem::Finding(finding))) => self.findings.push(finding),
                Some(Ok(LogItem::Row(row, line))) if self.wanted.contains(&row.turn_number()) => {
                    let file = Arc::clone(file);
                    match self.last_of(row, line, &file).transpose() {
                        Some(Ok((mut row, line))) => {
                            if let Some(totals) = &self.totals {
                                row.resolve(totals);
                            }
                            return Some(Ok((row, file, line)));
                        }
                        Some(Err(error)) => return Some(Err(error)),
                        None => {}
                    }
                }
                Some(Ok(LogItem::Row(..))) => {}
            }
        }
    }

    fn open(&mut self, file: &FilePath) -> Result<(), GameError> {
        let rows = || RecordLog::open(&self.store, file, self.wanted.clone(), self.parse);
        let mut again: HashMap<(u64, i64), RepeatedLine> = HashMap::new();
        if self.dialect.rules().repeats_turns() {
            for piece in rows()? {
                let LogItem::Row(row, line) = piece? else { continue };
                let Some(key) = row.rewrite_key() else { continue };
                let lines = again.get(&key).map_or(0, |again| again.lines) + 1;
                let (offset, length) = (line.offset, line.slice.as_str().len() as u64);
                again.insert(
                    key,
                    RepeatedLine { lines, line: line.line, offset, length, told: false },
                );
            }
            again.retain(|_, again| again.lines > 1);
        }
        self.rows = Some((Arc::new(file.clone()), rows()?));
        self.superseded = SupersededLines(again);
        Ok(())
    }

    /// Returns the effective line in place of the first of its repetitions, and `None` in place of the others.
    fn last_of(
        &mut self,
        row: R,
        line: LogLine,
        file: &FilePath,
    ) -> Result<Option<(R, LogLine)>, GameError> {
        let key = row.rewrite_key();
        let Some(again) = key.and_then(|key| self.superseded.0.get_mut(&key)) else {
            return Ok(Some((row, line)));
        };
        if std::mem::replace(&mut again.told, true) {
            return Ok(None);
        }
        let RepeatedLine { line: number, offset, length, .. } = *again;
        let bytes = self.store.read(file, offset..offset + length)?;
        let slice = TextSlice::from_text(String::from_utf8_lossy(&bytes).into_owned());
        // It was read before; if another program has changed it since then, the first line is as good.
        Ok(Some(match (self.parse)(&slice) {
            Ok(last) => (last, LogLine { slice, line: number, offset }),
            Err(_) => (row, line),
        }))
    }
}

impl<R: HasTurn> Iterator for LogRows<R> {
    type Item = Result<R, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().map(|line| line.map(|(row, _, _)| row))
    }
}
