//! goose: JSONL files of earlier versions, a database of later ones, and the document that exports a session.

mod database;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::blocks::{any_time_at, block_text, content_text, count_at};
use super::fetch::{FileWindow, RecordFetcher};
use super::json_file::{JsonFile, without};
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent, RecordInfo, RecordSpan};
use super::sqlite::{database_of, is_database, is_sqlite};
use super::survey::{ScannedRecord, Survey, Surveyor, title};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::Store;
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

use database::GooseDatabase;

pub(super) struct Goose;

/// The name of a session without an id.
const NAMELESS: &str = "no-id";

/// Whether a path names a document, as the program exports one.
fn is_export(path: &FilePath) -> bool {
    path.as_str().ends_with(".json")
}

/// The text of the first member with a name, in the start of a document.
fn member_text(text: &str, key: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"{key}\""))?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The entry of one block of a message.
fn block(role: &str, block: &JsonTree) -> EntryDraft {
    let id = || text_at(block, &["id"]);
    let kind = text_at(block, &["type"]).unwrap_or_default();
    match kind.as_str() {
        "toolRequest" | "frontendToolRequest" => {
            let call =
                block.value_at(&["toolCall", "value"]).or_else(|| block.value_at(&["toolCall"]));
            let call = call.unwrap_or_else(JsonTree::null);
            let name = text_at(&call, &["name"]).unwrap_or_else(|| "tool".to_owned());
            let arguments = call.text_at(&["arguments"]).unwrap_or_default();
            EntryDraft::called("assistant", &name, &arguments, id())
        }
        "toolResponse" => {
            let result = block.value_at(&["toolResult"]).unwrap_or_else(JsonTree::null);
            let value = result
                .value_at(&["value"])
                .or_else(|| result.value_at(&["error"]))
                .unwrap_or(result);
            let value = value.value_at(&["content"]).unwrap_or(value);
            EntryDraft::answered("tool", content_text(&value), id())
        }
        "thinking" => EntryDraft::new(EntryKind::thinking(), "assistant", block_text(block)),
        "redactedThinking" => EntryDraft::new(EntryKind::thinking(), "assistant", "[redacted]"),
        "toolConfirmationRequest" | "actionRequired" => {
            let name = text_at(block, &["toolName"]).unwrap_or_default();
            EntryDraft::new(EntryKind::Event, "system", format!("asked for permission {name}"))
        }
        "systemNotification" => {
            let text = text_at(block, &["msg"]).unwrap_or_else(|| block_text(block));
            EntryDraft::new(EntryKind::Event, "system", text)
        }
        _ => match role {
            "user" => EntryDraft::new(EntryKind::User, "user", block_text(block)),
            "assistant" => EntryDraft::new(EntryKind::Assistant, "assistant", block_text(block)),
            other => EntryDraft::new(EntryKind::System, other, block_text(block)),
        },
    }
}

fn is_message(record: &JsonTree) -> bool {
    record.value_at(&["role"]).is_some()
}

/// Parses a time, which the database writes as `2026-01-01 10:00:00`, in UTC.
fn time(record: &JsonTree, key: &str) -> Option<Timestamp> {
    let written = || text_at(record, &[key])?.trim().replace(' ', "T").parse::<DateTime>().ok();
    any_time_at(record, &[key])
        .or_else(|| Some(written()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

fn record_info(record: &JsonTree) -> RecordInfo {
    let keys = ["created", "created_timestamp", "timestamp", "created_at"];
    let time = keys.iter().find_map(|key| time(record, key));
    RecordInfo { time, id: Goose.id(record), ..RecordInfo::from_drafts(Goose.drafts(record)) }
}

fn session_info(record: &JsonTree) -> SessionInfo {
    SessionInfo { name: names(record), parent: None, is_helper: false }
}

fn names(record: &JsonTree) -> Option<String> {
    let is_header = !is_message(record);
    let name = ["name", "description"]
        .iter()
        .find_map(|key| text_at(record, &[key]).filter(|text| !text.is_empty()));
    name.filter(|_| is_header).and_then(|name| title(&name))
}

/// The usage that a session records about itself.
fn usage(header: &JsonTree) -> Option<SessionUsage> {
    let count = |key: &str| {
        let whole = count_at(header, &[&format!("accumulated_{key}")]);
        if whole > 0 { whole } else { count_at(header, &[key]) }
    };
    let model =
        header.value_at(&["model_config"]).and_then(|model| text_at(&model, &["model_name"]));
    let spent = TokenUsage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        ..TokenUsage::default()
    };
    let mut usage = SessionUsage::default();
    usage.add_usage(&model.unwrap_or_else(|| "unknown".to_owned()), &spent, None);
    (spent.total_tokens() > 0).then_some(usage)
}

/// A session while it is being read.
#[derive(Default)]
struct GooseConversation {
    tip: Option<u32>,
    named: Option<String>,
    usage: Option<SessionUsage>,
}

impl GooseConversation {
    fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let look = record_info(seen.tree);
        if !is_message(seen.tree) {
            let number = surveyor.add(seen, &look, Parent::Root);
            if let Some(node) = surveyor.node(number) {
                node.placement = Placement::Aside;
            }
            let updated = time(seen.tree, "updated_at");
            surveyor.survey.updated = surveyor.survey.updated.max(updated);
            self.named = names(seen.tree).or(self.named.take());
            self.usage = usage(seen.tree).or(self.usage.take());
            return;
        }
        let parent = self.tip.map_or(Parent::Root, Parent::Number);
        self.tip = Some(surveyor.add(seen, &look, parent));
    }

    fn finish(self, mut surveyor: Surveyor) -> Survey {
        surveyor.survey.usage = self.usage;
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, self.tip);
        survey.title = self.named.or(survey.title);
        survey
    }
}

