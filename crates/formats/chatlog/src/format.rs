//! Chat logs in the common model: a turn is a message, and the state is that of the tools.

mod checks;
mod editor;
mod keys;
mod reader;

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::branch::fork;
use super::check::{declares_chat_log, is_document, lone_journal};
use super::content::DocumentBytes;
use super::create::NewChat;
use super::derived::update_derived;
use super::error::ChatError;
use super::index::DocumentIndex;
use super::log::ChatLog;
use super::paths::{ChatPaths, chats_dir, document_named, id_of};
use super::repair::{plan_repair, repair, undo_repair};
use super::schema::time;
use super::truncate::close_truncated;
use super::writer::{ChatWriter, export_settings};
use everturn_archive::PackProgress;
use everturn_external as foreign;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::{
    Capabilities, DerivedData, EditableFormat, ExportLog, Feature, RepairMode, SessionEditor,
    SessionError, SessionFormat, SessionReader, error_chain, require_usable_id,
};
use everturn_session::model::{
    Dependencies, ExportRecord, ExportSettings, ForkOptions, ForkOutcome, NewSession,
    SessionListing, SessionRef, SessionStatus, SessionSummary,
};
use everturn_session::repair::RepairReport;
use everturn_session::session_files::SessionFiles;
use everturn_store::disk::FileKind;
use everturn_store::overlay::FileChanges;
use everturn_store::{Store, StoreError};
use everturn_value::tree::JsonTree;

/// The format of chat logs.
#[derive(Debug, Clone, Copy)]
pub struct ChatFormat;

/// The format, for callers that need this one and no other.
pub static FORMAT: &dyn SessionFormat = &ChatFormat;

/// The name of the format on the command line.
pub(super) const NAME: &str = "chatlog";

/// The largest document that is read whole for a list.
const LISTED_WHOLE: u64 = 8 << 20;

/// The number of bytes read of a larger one.
const PEEK_BYTES: u64 = 256 << 10;

/// The session ref of the chat log whose document is at `path`.
pub(super) fn place(path: &FilePath) -> SessionRef {
    SessionRef { id: id_of(path).unwrap_or_default(), path: path.clone() }
}

/// The number of bytes read first to recognise a chat log, which declares its type at its start.
const BEGINNING: u64 = 1 << 10;

/// Whether a document below `chats/` is a session of another program, some of which use such a directory, too. A
/// document that declares a chat log is not, and neither is an unknown one, which may be damaged.
fn is_external_document(store: &Arc<dyn Store>, path: &FilePath) -> bool {
    let says = |length| store.read(path, 0..length).is_ok_and(|bytes| declares_chat_log(&bytes));
    let has_journal = || {
        let files = ChatPaths::of(path).ok();
        files.is_some_and(|files| store.stat(&files.journal).is_ok_and(|stat| stat.is_some()))
    };
    !says(BEGINNING)
        && foreign::is_external_session(store, path).is_ok_and(|is| is)
        && !says(PEEK_BYTES)
        && !has_journal()
}

/// Collects session refs, and findings for unreadable data.
struct ChatFinder<'s> {
    store: &'s Arc<dyn Store>,
    found: SessionListing,
    /// The paths found so far, so that the list is not searched for each name.
    known: HashSet<FilePath>,
}

