//! The logs of a campaign, read forwards and backwards: [`TurnRow`] is a turn, `ChangeRecord` its changes.

use std::sync::Arc;

use super::error::CampaignError;
use everturn_json::finding::Finding;
use everturn_json::jsonl::{JsonlRecord, RecordText};
use everturn_json::names::FilePath;
use everturn_rpg::row::{turn_id, turn_number};
use everturn_session::record_file::{ReadFrom, RecordFile};
use everturn_store::Store;
use everturn_value::delta::Delta;
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, ValueKind};

/// The field of a row or a change in which a repair records what it did.
pub(crate) const OWN: &str = "everturn";

/// The field of a turn, and of its row, that holds its idempotency key.
pub(crate) const KEY: &str = "idempotency_key";

/// A row of the turn log.
#[derive(Debug, Clone)]
pub struct TurnRow {
    /// The number in its `turn_id`.
    pub turn: u64,
    /// The row itself.
    pub row: JsonTree,
    /// Its line number, counted from 1, if the log is read from its start.
    pub line: Option<u64>,
    /// Its offset in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// The cause of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// The whole document before the first recorded change.
    Base,
    Turn,
    Settings,
    Actor,
    /// The document was upgraded to later rules.
    Upgrade,
    Undo,
    /// Undone turns that are back, or another version of a turn.
    Redo,
    /// A difference that a repair found in the state and no other change explains.
    Repaired,
}

impl ChangeKind {
    const ALL: [ChangeKind; 8] = [
        ChangeKind::Base,
        ChangeKind::Turn,
        ChangeKind::Settings,
        ChangeKind::Actor,
        ChangeKind::Upgrade,
        ChangeKind::Undo,
        ChangeKind::Redo,
        ChangeKind::Repaired,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Base => "base",
            ChangeKind::Turn => "turn",
            ChangeKind::Settings => "settings",
            ChangeKind::Actor => "actor",
            ChangeKind::Upgrade => "upgrade",
            ChangeKind::Undo => "undo",
            ChangeKind::Redo => "redo",
            ChangeKind::Repaired => "mended",
        }
    }

    /// Returns whether it has a row in the turn log.
    pub(crate) fn has_row(self) -> bool {
        matches!(self, ChangeKind::Turn | ChangeKind::Undo | ChangeKind::Redo)
    }
}

/// A line of the change log.
#[derive(Debug, Clone)]
pub(crate) struct ChangeRecord {
    /// The last turn at the time of the change: its own, if it is a turn.
    pub(crate) turn: u64,
    /// The number in its `turn_id`, if it has one.
    pub(crate) named: Option<u64>,
    pub(crate) kind: ChangeKind,
    pub(crate) deltas: Vec<Delta>,
    /// Whether a repair has put it in place of a lost one.
    pub(crate) is_lost: bool,
    /// Its offset and length.
    pub(crate) span: (u64, u64),
}

impl ChangeRecord {
    /// Returns the change as a line of its file.
    pub(crate) fn line(turn: u64, kind: ChangeKind, deltas: &[Delta]) -> String {
        let deltas: Vec<String> = deltas.iter().map(Delta::to_line).collect();
        let id = match turn {
            0 => "null".to_owned(),
            _ => format!("\"{}\"", turn_id(turn)),
        };
        let text = format!(
            "{{\"turn\":{turn},\"turn_id\":{id},\"kind\":\"{}\",\"deltas\":[{}]}}",
            kind.as_str(),
            deltas.join(",")
        );
        let end = text.len();
        let mut line =
            JsonTree::from_trusted(text.into(), 0..end).to_text(&JsonStyle::SPACED_ASCII);
        line.push('\n');
        line
    }

    /// Returns whether another record is a copy of the same change.
    pub(crate) fn is_same_change(&self, other: &ChangeRecord) -> bool {
        self.turn == other.turn
            && self.kind == other.kind
            && self.deltas.len() == other.deltas.len()
            && self.deltas.iter().zip(&other.deltas).all(|(a, b)| a.to_line() == b.to_line())
    }