/// Reads the rows of a database as records.
struct DatabaseFetcher(GooseDatabase);

impl RecordFetcher for DatabaseFetcher {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        match at.length {
            0 => self.0.session(at.offset),
            _ => self.0.message(at.offset),
        }
    }
}

impl Goose {
    fn rows(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        file: &FilePath,
    ) -> Result<Survey, SessionError> {
        let database = GooseDatabase::open(store, file)?;
        let mut surveyor = Surveyor::of_file(file);
        let mut talk = GooseConversation::default();
        let finding = |code, message| Finding::new(&place.path, code, message);
        let id = if place.id == NAMELESS { "" } else { &place.id };
        match database.session_row(id)? {
            Some(row) => {
                let tree = database.session(row)?;
                let at = RecordSpan { file: 0, offset: row, length: 0 };
                talk.keep(&mut surveyor, &ScannedRecord { tree: &tree, text: "", at, line: None });
            }
            None => {
                let message = "the database has messages of a session that it does not list";
                surveyor.survey.findings.push(finding(FindingCode::OrphanPart, message.to_owned()));
            }
        }
        for row in database.message_rows(id)? {
            match database.message(row) {
                Ok(tree) => {
                    let at = RecordSpan { file: 0, offset: row, length: 1 };
                    talk.keep(
                        &mut surveyor,
                        &ScannedRecord { tree: &tree, text: "", at, line: None },
                    );
                }
                Err(SessionError::Damaged { what }) => {
                    surveyor.quarantine(finding(FindingCode::BadRecord, what));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(talk.finish(surveyor))
    }
}

impl ProgramFormat for Goose {
    const NAME: &'static str = "goose";
    const DEPTH: usize = 3;
    const SESSION_DIRS: &'static [&'static str] = &["sessions"];

    fn match_path(&self, path: &FilePath) -> Match {
        if path.name().is_some_and(|name| name.as_str() == "sessions.db") {
            return Match::Yes;
        }
        match path.as_str().rsplit_once('.') {
            Some((_, "jsonl" | "db")) => Match::Maybe,
            Some((_, "json")) if path.as_str().split('/').count() <= 2 => Match::Maybe,
            _ => Match::No,
        }
    }

    fn sniff(&self, path: &FilePath, head: &peek::FileStart) -> bool {
        if is_database(path) {
            return is_sqlite(&head.bytes);
        }
        if is_export(path) {
            let text = head.text();
            let has = |key: &str| text.contains(&format!("\"{key}\""));
            return has("working_dir") && has("conversation");
        }
        let is_header = |record: &JsonTree| {
            record.value_at(&["working_dir"]).is_some()
                && ["description", "message_count", "created_at"]
                    .iter()
                    .any(|key| record.value_at(&[key]).is_some())
        };
        let is_talk = |record: &JsonTree| {
            let content =
                record.value_at(&["content"]).is_some_and(|content| content.kind() == Shape::Array);
            content && is_message(record) && record.value_at(&["created"]).is_some()
        };
        head.any(|record| is_header(record) || is_talk(record))
    }

    /// A database is recognised by its tables, which need not be at the start of its file.
    fn is_session_file(
        &self,
        store: &Arc<dyn Store>,
        path: &FilePath,
        head: &peek::FileStart,
    ) -> bool {
        let has_tables =
            || GooseDatabase::open(store, path).is_ok_and(|found| found.is_ours().unwrap_or(false));
        let is_known = !is_database(path) || database::shows_tables(&head.bytes);
        self.sniff(path, head) && (is_known || has_tables())
    }

    fn sessions_in_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        if is_export(file) {
            let text = peek::FileStart::read(store, file)?.text();
            let id = member_text(&text, "id").filter(|id| Name::parse(id).is_ok());
            return Ok(vec![SessionRef {
                id: id.unwrap_or_else(|| stem(file)),
                path: file.clone(),
            }]);
        }
        if !is_database(file) {
            return Ok(vec![SessionRef { id: stem(file), path: file.clone() }]);
        }
        let place = |(number, id): (usize, String)| {
            // An id that cannot be a file name still belongs to one session.
            let id = if id.is_empty() { NAMELESS.to_owned() } else { id };
            let name = Name::parse(&id.replace('/', "-"));
            let name = name.or_else(|_| Name::parse(&format!("session-{number}")))?;
            Ok(SessionRef { path: file.join(&name), id })
        };
        let database = GooseDatabase::open(store, file)?;
        if !database.is_ours()? {
            let is_empty = database.is_new()?;
            let what = format!(
                "{file} has tables of a version that is not known; `goose session export` writes files that can be read"
            );
            return if is_empty { Ok(Vec::new()) } else { Err(SessionError::request(what)) };
        }
        database.ids()?.into_iter().enumerate().map(place).collect()
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        if let Some(file) = database_of(&place.path) {
            return self.rows(store, place, &file);
        }
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = GooseConversation::default();
        if is_export(&place.path) {
            if let Some(whole) = JsonFile::read(&mut surveyor, store, 0)?
                && let Some((tree, text, at)) = whole.part(&whole.span())
            {
                talk.keep(&mut surveyor, &ScannedRecord { tree: &tree, text, at, line: None });
                whole.each(Some("conversation"), |seen| talk.keep(&mut surveyor, seen));
            }
            return Ok(talk.finish(surveyor));
        }
        surveyor.lines(store, 0, |surveyor, seen| talk.keep(surveyor, seen))?;
        Ok(talk.finish(surveyor))
    }

    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        let survey = || self.survey(store, place);
        match database_of(&place.path) {
            Some(_) => Ok(SessionHeader::of(&survey()?)),
            None if is_export(&place.path) => Ok(SessionHeader::of(&survey()?)),
            None => peek::peek_lines(store, &place.path, survey, record_info, session_info),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        let said = |record: &JsonTree| text_at(record, &["working_dir"]);
        if is_export(&place.path) {
            let text = peek::FileStart::read(store, &place.path)?.text();
            return Ok(member_text(&text, "working_dir"));
        }
        let Some(file) = database_of(&place.path) else {
            return Ok(peek::FileStart::read(store, &place.path)?.first(said));
        };
        let database = GooseDatabase::open(store, &file)?;
        let row = database.session_row(&place.id)?;
        Ok(row.map(|row| database.session(row)).transpose()?.and_then(|row| said(&row)))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        match files.first().filter(|file| is_database(file)) {
            Some(file) => Ok(Box::new(DatabaseFetcher(GooseDatabase::open(store, file)?))),
            None => Ok(Box::new(FileWindow::new(store, files))),
        }
    }

    fn repair_rules(&self, file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        match database_of(file) {
            None if is_export(file) => Err("it is a single document, not lines"),
            None => Ok(&repair_copy::GOOSE),
            Some(_) => Err("it is part of a database, which SQLite repairs"),
        }
    }

    fn shown(&self, record: JsonTree) -> JsonTree {
        match record.value_at(&["conversation"]) {
            Some(_) => without(&record, "conversation"),
            None => record,
        }
    }

    fn id(&self, record: &JsonTree) -> Option<String> {
        let is_message = is_message(record);
        let id = text_at(record, &["message_id"]).or_else(|| text_at(record, &["id"]));
        id.or_else(|| record.text_at(&["id"])).filter(|id| is_message && id != "null")
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        if !is_message(record) {
            return vec![EntryDraft::bookkeeping("session", names(record).unwrap_or_default())];
        }
        // Messages that are visible only to the model are not prompts.
        let is_hidden = flag_at(record, &["metadata", "userVisible"]) == Some(false);
        let role = text_at(record, &["role"]).unwrap_or_default();
        let role = if is_hidden && role == "user" { "system".to_owned() } else { role };
        let content = record.value_at(&["content"]).unwrap_or_else(JsonTree::null);
        match content.kind() {
            Shape::Array if content.len_at::<&str>(&[]) != Some(0) => {
                content.children().iter().map(|(_, part)| block(&role, part).by(part)).collect()
            }
            _ => vec![block(&role, &content)],
        }
    }
}