impl ChatFinder<'_> {
    fn note(&mut self, dir: &FilePath, code: FindingCode, message: String) {
        self.found.findings.push(Finding::new(dir, code, message));
    }

    /// Examines the files of a directory; returns its subdirectories.
    fn dir(&mut self, dir: &FilePath, is_one: impl Fn(&FilePath) -> bool) -> Vec<FilePath> {
        let listing = match self.store.list(dir) {
            Ok(listing) => listing,
            Err(StoreError::Missing { .. }) => return Vec::new(),
            Err(error) => {
                self.note(
                    dir,
                    FindingCode::Unreadable,
                    format!("cannot be read: {}", error_chain(&error)),
                );
                return Vec::new();
            }
        };
        if !dir.is_root() {
            for (name, reason) in listing.refused {
                let message = format!("contains {name:?}, which is ignored: {reason}");
                self.note(dir, FindingCode::BadName, message);
            }
        }
        let mut dirs = Vec::new();
        for entry in listing.entries {
            let path = dir.join(&entry.name);
            match entry.kind {
                FileKind::Dir if !entry.linked => dirs.push(path),
                FileKind::File if is_one(&path) => {
                    let lone = lone_journal(self.store, &path).ok().flatten();
                    let Some(path) = lone.or_else(|| document_named(&path)) else { continue };
                    if self.known.insert(path.clone()) {
                        self.found.sessions.push(place(&path));
                    }
                }
                _ => {}
            }
        }
        dirs
    }
}

