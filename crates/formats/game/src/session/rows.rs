//! The lines of a session's logs, one after the other, each the one that counts.

use std::collections::HashMap;
use std::sync::Arc;

use crate::changes::Change;
use crate::error::GameError;
use crate::form::Form;
use crate::log::{Line, Piece, Rows};
use crate::turn::TurnRecord;
use everturn_json::finding::Finding;
use everturn_json::names::FilePath;
use everturn_store::Store;
use everturn_value::tree::Slice;

/// Something that belongs to a turn.
pub(crate) trait OfTurn {
    fn of_turn(&self) -> u64;

    /// What the program has written in place of this, because it cannot take it back, has the same.
    fn written_again(&self) -> Option<(u64, i64)> {
        None
    }
}

impl OfTurn for TurnRecord {
    fn of_turn(&self) -> u64 {
        self.turn
    }

    fn written_again(&self) -> Option<(u64, i64)> {
        self.time.map(|time| (self.turn, time))
    }
}

impl OfTurn for Change {
    fn of_turn(&self) -> u64 {
        self.turn
    }
}

/// A row, the file that has it, and where it is in there.
pub(crate) type Found<R> = (R, Arc<FilePath>, Line);

/// The lines of a log, one file after the other.
pub struct LogRows<R> {
    pub(super) store: Arc<dyn Store>,
    pub(super) files: std::vec::IntoIter<FilePath>,
    pub(super) rows: Option<(Arc<FilePath>, Rows<R>)>,
    pub(super) wanted: std::ops::Range<u64>,
    pub(super) parse: fn(&Slice) -> Result<R, String>,
    pub(super) form: Form,
    pub(super) superseded: Superseded,
    /// What was noticed so far.
    pub findings: Vec<Finding>,
}

/// Which lines of a file take the place of earlier ones in it: what those have in common, and where the last is.
#[derive(Default)]
pub(super) struct Superseded(HashMap<(u64, i64), Again>);

/// A line that comes again.
#[derive(Clone, Copy)]
struct Again {
    lines: u64,
    line: u64,
    offset: u64,
    length: u64,
    /// Whether it was handed out, in the place of the first.
    told: bool,
}

#[expect(
    private_bounds,
    reason = "only the rows of a session's logs are read, and they are public"
)]
impl<R: OfTurn> LogRows<R> {
    /// The next line with the file that has it.
    pub(crate) fn next_line(&mut self) -> Option<Result<Found<R>, GameError>> {
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
                Some(Ok(Piece::Finding(finding))) => self.findings.push(finding),
                Some(Ok(Piece::Row(row, line))) if self.wanted.contains(&row.of_turn()) => {
                    let file = Arc::clone(file);
                    match self.last_of(row, line, &file).transpose() {
                        Some(Ok((row, line))) => return Some(Ok((row, file, line))),
                        Some(Err(error)) => return Some(Err(error)),
                        None => {}
                    }
                }
                Some(Ok(Piece::Row(..))) => {}
            }
        }
    }

    fn open(&mut self, file: &FilePath) -> Result<(), GameError> {
        let rows = || Rows::open(&self.store, file, self.wanted.clone(), self.parse);
        let mut again: HashMap<(u64, i64), Again> = HashMap::new();
        if self.form == Form::Program {
            for piece in rows()? {
                let Piece::Row(row, line) = piece? else { continue };
                let Some(key) = row.written_again() else { continue };
                let lines = again.get(&key).map_or(0, |again| again.lines) + 1;
                let (offset, length) = (line.offset, line.slice.as_str().len() as u64);
                again.insert(key, Again { lines, line: line.line, offset, length, told: false });
            }
            again.retain(|_, again| again.lines > 1);
        }
        self.rows = Some((Arc::new(file.clone()), rows()?));
        self.superseded = Superseded(again);
        Ok(())
    }

    /// The line that counts, in the place of the first of those that come again; nothing in the place of the others.
    fn last_of(
        &mut self,
        row: R,
        line: Line,
        file: &FilePath,
    ) -> Result<Option<(R, Line)>, GameError> {
        let key = row.written_again();
        let Some(again) = key.and_then(|key| self.superseded.0.get_mut(&key)) else {
            return Ok(Some((row, line)));
        };
        if std::mem::replace(&mut again.told, true) {
            return Ok(None);
        }
        let Again { line: number, offset, length, .. } = *again;
        let bytes = self.store.read(file, offset..offset + length)?;
        let slice = Slice::whole(String::from_utf8_lossy(&bytes).into_owned());
        // It was read before; if somebody has changed it since then, the first line is as good.
        Ok(Some(match (self.parse)(&slice) {
            Ok(last) => (last, Line { slice, line: number, offset }),
            Err(_) => (row, line),
        }))
    }
}

impl<R: OfTurn> Iterator for LogRows<R> {
    type Item = Result<R, GameError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().map(|line| line.map(|(row, _, _)| row))
    }
}
