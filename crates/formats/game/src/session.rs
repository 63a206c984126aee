//! Sessions opened for reading: [`Session`], and [`LogRows`] for the lines of its logs.

mod rows;

use std::sync::{Arc, Mutex, PoisonError};

use super::changes::{ChangeLine, ChangeRecord};
use super::dialect::{Dialect, GameDialect};
use super::error::GameError;
use super::files::{GameFiles, list_dir};
use super::last_turn::last_turn;
use super::log::{LogItem, RecordLog};
use super::meta::GameMeta;
use super::paths::{DocumentFile, GameStatus, LogFile, LogKind, scene_path};
use super::state::GameState;
use super::turn::TurnRecord;
use everturn_json::checksum::checksum;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SceneId, SessionId};
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};
use everturn_value::tree::{JsonTree, TextSlice, ValueKind};

pub use rows::LogRows;
use rows::SupersededLines;
pub(crate) use rows::{HasTurn, LocatedRecord};

/// A session opened for reading. It never writes, and never waits for a writer.
///
/// ```
/// use std::sync::Arc;
///
/// use everturn_game::{GameWriter, NewGame, Session, TurnInput};
/// use everturn_json::names::SessionId;
/// use everturn_store::{MemoryStore, Store};
///
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
/// let now = "2026-01-01T10:00:00Z".parse()?;
/// let id = SessionId::parse("session-abc123")?;
/// let mut game = GameWriter::create(Arc::clone(&store), &NewGame::new(id.clone()), now)?;
/// game.append(&TurnInput::parse(r#"{"actor": "gm", "narration": "It rains."}"#)?, now)?;
/// let session = Session::open(store, &id)?;
/// let texts: Vec<String> =
///     session.turns(1, 1)?.map(|turn| Ok(turn?.text())).collect::<Result<_, everturn_game::GameError>>()?;
/// assert_eq!((session.turn(), texts), (1, vec!["It rains.".to_owned()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) id: SessionId,
    pub(crate) status: GameStatus,
    pub(crate) dir: FilePath,
    pub(crate) dialect: Dialect,
    /// `None` if there are no usable metadata.
    pub(crate) meta: Option<GameMeta>,
    /// The last turn.
    pub(crate) turn: u64,
    /// The cached directory listings.
    files: Mutex<Option<Arc<GameFiles>>>,
    /// Findings from opening the session.
    pub(crate) findings: Vec<Finding>,
}

/// The contents of the state files.
pub(crate) struct StoredState {
    /// Their turn, if it is known without looking at the changes.
    pub(crate) turn: Option<u64>,
    pub(crate) state: GameState,
    /// A file that was modified since it was written.
    pub(crate) touched: Option<FilePath>,
}

/// Returns all sessions of a store with their status, sorted by ID.
pub fn list(store: &Arc<dyn Store>) -> Result<Vec<(SessionId, GameStatus)>, GameError> {
    let mut sessions = Vec::new();
    for status in GameStatus::ALL {
        for path in list_dir(store, &status.dir())? {
            let id = path.name().and_then(|name| SessionId::parse(name.as_str()).ok());
            sessions.extend(id.map(|id| (id, status)));
        }
    }
    sessions.sort();
    Ok(sessions)
}

/// Returns the status of a session, if it exists.
pub(crate) fn find(
    store: &Arc<dyn Store>,
    id: &SessionId,
) -> Result<Option<GameStatus>, StoreError> {
    for status in GameStatus::ALL {
        let stat = store.stat(&status.session(id))?;
        if stat.is_some_and(|stat| stat.kind == FileKind::Dir) {
            return Ok(Some(status));
        }
    }
    Ok(None)
}

impl Session {
    /// Opens a session, whatever its status.
    pub fn open(store: Arc<dyn Store>, id: &SessionId) -> Result<Session, GameError> {
        let status = find(&store, id)?.ok_or_else(|| GameError::NoSession { id: id.clone() })?;
        Session::open_in(store, id, status, status.session(id))
    }

