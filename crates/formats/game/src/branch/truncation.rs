//! Where the files of a session end if it is truncated to an earlier turn.

use crate::changes::ChangeRecord;
use crate::error::GameError;
use crate::log::{LogItem, RecordLog};
use crate::paths::{DocumentFile, LogFile, LogKind, SnapshotFile, join_names};
use crate::session::{HasTurn, Session};
use crate::turn::TurnRecord;
use everturn_json::names::FilePath;
use everturn_store::StoreError;
use everturn_value::tree::{JsonTree, TextSlice};

/// The part of a file that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptPart {
    All,
    /// This many bytes, plus a newline if they do not end with one.
    Start(u64),
    Nothing,
}

/// A log file and the part of it that is kept.
#[derive(Debug, Clone)]
pub(crate) struct LogTruncation {
    pub(crate) log: LogKind,
    pub(crate) path: FilePath,
    pub(crate) left: KeptPart,
    /// The file name that the kept part gets.
    pub(crate) name: LogFile,
}

/// A session truncated to a turn, which may be its last.
#[derive(Debug)]
pub(crate) struct Truncation {
    pub(crate) turn: u64,
    pub(crate) logs: Vec<LogTruncation>,
    /// The last snapshot that is kept.
    pub(crate) snapshot: Option<SnapshotFile>,
}

impl Truncation {
    /// Finds where each file ends. Changes nothing.
    pub(crate) fn find(session: &Session, turn: u64) -> Result<Truncation, GameError> {
        let first = session.first_turn()?;
        if turn < first || turn > session.turn {
            return Err(GameError::NoTurn { turn, first, last: session.turn });
        }
        let mut logs = log_ends(session, LogKind::Turns, turn, TurnRecord::parse)?;
        let lines = logs.iter().any(|end| end.left != KeptPart::Nothing);
        logs.extend(log_ends(session, LogKind::Deltas, turn, ChangeRecord::parse)?);
        let files = session.files()?;
        let snapshot = files.snapshots_until(turn).next().map(|(file, _)| *file);
        if turn > 0 && !lines && snapshot.is_none_or(|file| file.turn != turn) {
            let reason = "no turn or snapshot with its number would remain".to_owned();
            return Err(GameError::NoState { turn, reason });
        }
        Ok(Truncation { turn, logs, snapshot })
    }

    /// Returns the first turn of the current turn log file, which may not exist yet.
    pub(crate) fn current_turns(&self) -> u64 {
        let mut left = self.logs.iter().filter(|end| end.left != KeptPart::Nothing);
        let last = left.rfind(|end| end.log == LogKind::Turns).map(|end| end.name);
        match last {
            Some(LogFile { first: Some(first), last: None }) => first,
            Some(LogFile { last: Some(last), .. }) => last + 1,
            _ => self.turn + 1,
        }
    }

    /// Returns the length of the current turn log file.
    pub(crate) fn current_bytes(&self, session: &Session) -> Result<u64, GameError> {
        let name = LogFile::current(LogKind::Turns, self.current_turns());
        let mut turns = self.logs.iter().filter(|end| end.log == LogKind::Turns);
        let Some(end) = turns.find(|end| end.name == name) else { return Ok(0) };
        Ok(match end.left {
            KeptPart::All => session.store.stat(&end.path)?.map_or(0, |stat| stat.len),
            KeptPart::Start(len) => {
                let last = session.store.read(&end.path, len.saturating_sub(1)..len)?;
                len + u64::from(last != b"\n")
            }
            KeptPart::Nothing => 0,
        })
    }

