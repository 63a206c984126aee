//! Checks a chat log: types, references, and derived values.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::content::{ArrayElements, DocumentBytes};
use super::error::ChatError;
use super::index::id_hash;
use super::log::ChatLog;
use super::paths::{ChatPaths, chats_dir, document_named, id_of};
use super::rewrite::{duration, is_other_duration};
use super::schema::{HEAD, MESSAGE, SNAPSHOT, find_type_errors, time};
use super::survey::ListKind;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError, snapshot};
use everturn_value::tree::{JsonTree, ValueKind};

/// The number of bytes read to recognise a file.
const PEEK: u64 = 64 << 10;

/// Whether a document is a chat log, judging by its start.
pub fn is_document(store: &Arc<dyn Store>, file: &FilePath) -> Result<bool, StoreError> {
    if lone_journal(store, file)?.is_some() {
        return Ok(true);
    }
    if !file.as_str().ends_with(".json") || id_of(file).is_none() {
        return Ok(false);
    }
    let bytes = store.read(file, 0..PEEK)?;
    Ok(declares_chat_log(&bytes) || looks_like_chat_log(store, file, &bytes))
}

/// Whether a document without a type must be a chat log: it is in their directory, and has their members.
fn looks_like_chat_log(store: &Arc<dyn Store>, file: &FilePath, bytes: &[u8]) -> bool {
    if !file.is_within(&chats_dir()) {
        return false;
    }
    let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    let journal =
        ChatPaths::of(file).ok().and_then(|files| store.stat(&files.journal).ok().flatten());
    journal.is_some() || (has(b"\"messages\"") && has(b"\"session\""))
}

/// Whether a text contains `"type": "chat-log"`.
pub(crate) fn declares_chat_log(bytes: &[u8]) -> bool {
    let word = b"\"chat-log\"";
    let mut rest = bytes;
    while let Some(at) = rest.windows(word.len()).position(|window| window == word) {
        let before = rest.get(..at).unwrap_or_default().trim_ascii_end();
        let before = before.strip_suffix(b":").map(<[u8]>::trim_ascii_end);
        if before.is_some_and(|before| before.ends_with(b"\"type\"")) {
            return true;
        }
        rest = rest.get(at + word.len()..).unwrap_or_default();
    }
    false
}

/// Whether a file is the journal of a chat log, which is checked together with it.
pub fn journal_of_chat_log(store: &Arc<dyn Store>, file: &FilePath) -> bool {
    journal_document(file).is_some_and(|document| is_document(store, &document).is_ok_and(|is| is))
}

/// The document that a journal belongs to.
fn journal_document(file: &FilePath) -> Option<FilePath> {
    let stem = file.as_str().strip_suffix(".journal.jsonl")?;
    FilePath::parse(&format!("{stem}.json")).ok()
}