    /// Opens the session in a directory.
    pub(crate) fn open_in(
        store: Arc<dyn Store>,
        id: &SessionId,
        status: GameStatus,
        dir: FilePath,
    ) -> Result<Session, GameError> {
        let file = DocumentFile::Meta.in_dir(&dir);
        let mut findings = Vec::new();
        let meta = match store.read(&file, 0..u64::MAX) {
            Ok(bytes) => GameMeta::parse(&file, &bytes).map_err(|error| error.reason()),
            Err(StoreError::Missing { .. }) => Err("it is missing".to_owned()),
            Err(error) => return Err(error.into()),
        };
        let meta = meta.map_err(|message| {
            findings.push(Finding::new(&file, FindingCode::BadMetadata, message));
        });
        let mut session = Session {
            store,
            id: id.clone(),
            status,
            dir,
            // Until it is detected, which needs the files of the session.
            dialect: Dialect::Spec,
            meta: meta.ok(),
            turn: 0,
            files: Mutex::new(None),
            findings,
        };
        session.dialect = Dialect::detect(&session)?;
        session.turn = match session.meta.as_ref().and_then(GameMeta::turn) {
            Some(turn) if session.rules().keeps_metadata() => last_turn(&session, turn)?,
            Some(turn) => turn,
            None => session.last_logged_turn()?,
        };
        Ok(session)
    }

