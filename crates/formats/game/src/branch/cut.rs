//! Where the files of a session end if it ends with an earlier turn.

use crate::changes::Change;
use crate::error::GameError;
use crate::form::Form;
use crate::log::{Piece, Rows};
use crate::names::{Document, Log, LogFile, SnapshotFile, below};
use crate::session::{OfTurn, Session};
use crate::turn::TurnRecord;
use everturn_json::names::FilePath;
use everturn_store::StoreError;
use everturn_value::tree::{Slice, Tree};

/// What is left of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    All,
    /// So many bytes, and a newline if the last of them is none.
    Start(u64),
    Nothing,
}

/// A file of a log, and what is left of it.
#[derive(Debug, Clone)]
pub(crate) struct LogEnd {
    pub(crate) log: Log,
    pub(crate) path: FilePath,
    pub(crate) left: Left,
    /// The name in its directory that what is left has.
    pub(crate) name: LogFile,
}

/// A session that ends with an earlier turn, or with its last.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) turn: u64,
    pub(crate) logs: Vec<LogEnd>,
    /// The last snapshot that stays.
    pub(crate) snapshot: Option<SnapshotFile>,
}

impl Cut {
    /// Finds out where everything ends; nothing is changed.
    pub(crate) fn find(session: &Session, turn: u64) -> Result<Cut, GameError> {
        let first = session.first_turn()?;
        if turn < first || turn > session.turn {
            return Err(GameError::NoTurn { turn, first, last: session.turn });
        }
        let mut logs = log_ends(session, Log::Turns, turn, TurnRecord::parse)?;
        let lines = logs.iter().any(|end| end.left != Left::Nothing);
        logs.extend(log_ends(session, Log::Deltas, turn, Change::parse)?);
        let files = session.files()?;
        let snapshot = files.snapshots_until(turn).next().map(|(file, _)| *file);
        if turn > 0 && !lines && snapshot.is_none_or(|file| file.turn != turn) {
            let reason = "no turn and no snapshot would be left that tells its number".to_owned();
            return Err(GameError::NoState { turn, reason });
        }
        Ok(Cut { turn, logs, snapshot })
    }

    /// The first turn of the file of turns that is being written, or will be.
    pub(crate) fn current_turns(&self) -> u64 {
        let mut left = self.logs.iter().filter(|end| end.left != Left::Nothing);
        let last = left.rfind(|end| end.log == Log::Turns).map(|end| end.name);
        match last {
            Some(LogFile { first: Some(first), last: None }) => first,
            Some(LogFile { last: Some(last), .. }) => last + 1,
            _ => self.turn + 1,
        }
    }

    /// Whether a file that lies in the session's directory is left, if it is none of a log.
    pub(crate) fn keeps(&self, session: &Session, path: &FilePath) -> Result<bool, GameError> {
        let (Some(parent), Some(name)) = (path.parent(), path.name()) else { return Ok(true) };
        let snapshots = SnapshotFile::dir(&session.dir);
        if parent == snapshots || parent == below(&snapshots, &["archived"]) {
            return Ok(SnapshotFile::parse(name.as_str()).is_none_or(|file| file.turn <= self.turn));
        }
        if parent == below(&session.dir, &["scenes"]) && self.turn < session.turn {
            return Ok(scene_start(session, path)?.is_none_or(|start| start <= self.turn));
        }
        Ok(true)
    }
}

/// Whether a file follows from the logs and is written anew.
pub(crate) fn is_derived(session: &Session, path: &FilePath) -> bool {
    let documents = [Document::Meta, Document::World, Document::Player, Document::Npcs];
    documents.iter().any(|document| *path == document.in_dir(&session.dir))
}

/// The turn with which a scene began, if its file tells.
fn scene_start(session: &Session, path: &FilePath) -> Result<Option<u64>, GameError> {
    let bytes = session.store.read(path, 0..u64::MAX)?;
    let scene = String::from_utf8(bytes).ok().and_then(|text| Tree::parse(text).ok());
    let start = scene.and_then(|scene| scene.text_at(&["time", "turnRange", "0"]));
    Ok(start.and_then(|start| start.parse().ok()))
}

/// Where each file of a log ends.
fn log_ends<R: OfTurn>(
    session: &Session,
    log: Log,
    turn: u64,
    parse: fn(&Slice) -> Result<R, String>,
) -> Result<Vec<LogEnd>, GameError> {
    let mut ends: Vec<LogEnd> = Vec::new();
    let mut over = false;
    for (file, path) in session.files()?.log(log) {
        let left = if turn == session.turn || file.last.is_some_and(|last| last <= turn) {
            Left::All
        } else if file.first.is_some_and(|first| first > turn) {
            Left::Nothing
        } else {
            last_byte(session, path, turn, parse)?
        };
        if over && left != Left::Nothing {
            let reason = format!("it has turns up to {turn}, but a file before it has later ones");
            return Err(GameError::damaged(path, reason));
        }
        over |= left != Left::All;
        let reopened = matches!(left, Left::Start(_)) && session.form == Form::Documented;
        let name = match (reopened, file.first) {
            (true, Some(first)) => LogFile::current(log, first),
            _ => *file,
        };
        ends.push(LogEnd { log, path: path.clone(), left, name });
    }
    Ok(ends)
}

/// Where the last line of a file ends that is about a turn up to `turn`.
fn last_byte<R: OfTurn>(
    session: &Session,
    path: &FilePath,
    turn: u64,
    parse: fn(&Slice) -> Result<R, String>,
) -> Result<Left, GameError> {
    let (mut end, mut later) = (None, None);
    for piece in Rows::open(&session.store, path, 0..u64::MAX, parse)? {
        let Piece::Row(row, line) = piece? else { continue };
        match later {
            _ if row.of_turn() > turn => later = Some(row.of_turn()),
            None => end = Some(line.offset + line.slice.as_str().len() as u64),
            Some(later) => {
                let reason = format!(
                    "line {}: turn {} comes after turn {later}, so that it cannot be cut there",
                    line.line,
                    row.of_turn()
                );
                return Err(GameError::damaged(path, reason));
            }
        }
    }
    Ok(match (end, later) {
        (None, _) => Left::Nothing,
        (Some(_), None) => Left::All,
        (Some(end), Some(_)) => Left::Start(line_end(session, path, end)?),
    })
}

/// The end of the line, if nothing but its end follows.
fn line_end(session: &Session, path: &FilePath, end: u64) -> Result<u64, StoreError> {
    let next = session.store.read(path, end..end + 2)?;
    Ok(match next.as_slice() {
        [b'\n', ..] => end + 1,
        b"\r\n" => end + 2,
        _ => end,
    })
}