    /// Reverts the change.
    pub(crate) fn revert(
        &self,
        state: &mut JsonTree,
    ) -> Result<(), everturn_value::delta::DeltaError> {
        for delta in self.deltas.iter().rev() {
            delta.inverse()?.apply(state)?;
        }
        Ok(())
    }
}

/// The position of a record in a log.
pub(crate) struct RecordPosition {
    pub(crate) line: Option<u64>,
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// A record of a log.
pub(crate) trait LogRecord: Sized {
    fn parse(tree: JsonTree, place: RecordPosition) -> Result<Self, String>;
}

impl LogRecord for TurnRow {
    fn parse(row: JsonTree, place: RecordPosition) -> Result<TurnRow, String> {
        if row.kind() != ValueKind::Object {
            return Err(format!("a row must be an object, not {}", row.kind()));
        }
        let id = row.string_at(&["turn_id"]).ok_or("it has no turn_id")?;
        let turn = turn_number(&id).ok_or_else(|| format!("{id:?} is not a turn_id"))?;
        let RecordPosition { line, offset, length } = place;
        Ok(TurnRow { turn, row, line, offset, length })
    }
}

impl LogRecord for ChangeRecord {
    fn parse(tree: JsonTree, place: RecordPosition) -> Result<ChangeRecord, String> {
        let turn = tree.value_at(&["turn"]).and_then(|turn| turn.to_line().parse().ok());
        let turn = turn.ok_or("it has no turn")?;
        let name = tree.string_at(&["kind"]).unwrap_or_default();
        let kind = ChangeKind::ALL.into_iter().find(|kind| kind.as_str() == name);
        let kind = kind.ok_or_else(|| format!("unknown kind of change {name:?}"))?;
        let deltas = tree.value_at(&["deltas"]).filter(|deltas| deltas.kind() == ValueKind::Array);
        let deltas = deltas.ok_or("it has no deltas")?.children();
        let deltas: Result<Vec<Delta>, String> =
            deltas.iter().map(|(_, delta)| Delta::parse(&delta.to_line())).collect();
        let named = tree.string_at(&["turn_id"]).and_then(|id| turn_number(&id));
        let is_lost = tree.value_at(&[OWN, "lost"]).is_some();
        let span = (place.offset, place.length);
        Ok(ChangeRecord { turn, named, kind, deltas: deltas?, is_lost, span })
    }
}

/// The records of a log. Anything else becomes a finding.
pub struct RecordLog<R> {
    records: RecordFile,
    record: std::marker::PhantomData<R>,
    /// The findings so far.
    pub findings: Vec<Finding>,
}

#[expect(private_bounds, reason = "only the records of a campaign's logs are read")]
impl<R: LogRecord> RecordLog<R> {
    /// Opens a log. A missing log has no records.
    pub(crate) fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        from: ReadFrom,
    ) -> Result<RecordLog<R>, CampaignError> {
        let records = RecordFile::open(store, file, from)?;
        Ok(RecordLog { records, record: std::marker::PhantomData, findings: Vec::new() })
    }

    fn examine(&mut self, record: JsonlRecord) -> Option<R> {
        let (line, offset, length) = (record.line, record.offset, record.length);
        let parsed = match record.text {
            RecordText::Whole(text) => {
                let end = text.len();
                R::parse(
                    JsonTree::from_trusted(text.into(), 0..end),
                    RecordPosition { line, offset, length },
                )
            }
            RecordText::Large => Err(format!("a record of {length} bytes is too large")),
        };
        match parsed {
            Ok(row) => Some(row),
            Err(reason) => {
                self.records.note_bad_record(line, offset, format!("invalid record: {reason}"));
                None
            }
        }
    }
}

impl<R: LogRecord> Iterator for RecordLog<R> {
    type Item = Result<R, CampaignError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let record = self.records.next();
            self.findings.append(&mut self.records.findings);
            match record? {
                Err(error) => return Some(Err(error.into())),
                Ok(record) => {
                    if let Some(row) = self.examine(record) {
                        return Some(Ok(row));
                    }
                    self.findings.append(&mut self.records.findings);
                }
            }
        }
    }
}