    /// Creates the value for a new session.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        id: &SessionId,
        status: GameStatus,
        dir: FilePath,
        dialect: Dialect,
    ) -> Session {
        let (meta, turn, findings) = (None, 0, Vec::new());
        Session {
            store,
            id: id.clone(),
            status,
            dir,
            dialect,
            meta,
            turn,
            files: Mutex::new(None),
            findings,
        }
    }

    /// Returns the session's ID.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the status of the session.
    #[must_use]
    pub fn status(&self) -> GameStatus {
        self.status
    }

    /// Returns the directory of the session, relative to the root.
    #[must_use]
    pub fn dir(&self) -> &FilePath {
        &self.dir
    }

    /// Returns the dialect of the session.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the rules of the session's dialect.
    pub(crate) fn rules(&self) -> &'static dyn GameDialect {
        self.dialect.rules()
    }

    /// Returns the last turn, or 0 before the first one.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Returns the metadata, if they can be read.
    #[must_use]
    pub fn metadata(&self) -> Option<&JsonTree> {
        self.meta.as_ref().map(|meta| &meta.tree)
    }

    /// Returns the findings from opening the session.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the metadata of a session that is to be written: they must be usable and not of a newer version.
    pub(crate) fn writable_meta(&self) -> Result<GameMeta, GameError> {
        let is_required = self.rules().keeps_metadata();
        if let Some(finding) = self.findings.first().filter(|_| is_required) {
            return Err(GameError::damaged(&finding.file, &finding.message));
        }
        let meta = match &self.meta {
            Some(meta) => meta.clone(),
            None => GameMeta::parse(&self.dir, b"{}")?,
        };
        meta.check_version(&self.id)?;
        if is_required && meta.turn().is_none() {
            let file = DocumentFile::Meta.in_dir(&self.dir);
            return Err(GameError::damaged(&file, "it does not record the last turn"));
        }
        Ok(meta)
    }

    /// Returns the highest number in the last turn log file that has any.
    pub(crate) fn last_logged_turn(&self) -> Result<u64, GameError> {
        let files = self.files()?;
        for (_, path) in files.turns.iter().rev() {
            let mut last = None;
            for piece in RecordLog::open(&self.store, path, 0..u64::MAX, TurnRecord::parse)? {
                if let LogItem::Row(turn, _) = piece? {
                    last = last.max(Some(turn.turn));
                }
            }
            if let Some(last) = last {
                return Ok(last);
            }
        }
        let snapshots = files.snapshots.iter().map(|(file, _)| file.turn).max();
        Ok(snapshots.unwrap_or(0))
    }

    /// Returns the files of the session, cached until [`Session::invalidate_files`].
    pub(crate) fn files(&self) -> Result<Arc<GameFiles>, GameError> {
        let mut known = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &*known {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(GameFiles::list(&self.store, &self.dir)?);
        *known = Some(Arc::clone(&files));
        Ok(files)
    }

    /// Returns the changes after a turn, up to and including `last`.
    ///
    /// If all of them are in the current file, no directory is listed: those of a long session have thousands of
    /// entries.
    pub(crate) fn changes_after(
        &self,
        turn: u64,
        last: u64,
    ) -> Result<LogRows<ChangeLine>, GameError> {
        let listed = self.files.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if self.rules().renames_full_logs() && !listed {
            let file = LogFile::current(LogKind::Deltas, turn + 1).path(LogKind::Deltas, &self.dir);
            let wanted = turn + 1..last.saturating_add(1);
            match RecordLog::open(&self.store, &file, wanted.clone(), ChangeLine::parse) {
                Ok(rows) if rows.first_turn().is_some_and(|first| first <= turn + 1) => {
                    let (store, files) = (Arc::clone(&self.store), Vec::new().into_iter());
                    let (rows, parse) =
                        (Some((Arc::new(file), rows)), ChangeLine::parse as fn(&_) -> _);
                    let (dialect, superseded, findings) =
                        (self.dialect, SupersededLines::default(), Vec::new());
                    return Ok(LogRows {
                        store,
                        files,
                        rows,
                        wanted,
                        parse,
                        dialect,
                        superseded,
                        findings,
                    });
                }
                Ok(_) | Err(GameError::Store(StoreError::Missing { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        self.change_lines(turn + 1, last)
    }

    /// Drops the cached listing, because files may have been added or renamed.
    pub(crate) fn invalidate_files(&self) {
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Reads a state file. Returns whether it was modified since it was written, as far as that is known; an unmodified
    /// file needs no validation.
    fn read_state(&self, path: &FilePath, field: &str) -> Result<(JsonTree, bool), GameError> {
        let bytes = self.store.read(path, 0..u64::MAX)?;
        let sum = format!("crc64:{:016x}", checksum(&[&bytes]));
        let text =
            String::from_utf8(bytes).map_err(|_| GameError::damaged(path, "it is not UTF-8"))?;
        let meta = self.meta.as_ref();
        let known = meta.and_then(|meta| meta.text(&["stateFiles", "checksums", field]));
        let untouched = known.as_ref() == Some(&sum);
        if untouched && !text.ends_with('\n') && !text.starts_with('\u{feff}') {
            let end = text.len();
            return Ok((JsonTree::from_trusted(text.into(), 0..end), false));
        }
        let text = text.trim_start_matches('\u{feff}');
        let tree = JsonTree::parse(text).map_err(|bad| GameError::damaged(path, bad))?;
        if tree.kind() != ValueKind::Object {
            return Err(GameError::damaged(path, format!("it is {}, not an object", tree.kind())));
        }
        Ok((tree, known.is_some() && !untouched))
    }

    /// Returns the path of a file that the metadata name, which must be in the session's directory.
    pub(crate) fn named_file(&self, field: &str) -> Option<FilePath> {
        let name = self.meta.as_ref()?.text(&["files", field])?;
        FilePath::parse(&format!("{}/{name}", self.dir.as_str())).ok()
    }

    /// Returns whether a scene has a file.
    pub(crate) fn has_scene_file(&self, id: &str) -> Result<bool, StoreError> {
        match SceneId::parse(id).and_then(|id| scene_path(&self.dir, &id)) {
            Ok(path) => Ok(self.store.stat(&path)?.is_some()),
            Err(_) => Ok(false),
        }
    }

    /// Returns the turn of the state files, if the metadata record it.
    pub(crate) fn noted_states(&self) -> Option<u64> {
        self.meta.as_ref()?.number(&["stateFiles", "turnId"])
    }

    /// Returns whether the metadata name another file for the world or the player than the usual one, and it is none.
    pub(crate) fn names_no_state_file(&self, field: &str) -> Result<bool, StoreError> {
        let usual = match field {
            "worldState" => DocumentFile::World,
            "playerState" => DocumentFile::Player,
            _ => return Ok(false),
        };
        match self.named_file(field).filter(|file| *file != usual.in_dir(&self.dir)) {
            Some(file) => {
                let stat = self.store.stat(&file)?;
                Ok(stat.is_none_or(|stat| stat.kind != FileKind::File))
            }
            None => Ok(false),
        }
    }

    /// Returns the states in the state files, and their turn.
    pub(crate) fn stored_state(&self) -> Result<StoredState, GameError> {
        let own = |document: DocumentFile| document.in_dir(&self.dir);
        let mut touched = None;
        let mut read = |path: FilePath, field: &str| {
            let (tree, is_touched) = self.read_state(&path, field)?;
            if is_touched {
                touched.get_or_insert(path);
            }
            Ok::<_, GameError>(tree)
        };
        let world = self.named_file("worldState").unwrap_or_else(|| own(DocumentFile::World));
        let player = self.named_file("playerState").unwrap_or_else(|| own(DocumentFile::Player));
        let world = read(world, "worldState")?;
        let player = read(player, "playerState")?;
        let scene = match self.named_file("currentScene") {
            Some(file) => read(file, "currentScene")?,
            None => JsonTree::null(),
        };
        let mut npcs = None;
        if self.rules().has_npcs_file() {
            npcs = match read(own(DocumentFile::Npcs), "npcs") {
                Ok(npcs) => Some(npcs),
                Err(GameError::Store(StoreError::Missing { .. })) => None,
                Err(error) => return Err(error),
            };
        }
        // Where states may be behind the log, only the metadata know their turn.
        let turn = if self.rules().defers_states() { self.noted_states() } else { Some(self.turn) };
        let state = GameState { world, player, scene, npcs };
        Ok(StoredState { turn, state, touched })
    }

    /// Returns the lines of a log for these turns, in the order of the files. A missing file is a finding.
    pub(crate) fn rows<R>(
        &self,
        log: LogKind,
        first: u64,
        last: u64,
        parse: fn(&TextSlice) -> Result<R, String>,
    ) -> Result<LogRows<R>, GameError> {
        let findings = self.missing_files(log, first, last)?;
        Ok(LogRows { findings, ..self.present_rows(log, first, last, parse)? })
    }

    /// The same for existing files only.
    fn present_rows<R>(
        &self,
        log: LogKind,
        first: u64,
        last: u64,
        parse: fn(&TextSlice) -> Result<R, String>,
    ) -> Result<LogRows<R>, GameError> {
        let files = self.files()?.covering(log, first, last);
        let store = Arc::clone(&self.store);
        let (wanted, files) = (first..last.saturating_add(1), files.into_iter());
        let (dialect, findings) = (self.dialect, Vec::new());
        let (rows, superseded) = (None, SupersededLines::default());
        Ok(LogRows { store, files, rows, wanted, parse, dialect, superseded, findings })
    }

    /// Returns the changes of a range of turns from existing files only.
    pub(crate) fn present_changes(
        &self,
        first: u64,
        last: u64,
    ) -> Result<LogRows<ChangeLine>, GameError> {
        self.present_rows(LogKind::Deltas, first, last, ChangeLine::parse)
    }

    /// Returns the turns of a range, both ends included. [`LogRows::findings`] collects the findings from reading them.
    pub fn turns(&self, first: u64, last: u64) -> Result<LogRows<TurnRecord>, GameError> {
        self.rows(LogKind::Turns, first, last, TurnRecord::parse)
    }

    /// Returns the changes of a range of turns, both ends included.
    pub fn changes(&self, first: u64, last: u64) -> Result<LogRows<ChangeRecord>, GameError> {
        self.rows(LogKind::Deltas, first, last, ChangeRecord::parse)
    }

    /// The same as lines that can be applied.
    pub(crate) fn change_lines(
        &self,
        first: u64,
        last: u64,
    ) -> Result<LogRows<ChangeLine>, GameError> {
        self.rows(LogKind::Deltas, first, last, ChangeLine::parse)
    }
}