impl SessionFormat for ChatFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            checked: Some(self),
            editing: Some(self),
            lifecycle: Some(self),
            derived: Some(self),
            export_log: Some(self),
            keys: Some(self),
            features: &[
                Feature::ContextWindow,
                Feature::SupportTools,
                Feature::Series,
                Feature::Title,
                Feature::MessageDocument,
                Feature::Regeneration,
            ],
            ..Capabilities::default()
        }
    }

    /// Every document below `chats/` that is not of another program, journals there whose documents are gone, and
    /// documents in the root itself that declare a chat log.
    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let mut search =
            ChatFinder { store, found: SessionListing::default(), known: HashSet::new() };
        search.dir(&FilePath::root(), |path| is_document(store, path).is_ok_and(|is| is));
        let mut waiting = vec![chats_dir()];
        while let Some(dir) = waiting.pop() {
            let is_one = |path: &FilePath| match path.as_str().ends_with(".json") {
                true => !is_external_document(store, path),
                false => lone_journal(store, path).is_ok_and(|document| document.is_some()),
            };
            waiting.extend(search.dir(&dir, is_one));
        }
        Ok(search.found)
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(ChatPaths::of(&place.path)?.to_read())
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let mut summary = SessionSummary::new(place, NAME, SessionStatus::Active);
        let head = match peek_header(store, place)? {
            Some(head) => head,
            None => {
                let log = ChatLog::open(store, &place.path)?;
                summary.turns = Some(log.len());
                summary.findings = log.findings().to_vec();
                summary.updated = log.modified();
                log.head()
            }
        };
        let text = |path: &[&str]| head.string_at(path).filter(|text| !text.is_empty());
        let when = |path: &[&str]| text(path).and_then(|text| time(&text));
        if let Some(title) = text(&["metadata", "title"]) {
            summary.title = title;
        }
        summary.created = when(&["metadata", "created"]);
        let modified = || when(&["metadata", "modified"]);
        summary.updated = summary.updated.or_else(modified).or(summary.created);
        summary.parent = text(&["metadata", "lineage", "parent"]);
        if text(&["type"]).as_deref() != Some("chat-log") {
            let message = "does not declare the type \"chat-log\"".to_owned();
            summary.findings.push(Finding::new(&place.path, FindingCode::BadDocument, message));
        }
        Ok(summary)
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        Ok(Box::new(reader::ChatReader { log: ChatLog::open(store, &place.path)? }))
    }

    fn project(&self, _: &Arc<dyn Store>, _: &SessionRef) -> Result<Option<String>, SessionError> {
        Ok(None)
    }

    fn dependencies(
        &self,
        _store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let ChatPaths { document, journal, folded, .. } = ChatPaths::of(&place.path)?;
        Ok(Dependencies::on(vec![document, journal, folded]))
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        let files = ChatPaths::of(&place.path)?;
        let scopes = files.scopes();
        let names = vec![place.id.clone(), place.path.flat_name("").as_str().to_owned()];
        let ChatPaths { document, journal, index, folded, trash, .. } = files;
        Ok(SessionFiles { scopes, paths: vec![document, journal, index, folded, trash], names })
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

impl EditableFormat for ChatFormat {
    fn assigns_ids(&self) -> bool {
        false
    }

    fn create(
        &self,
        store: &Arc<dyn Store>,
        new: &NewSession,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        require_usable_id(&new.id)?;
        let writer = ChatWriter::create(store, &new_log(new), now)?;
        Ok(Box::new(editor::ChatEditor { writer }))
    }

    fn edit(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        Ok(Box::new(editor::ChatEditor { writer: ChatWriter::open(store, &place.path)? }))
    }

    fn fork(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        how: &ForkOptions,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        how.id.as_deref().map_or(Ok(()), require_usable_id)?;
        let made = fork(store, &from.path, how.turn, how.id.as_deref(), now)?;
        Ok(ForkOutcome { session: place(&made.path), turn: made.messages, findings: Vec::new() })
    }

    fn rewind(
        &self,
        store: &Arc<dyn Store>,
        from: &SessionRef,
        turn: u64,
        now: Timestamp,
        _progress: &mut dyn FnMut(PackProgress),
    ) -> Result<ForkOutcome, SessionError> {
        let mut writer = ChatWriter::open(store, &from.path)?;
        let made = writer.rewind(turn, now)?;
        writer.release()?;
        Ok(ForkOutcome { session: place(&made.path), turn, findings: Vec::new() })
    }

    fn repair(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        repairing: RepairMode,
        now: Timestamp,
    ) -> Result<RepairReport, SessionError> {
        Ok(match repairing {
            RepairMode::Plan => plan_repair(store, &place.path)?,
            RepairMode::Apply => repair(store, &place.path, now)?,
            RepairMode::Undo => undo_repair(store, &place.path, now)?,
        })
    }
}

impl DerivedData for ChatFormat {
    fn update_derived(
        &self,
        store: &Arc<dyn Store>,
        root: &FilePath,
        changes: &mut FileChanges,
    ) -> Result<(), SessionError> {
        Ok(update_derived(store, root, changes)?)
    }
}

impl ExportLog for ChatFormat {
    fn export_settings(&self, metadata: &JsonTree) -> ExportSettings {
        export_settings(metadata)
    }

    fn record_export(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        exported: &ExportRecord,
        now: Timestamp,
    ) -> Result<(), SessionError> {
        let mut writer = ChatWriter::open(store, &place.path)?;
        writer.note_export(exported, now)?;
        Ok(writer.finish()?)
    }
}

/// The header at the start of a large document without an index, so that one huge file does not slow down a list.
fn peek_header(store: &Arc<dyn Store>, place: &SessionRef) -> Result<Option<JsonTree>, ChatError> {
    let files = ChatPaths::of(&place.path)?;
    let Some(content) = DocumentBytes::open(store, &files.document)? else { return Ok(None) };
    if content.len() <= LISTED_WHOLE || store.stat(&files.folded)?.is_some() {
        return Ok(None);
    }
    if DocumentIndex::open(store, &files.index, content.digest()?)?.is_some() {
        return Ok(None);
    }
    let start = close_truncated(&content.read(0..PEEK_BYTES)?).unwrap_or_default();
    let text = String::from_utf8(start).unwrap_or_default();
    Ok(JsonTree::parse(text.trim_start_matches('\u{feff}').to_owned()).ok())
}

/// Parses the input for a new chat log: parts of it in its own form, or `title` and `series` at the top.
fn new_log(new: &NewSession) -> NewChat {
    let text = |key: &str| new.fields.string_at(&[key]);
    let short = ["id", "sessionId", "title", "series"];
    let members = new.fields.children().into_iter();
    let members = members.filter(|(key, _)| !short.contains(&key.as_str()));
    NewChat {
        id: new.id.clone(),
        title: text("title"),
        series: text("series"),
        protagonist: new.name.clone(),
        settings: new.config.clone(),
        fields: JsonTree::from_members(members),
    }
}