    /// Returns whether a file in the session's directory that is not a log file is kept.
    pub(crate) fn keeps(&self, session: &Session, path: &FilePath) -> Result<bool, GameError> {
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else { return Ok(true) };
        let snapshots = SnapshotFile::dir(&session.dir);
        if parent == snapshots || parent == join_names(&snapshots, &["archived"]) {
            return Ok(SnapshotFile::parse(name.as_str()).is_none_or(|file| file.turn <= self.turn));
        }
        if parent == join_names(&session.dir, &["scenes"]) && self.turn < session.turn {
            return Ok(scene_start(session, path)?.is_none_or(|start| start <= self.turn));
        }
        Ok(true)
    }
}

/// Returns whether a file is derived from the logs and rewritten.
pub(crate) fn is_derived(session: &Session, path: &FilePath) -> bool {
    let documents =
        [DocumentFile::Meta, DocumentFile::World, DocumentFile::Player, DocumentFile::Npcs];
    documents.iter().any(|document| *path == document.in_dir(&session.dir))
}

/// Returns the first turn of a scene, if its file has it.
fn scene_start(session: &Session, path: &FilePath) -> Result<Option<u64>, GameError> {
    let bytes = session.store.read(path, 0..u64::MAX)?;
    let scene = String::from_utf8(bytes).ok().and_then(|text| JsonTree::parse(text).ok());
    let start = scene.and_then(|scene| scene.text_at(&["time", "turnRange", "0"]));
    Ok(start.and_then(|start| start.parse().ok()))
}

/// Returns where each file of a log ends.
fn log_ends<R: HasTurn>(
    session: &Session,
    log: LogKind,
    turn: u64,
    parse: fn(&TextSlice) -> Result<R, String>,
) -> Result<Vec<LogTruncation>, GameError> {
    let mut ends: Vec<LogTruncation> = Vec::new();
    let mut over = false;
    for (file, path) in session.files()?.log(log) {
        let left = if turn == session.turn || file.last.is_some_and(|last| last <= turn) {
            KeptPart::All
        } else if file.first.is_some_and(|first| first > turn) {
            KeptPart::Nothing
        } else {
            last_byte(session, path, turn, parse)?
        };
        if over && left != KeptPart::Nothing {
            let reason = format!("it has turns up to {turn}, but an earlier file has later turns");
            return Err(GameError::damaged(path, reason));
        }
        over |= left != KeptPart::All;
        let reopened = matches!(left, KeptPart::Start(_)) && session.rules().renames_full_logs();
        let name = match (reopened, file.first) {
            (true, Some(first)) => LogFile::current(log, first),
            _ => *file,
        };
        ends.push(LogTruncation { log, path: path.clone(), left, name });
    }
    Ok(ends)
}

/// Returns where the last line for a turn up to `turn` ends.
fn last_byte<R: HasTurn>(
    session: &Session,
    path: &FilePath,
    turn: u64,
    parse: fn(&TextSlice) -> Result<R, String>,
) -> Result<KeptPart, GameError> {
    let (mut end, mut later) = (None, None);
    for piece in RecordLog::open(&session.store, path, 0..u64::MAX, parse)? {
        let LogItem::Row(row, line) = piece? else { continue };
        match later {
            _ if row.turn_number() > turn => later = Some(row.turn_number()),
            None => end = Some(line.offset + line.slice.as_str().len() as u64),
            Some(later) => {
                let reason = format!(
                    "line {}: turn {} comes after turn {later}, so the log cannot be truncated there",
                    line.line,
                    row.turn_number()
                );
                return Err(GameError::damaged(path, reason));
            }
        }
    }
    Ok(match (end, later) {
        (None, _) => KeptPart::Nothing,
        (Some(_), None) => KeptPart::All,
        (Some(end), Some(_)) => KeptPart::Start(line_end(session, path, end)?),
    })
}

/// Returns the offset after the line terminator at `end`, or `end` if there is none.
fn line_end(session: &Session, path: &FilePath, end: u64) -> Result<u64, StoreError> {
    let next = session.store.read(path, end..end + 2)?;
    Ok(match next.as_slice() {
        [b'\n', ..] => end + 1,
        b"\r\n" => end + 2,
        _ => end,
    })
}