/// The document of a journal below `chats/` whose document is gone, or has something else in its place; `None` for any
/// other file.
pub(crate) fn lone_journal(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<FilePath>, StoreError> {
    let document = journal_document(file).filter(|document| document.is_within(&chats_dir()));
    let Some(files) = document.and_then(|document| ChatPaths::of(&document).ok()) else {
        return Ok(None);
    };
    for path in [&files.document, &files.folded] {
        if store.stat(path)?.is_some_and(|stat| stat.kind == FileKind::File) {
            return Ok(None);
        }
    }
    Ok(Some(files.document))
}

/// Checks a snapshot of a chat log between two commits; returns the findings, and the number of journal records.
pub fn check_log(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<(Vec<Finding>, u64), ChatError> {
    let named = lone_journal(store, file)?.or_else(|| document_named(file));
    let path = named.unwrap_or_else(|| file.clone());
    let log = ChatLog::open(&snapshot(store, &ChatPaths::of(&path)?.to_read())?, &path)?;
    let records = (log.overlay.messages.len() + log.overlay.snapshots.len()) as u64;
    Ok((check_everything(&log)?, records))
}

/// Checks everything in a chat log, and returns the findings.
pub(crate) fn check_everything(log: &ChatLog) -> Result<Vec<Finding>, ChatError> {
    let findings = log.findings().to_vec();
    let mut check =
        ChatChecker { log, findings, messages: HashSet::new(), ids: HashSet::new(), newest: None };
    // A stand-in is not a document that could be wrong.
    if log.lost.is_none() {
        check.head();
    }
    check.messages()?;
    check.end();
    check.snapshots()?;
    check.references()?;
    check.index()?;
    Ok(check.findings)
}

struct ChatChecker<'l> {
    log: &'l ChatLog,
    findings: Vec<Finding>,
    /// Checksums of the ids of messages, and of those of snapshots.
    messages: HashSet<u64>,
    ids: HashSet<u64>,
    /// The newest message of the document: its time, and its id or number.
    newest: Option<(Timestamp, String)>,
}

impl ChatChecker<'_> {
    fn note(&mut self, offset: Option<u64>, code: FindingCode, message: String) {
        self.findings.push(Finding::new(&self.log.files.document, code, message).at_offset(offset));
    }

    /// Checks the members of the document outside of the long lists.
    fn head(&mut self) {
        let head = self.log.head();
        for what in find_type_errors(&head, HEAD) {
            self.note(None, FindingCode::BadRecord, what);
        }
        if let Some(version) = newer(&head) {
            let message = format!("version {version} is supported for reading only");
            self.note(None, FindingCode::NewerVersion, message);
        }
        for finding in self.log.head.findings(&self.log.files.document) {
            self.note(None, FindingCode::DuplicateKey, finding.message);
        }
        // Changes that the journal has not merged into the document yet are not counted there either.
        let count = self.log.stored_count(ListKind::Messages);
        let said = head.text_at(&["session", "message_count"]).and_then(|text| text.parse().ok());
        if said.is_some_and(|said: u64| said != count) && self.log.overlay.head.is_empty() {
            let said = said.unwrap_or_default();
            let message =
                format!("session.message_count is {said}, but there are {count} messages");
            self.note(None, FindingCode::WrongMetadata, message);
        }
        let text = |key: &str| head.string_at(&["session", key]);
        let seconds =
            text("end_time").and_then(|end| duration(text("start_time").as_deref(), &end));
        let said = head.text_at(&["session", "duration_seconds"]);
        let said = said.and_then(|text| text.parse::<f64>().ok());
        if let (Some(seconds), Some(said)) = (seconds, said)
            && is_other_duration(said, seconds)
        {
            let message = format!(
                "session.duration_seconds is {said}, but from start to end it is {seconds} seconds"
            );
            self.note(None, FindingCode::WrongMetadata, message);
        }
    }

    /// Visits every element of a list with the journal applied: its place, its offset in the document, and itself.
    fn check_elements(
        &mut self,
        list: ListKind,
        mut look: impl FnMut(&mut Self, u64, Option<u64>, &JsonTree),
    ) -> Result<(), ChatError> {
        let log = self.log;
        if let Some(facts) = log.facts(list) {
            let mut elements = ArrayElements::new(&log.content, facts.open + 1, facts.close);
            let mut place = 0;
            while let Some(element) = elements.next()? {
                place += 1;
                let offset = element.span.start;
                let text = element.into_text(&log.files.document)?;
                let tree = log.with_edits(list, place, text)?;
                look(self, place, Some(offset), &tree);
            }
        }
        let added: Vec<(u64, std::ops::Range<u64>)> = match list {
            ListKind::Messages => {
                log.overlay.messages.iter().map(|(place, line)| (*place, line.clone())).collect()
            }
            ListKind::Snapshots => {
                let added = log.overlay.snapshots.iter();
                added.map(|(place, added)| (*place, added.line.clone())).collect()
            }
        };
        for (place, line) in added {
            let tree = log.with_edits(list, place, log.journal_value(&line)?.to_line())?;
            look(self, place, None, &tree);
        }
        Ok(())
    }

    fn messages(&mut self) -> Result<(), ChatError> {
        self.check_elements(ListKind::Messages, |check, place, offset, tree| {
            if !check.log.is_kept(place) {
                return;
            }
            let id = tree.string_at(&["id"]);
            let number = check.log.number_of(place);
            let named =
                id.as_ref().map_or(format!("message {number}"), |id| format!("message {id}"));
            for what in find_type_errors(tree, MESSAGE) {
                check.note(offset, FindingCode::BadRecord, format!("{named}: {what}"));
            }
            let at = tree.string_at(&["timestamp"]).and_then(|text| time(&text));
            if let Some(at) = at.filter(|_| offset.is_some())
                && check.newest.as_ref().is_none_or(|(newest, _)| *newest < at)
            {
                check.newest = Some((at, id.clone().unwrap_or_else(|| number.to_string())));
            }
            check.duplicates(&named, offset, tree);
            if let Some(id) = id
                && !check.messages.insert(id_hash(&id))
            {
                let message = format!("duplicate message {id} at number {number}");
                check.note(offset, FindingCode::DuplicateId, message);
            }
        })
    }

    /// Checks that the session does not end before it starts, or before one of its messages.
    fn end(&mut self) {
        let head = self.log.head();
        let at = |key: &str| head.string_at(&["session", key]).and_then(|text| time(&text));
        let Some(end) = at("end_time").filter(|_| self.log.lost.is_none()) else { return };
        let message = match (at("start_time"), &self.newest) {
            (Some(start), _) if end < start => {
                "session.end_time is before session.start_time".to_owned()
            }
            (_, Some((newest, named))) if end < *newest => {
                format!("session.end_time is before the newest message, {named}")
            }
            _ => return,
        };
        self.note(None, FindingCode::WrongMetadata, message);
    }

    fn duplicates(&mut self, named: &str, offset: Option<u64>, tree: &JsonTree) {
        let text = tree.to_line();
        let keys = everturn_json::json::duplicate_keys(text.as_bytes(), 0).unwrap_or_default();
        for key in keys {
            let key = text.get(key).unwrap_or_default();
            let message = format!("{named}: duplicate key {key}; the last value takes precedence");
            self.note(offset, FindingCode::DuplicateKey, message);
        }
    }

    fn snapshots(&mut self) -> Result<(), ChatError> {
        let head = self.log.head();
        let tools = head.value_at(&["session", "support_tools"]).map(|tools| tools.children());
        let tools = tools.unwrap_or_default();
        let tools: Vec<String> =
            tools.iter().filter_map(|(_, tool)| tool.string_at(&["id"])).collect();
        self.check_elements(ListKind::Snapshots, |check, place, offset, tree| {
            let id = tree.string_at(&["id"]);
            let named = match &id {
                Some(id) => format!("tool snapshot {id}"),
                None => format!("tool snapshot {place}"),
            };
            for what in find_type_errors(tree, SNAPSHOT) {
                check.note(offset, FindingCode::BadRecord, format!("{named}: {what}"));
            }
            check.duplicates(&named, offset, tree);
            if let Some(message) = tree.string_at(&["message_id"])
                && !check.messages.contains(&id_hash(&message))
            {
                let message = format!("{named} belongs to message {message}, which does not exist");
                check.note(offset, FindingCode::UnknownReference, message);
            }
            if let Some(tool) = tree.string_at(&["tool_id"])
                && !tools.contains(&tool)
            {
                let message =
                    format!("{named} belongs to the tool {tool}, which the session does not list");
                check.note(offset, FindingCode::UnknownReference, message);
            }
            if let Some(id) = id
                && !check.ids.insert(id_hash(&id))
            {
                let message = format!("duplicate tool snapshot {id}");
                check.note(offset, FindingCode::DuplicateId, message);
            }
        })
    }

    /// Checks marks and the context window, which refer to messages and snapshots.
    fn references(&mut self) -> Result<(), ChatError> {
        let head = self.log.head();
        let list = |path: &[&str]| {
            let list = head.value_at(path).filter(|list| list.kind() == ValueKind::Array);
            list.map(|list| list.children()).unwrap_or_default()
        };
        let mut seen: HashSet<String> = HashSet::new();
        for (key, word) in [("bookmarks", "bookmark"), ("narrative_markers", "narrative marker")] {
            for (at, mark) in list(&[key]) {
                let id = mark.string_at(&["id"]);
                let named = format!("{word} {}", id.clone().unwrap_or(at));
                if let Some(message) = mark.string_at(&["message_id"]) {
                    self.message(&named, &message);
                }
                let snapshots = mark.value_at(&["tool_snapshot_ids"]).map(|list| list.children());
                for (_, snapshot) in snapshots.unwrap_or_default() {
                    self.snapshot(&named, snapshot.string_at::<&str>(&[]));
                }
                if let Some(id) = id
                    && !seen.insert(id.clone())
                {
                    self.note(None, FindingCode::DuplicateId, format!("duplicate mark {id}"));
                }
            }
        }
        for (_, id) in list(&["context_window", "included_messages"]) {
            if let Some(id) = id.string_at::<&str>(&[]) {
                self.message("the context window", &id);
            }
        }
        for (_, id) in list(&["context_window", "included_tool_snapshots"]) {
            self.snapshot("the context window", id.string_at::<&str>(&[]));
        }
        Ok(())
    }

    fn message(&mut self, named: &str, id: &str) {
        if !self.messages.contains(&id_hash(id)) {
            let message = format!("{named} refers to message {id}, which does not exist");
            self.note(None, FindingCode::UnknownReference, message);
        }
    }

    fn snapshot(&mut self, named: &str, id: Option<String>) {
        if let Some(id) = id
            && !self.ids.contains(&id_hash(&id))
        {
            let message = format!("{named} refers to tool snapshot {id}, which does not exist");
            self.note(None, FindingCode::UnknownReference, message);
        }
    }

    fn index(&mut self) -> Result<(), ChatError> {
        let ChatPaths { index, .. } = &self.log.files;
        if !self.log.indexed && DocumentBytes::open(&self.log.store, index)?.is_some() {
            let message =
                "belongs to another document; it is rebuilt on the next change".to_owned();
            self.findings.push(Finding::new(index, FindingCode::StaleIndex, message));
        }
        Ok(())
    }
}

/// The version of a document, if it is newer than the known ones.
pub(crate) fn newer(head: &JsonTree) -> Option<String> {
    let version = head.string_at(&["version"])?;
    let major: u64 = version.split('.').next()?.parse().ok()?;
    (major > 1).then_some(version)
}
