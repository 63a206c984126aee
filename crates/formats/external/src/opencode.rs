//! OpenCode: a database, a directory with a file per session, message and part of earlier versions, and the single file
//! that exports a session.
//!
//! A message and its parts are one record, in the form in which the program exports them. In the newer tables of the
//! database, a message is a row.

mod conversation;
mod database;
mod directory;
mod message;
mod storage;

use std::sync::Arc;

use super::fetch::{FileWindow, RecordFetcher};
use super::json_file::{JsonFile, without};
use super::record::EntryDraft;
use super::sqlite::{database_of, is_database, is_sqlite};
use super::survey::{ScannedRecord, Survey, Surveyor};
use super::{Match, ProgramFormat, RepairRules, peek, stem};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::Store;
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;

use conversation::OpenCodeConversation;
use database::{OpenCodeDatabase, OpenCodeRows};
use directory::{DirectoryFetcher, directory, orphaned_parts_session};
use storage::{any_storage_of, document, storage_of, storage_of_lost};

pub(super) struct OpenCode;

fn export(store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
    let mut surveyor = Surveyor::of_file(&place.path);
    let mut talk = OpenCodeConversation::default();
    if let Some(whole) = JsonFile::read(&mut surveyor, store, 0)?
        && let Some((tree, text, at)) = whole.part(&whole.span())
    {
        let info = tree.value_at(&["info"]).unwrap_or_else(JsonTree::null);
        talk.begin(&mut surveyor, &ScannedRecord { tree: &tree, text, at, line: None }, &info);
        whole.each(Some("messages"), |seen| {
            let parts = seen.tree.len_at(&["parts"]).unwrap_or(0);
            surveyor.count_also(parts as u64);
            talk.keep(&mut surveyor, seen);
        });
    }
    Ok(talk.finish(surveyor))
}

impl ProgramFormat for OpenCode {
    const NAME: &'static str = "opencode";
    const DEPTH: usize = 4;
    const SESSION_DIRS: &'static [&'static str] = &["storage"];

    fn enters(&self, dir: &FilePath) -> bool {
        let name = dir.name();
        let name = name.as_ref().map_or("", |name| name.as_str());
        !matches!(
            name,
            "message" | "part" | "session_diff" | "snapshot" | "log" | "bin" | "todo" | "share"
        )
    }

    fn match_path(&self, path: &FilePath) -> Match {
        let name = path.name().map(|name| name.as_str().to_owned()).unwrap_or_default();
        if name == "opencode.db" || (name.starts_with("opencode-") && is_database(path)) {
            return Match::Yes;
        }
        match storage_of(path) {
            Some(_) if path.as_str().ends_with(".json") => Match::Maybe,
            None if path.as_str().ends_with(".json") && path.as_str().split('/').count() <= 2 => {
                Match::Maybe
            }
            _ => Match::No,
        }
    }

    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool {
        if is_database(path) {
            return is_sqlite(&head.bytes);
        }
        let text = head.text();
        let has = |key: &str| text.contains(&format!("\"{key}\""));
        match storage_of(path) {
            Some(_) => stem(path).starts_with("ses_") || (has("projectID") && has("directory")),
            None => {
                let start = text.trim_start_matches(['\u{feff}', '{', ' ', '\n', '\r', '\t']);
                let begins = ["\"info\"", "\"messages\""].iter().any(|key| start.starts_with(key));
                has("info")
                    && text.contains("\"ses_")
                    && (begins || (has("messages") && has("parts")))
            }
        }
    }

    fn sessions_in_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        if is_database(file) {
            return OpenCodeDatabase::open(store, file)?.sessions();
        }
        let mut id = stem(file);
        if storage_of(file).is_none() {
            let text = peek::FileStart::read(store, file)?.text();
            let found = text.split('"').find(|word| word.starts_with("ses_"));
            id = found.map_or(id, str::to_owned);
        }
        Ok(vec![SessionRef { id, path: file.clone() }])
    }

    fn orphaned_sessions(
        &self,
        store: &Arc<dyn Store>,
        there: &[SessionRef],
    ) -> Result<Vec<SessionRef>, SessionError> {
        storage::orphaned_sessions(store, there)
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        if let Some(file) = database_of(&place.path) {
            return OpenCodeDatabase::open(store, &file)?.survey(place);
        }
        let messages = || storage_of_lost(&place.path, "message");
        if let Some(storage) = storage_of(&place.path).or_else(messages) {
            return directory(store, place, &storage);
        }
        match storage_of_lost(&place.path, "part") {
            Some(_) => orphaned_parts_session(store, place),
            None => export(store, place),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        if let Some(file) = database_of(&place.path) {
            return OpenCodeDatabase::open(store, &file)?.project(&place.id);
        }
        if storage_of(&place.path).is_some() {
            let info = document(store, &place.path)?.ok();
            return Ok(info.and_then(|info| text_at(&info, &["directory"])));
        }
        if any_storage_of(&place.path).is_some() {
            return Ok(None);
        }
        let text = peek::FileStart::read(store, &place.path)?.text();
        let rest = text.split_once("\"directory\"").map(|(_, rest)| rest);
        Ok(rest.and_then(|rest| rest.split('"').nth(1)).map(str::to_owned))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        if let Some(file) = files.first().filter(|file| is_database(file)) {
            return Ok(Box::new(OpenCodeRows(OpenCodeDatabase::open(store, file)?)));
        }
        match files.first().and_then(any_storage_of) {
            Some(_) => {
                Ok(Box::new(DirectoryFetcher { store: Arc::clone(store), files: files.to_vec() }))
            }
            None => Ok(Box::new(FileWindow::new(store, files))),
        }
    }

    fn shown(&self, record: JsonTree) -> JsonTree {
        if record.value_at(&["messages"]).is_some() { without(&record, "messages") } else { record }
    }

    fn repair_rules(&self, file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        match database_of(file) {
            Some(_) => Err("it is part of a database, which SQLite repairs"),
            None => Err("its messages are separate documents"),
        }
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        message::id(record)
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        message::drafts(record)
    }
}
