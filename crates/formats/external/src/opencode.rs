//! OpenCode: a directory with a file for each session, message and part, and the one file to which it exports a session.
//!
//! A message and its parts are one record, in the shape in which the program exports them.

mod storage;

use std::sync::Arc;

use super::blocks::{any_time_at, content_text, count_at, price_at};
use super::element::{Whole, without};
use super::fetch::{Fetch, Window};
use super::record::{At, Draft, Key, Look, Parent, Role};
use super::survey::{Seen, Survey, Surveyor, is_object, title};
use super::weave::{Forks, Placing};
use super::{Fit, Format, Mending, glance, stem};
use everturn_json::finding::{Code, Finding};
use everturn_json::names::FilePath;
use everturn_session::layout::LayoutError;
use everturn_session::view::{Kind, Place, Spent, Usage};
use everturn_store::{Store, StoreError};
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{Kind as Shape, Tree};

use storage::{any_storage_of, below, document, files, storage_of, storage_of_lost};

pub(super) struct OpenCode;

/// A list of values as one.
fn list(trees: &[Tree]) -> Tree {
    let texts: Vec<String> = trees.iter().map(Tree::to_line).collect();
    Tree::parse(format!("[{}]", texts.join(","))).unwrap_or_else(|_| Tree::null())
}

/// A message with its parts.
fn message(info: Tree, parts: &[Tree]) -> Tree {
    Tree::of_members([("info".to_owned(), info), ("parts".to_owned(), list(parts))])
}

/// What a tool did: it was called, and perhaps answered.
fn tool(part: &Tree) -> Vec<Draft> {
    let name = text_at(part, &["tool"]).unwrap_or_else(|| "tool".to_owned());
    let id = text_at(part, &["callID"]);
    let input = part.text_at(&["state", "input"]).unwrap_or_default();
    let mut drafts = vec![Draft::called("assistant", &name, &input, id.clone()).by(part)];
    let answer = match text_at(part, &["state", "status"]).as_deref() {
        Some("completed") => part.at(&["state", "output"]),
        Some("error") => part.at(&["state", "error"]),
        _ => None,
    };
    if let Some(answer) = answer {
        drafts.push(Draft::answered(&name, content_text(&answer), id).by(part));
    }
    drafts
}

fn part(role: &str, part: &Tree) -> Vec<Draft> {
    let kind = text_at(part, &["type"]).unwrap_or_default();
    let text = |key: &str| text_at(part, &[key]).unwrap_or_default();
    let draft = match kind.as_str() {
        "text" if flag_at(part, &["synthetic"]) == Some(true) => {
            Draft::new(Kind::System, "system", text("text"))
        }
        "text" if role == "user" => Draft::new(Kind::User, "user", text("text")),
        "text" => Draft::new(Kind::Assistant, "assistant", text("text")),
        "reasoning" => Draft::new(Kind::thinking(), "assistant", text("text")),
        "tool" => return tool(part),
        "file" => Draft::new(Kind::Event, role, format!("file {}", text("filename"))),
        "compaction" => Draft::new(Kind::Event, "system", "context compacted"),
        "subtask" => Draft::new(Kind::Event, role, format!("task: {}", text("prompt"))),
        "retry" => Draft::new(Kind::Event, "system", "the model was asked again"),
        other => Draft::bookkeeping(other, ""),
    };
    vec![draft.by(part)]
}

fn look(record: &Tree) -> Look {
    let drafts = OpenCode.drafts(record);
    let asks = drafts.iter().any(|draft| draft.kind == Kind::User);
    let told = Look::telling(drafts);
    let role = match text_at(record, &["info", "role"]).as_deref() {
        Some("user") if asks => Role::Prompt,
        Some(_) => Role::Message,
        None => told.role,
    };
    let time = any_time_at(record, &["info", "time", "created"]);
    Look { time, id: OpenCode.id(record), role, ..told }
}

fn spend(usage: &mut Usage, record: &Tree) {
    let Some(tokens) = record.at(&["info", "tokens"]).filter(is_object) else { return };
    let model = text_at(record, &["info", "modelID"]).unwrap_or_else(|| "unknown".to_owned());
    let reasoning = count_at(&tokens, &["reasoning"]);
    let spent = Spent {
        answers: 1,
        input: count_at(&tokens, &["input"]),
        output: count_at(&tokens, &["output"]) + reasoning,
        cache_read: count_at(&tokens, &["cache", "read"]),
        cache_write: count_at(&tokens, &["cache", "write"]),
        reasoning,
        cost: price_at(record, &["info", "cost"]),
    };
    match OpenCode.id(record) {
        Some(id) => usage.spend_once(Key::of(&id).number(), &model, &spent),
        None => usage.spend(&model, &spent),
    }
}

/// A session while it is read.
#[derive(Default)]
struct Talk {
    last: Option<u32>,
    /// Where the main line ends, if messages behind that were taken back.
    tip: Option<Option<u32>>,
    usage: Usage,
    named: Option<String>,
    parent: Option<String>,
    /// The record that tells about the session.
    info: Option<u32>,
    reverted: Option<String>,
    /// Whether only parts of that message were taken back, and it stays itself.
    keeps_reverted: bool,
}

impl Talk {
    /// What the program says about the session.
    fn begin(&mut self, surveyor: &mut Surveyor, seen: &Seen<'_>, info: &Tree) {
        let mut look = Look::telling(vec![Draft::bookkeeping("session", "")]);
        look.time = any_time_at(info, &["time", "created"]);
        let number = surveyor.add(seen, &look, Parent::Nobody);
        if let Some(node) = surveyor.node(number) {
            node.placing = Placing::Aside;
        }
        surveyor.survey.updated =
            surveyor.survey.updated.max(any_time_at(info, &["time", "updated"]));
        self.named = text_at(info, &["title"]).and_then(|text| title(&text));
        self.parent = text_at(info, &["parentID"]);
        self.info = Some(number);
        self.reverted = text_at(info, &["revert", "messageID"]);
        self.keeps_reverted = text_at(info, &["revert", "partID"]).is_some();
    }

    fn keep(&mut self, surveyor: &mut Surveyor, seen: &Seen<'_>) {
        let look = look(seen.tree);
        let parent = self.last.map_or(Parent::Nobody, Parent::Number);
        let number = surveyor.add(seen, &look, parent);
        if look.id.is_some() && look.id == self.reverted {
            self.tip = Some(if self.keeps_reverted { Some(number) } else { self.last });
        }
        self.last = Some(number);
        spend(&mut self.usage, seen.tree);
    }

    fn finish(self, mut surveyor: Surveyor) -> Survey {
        surveyor.survey.usage = (!self.usage.models.is_empty()).then_some(self.usage);
        let tip = match self.tip {
            // Every message was taken back: nothing is left but what is said about the session.
            Some(None) => self.info,
            Some(tip) => tip,
            None => self.last,
        };
        if let Some(node) =
            tip.filter(|tip| Some(*tip) == self.info).and_then(|tip| surveyor.node(tip))
        {
            node.placing = Placing::Chained;
        }
        let mut survey = surveyor.finish(Forks::Ways, tip);
        survey.title = self.named.or(survey.title);
        survey.parent = self.parent;
        survey
    }
}

fn finding(file: &FilePath, code: Code, message: String) -> Finding {
    Finding { file: file.clone(), line: None, offset: None, code, message }
}

/// The parts of a message: those that can be used, and what is wrong with the others.
fn parts_of(
    store: &Arc<dyn Store>,
    storage: &FilePath,
    message: &str,
) -> Result<(Vec<Tree>, Vec<Finding>), LayoutError> {
    let (mut parts, mut findings) = (Vec::new(), Vec::new());
    for file in files(store, &below(storage, &["part", message])?)? {
        match document(store, &file)? {
            Ok(part) => parts.push(part),
            Err((code, message)) => findings.push(finding(&file, code, message)),
        }
    }
    Ok((parts, findings))
}

/// Reads messages with their parts from a directory.
struct Directory {
    store: Arc<dyn Store>,
    files: Vec<FilePath>,
}

impl Fetch for Directory {
    fn fetch(&mut self, at: At) -> Result<Tree, LayoutError> {
        let file = self.files.get(at.file as usize).cloned().unwrap_or_default();
        let changed = || LayoutError::from(StoreError::Changed { file: file.clone() });
        let tree = document(&self.store, &file)?.map_err(|_| changed())?;
        if at.length == 0 {
            return Ok(tree);
        }
        let storage = self.files.first().and_then(any_storage_of).ok_or_else(changed)?;
        let (parts, _) = parts_of(&self.store, &storage, &stem(&file))?;
        Ok(message(tree, &parts).opened())
    }
}

impl OpenCode {
    fn directory(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        storage: &FilePath,
    ) -> Result<Survey, LayoutError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = Talk::default();
        if storage_of(&place.path).is_none() {
            let message = "there are messages of a session whose own file is not there".to_owned();
            surveyor.survey.findings.push(finding(&place.path, Code::OrphanPart, message));
        } else {
            match document(store, &place.path)? {
                Ok(info) => {
                    let at = At { file: 0, offset: 0, length: 0 };
                    let seen = Seen { tree: &info, text: "", at, line: None };
                    talk.begin(&mut surveyor, &seen, &info);
                }
                Err((code, message)) => surveyor.quarantine(finding(&place.path, code, message)),
            }
        }
        self.changes(store, &mut surveyor, storage, &place.id)?;
        for file in files(store, &below(storage, &["message", &place.id])?)? {
            let (parts, findings) = parts_of(store, storage, &stem(&file))?;
            findings.into_iter().for_each(|finding| surveyor.quarantine(finding));
            let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
            match document(store, &file)? {
                Ok(info) => {
                    surveyor.survey.files.push(file);
                    let tree = message(info, &parts).opened();
                    let at = At { file: number, offset: 0, length: 1 };
                    surveyor.count_also(parts.len() as u64);
                    talk.keep(&mut surveyor, &Seen { tree: &tree, text: "", at, line: None });
                }
                Err((code, what)) => {
                    surveyor.quarantine(finding(&file, code, what));
                    self.orphans(store, &mut surveyor, &below(storage, &["part", &stem(&file)])?)?;
                }
            }
        }
        Ok(talk.finish(surveyor))
    }

    /// What a session changed in files, which the program sums up in a document of its own.
    fn changes(
        &self,
        store: &Arc<dyn Store>,
        surveyor: &mut Surveyor,
        storage: &FilePath,
        session: &str,
    ) -> Result<(), LayoutError> {
        let file = below(storage, &["session_diff", &format!("{session}.json")])?;
        if store.stat(&file)?.is_none() {
            return Ok(());
        }
        let tree = match document(store, &file)? {
            Ok(tree) => tree,
            Err((code, message)) => {
                surveyor.quarantine(finding(&file, code, message));
                return Ok(());
            }
        };
        let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
        surveyor.survey.files.push(file);
        let at = At { file: number, offset: 0, length: 0 };
        let look = Look::telling(self.drafts(&tree));
        let seen = Seen { tree: &tree, text: "", at, line: None };
        let node = surveyor.add(&seen, &look, Parent::Nobody);
        if let Some(node) = surveyor.node(node) {
            node.placing = Placing::Aside;
        }
        Ok(())
    }

    /// The parts of a message that is not there, as a session of their own.
    fn stray(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        self.orphans(store, &mut surveyor, &place.path)?;
        let first = files(store, &place.path)?.into_iter().next();
        let first = first.map(|file| document(store, &file)).transpose()?.and_then(Result::ok);
        let mut survey = surveyor.finish(Forks::Ways, None);
        survey.title = first.as_ref().and_then(|part| title(&text_at(part, &["text"])?));
        survey.parent = first.and_then(|part| text_at(&part, &["sessionID"]));
        Ok(survey)
    }

    /// Parts that belong to no message: they are kept, and reported.
    fn orphans(
        &self,
        store: &Arc<dyn Store>,
        surveyor: &mut Surveyor,
        dir: &FilePath,
    ) -> Result<(), LayoutError> {
        for file in files(store, dir)? {
            let Ok(part) = document(store, &file)? else { continue };
            let number = u32::try_from(surveyor.survey.files.len()).unwrap_or(u32::MAX);
            surveyor.survey.files.push(file);
            let at = At { file: number, offset: 0, length: 0 };
            let seen = Seen { tree: &part, text: "", at, line: None };
            let look = Look::telling(self.drafts(&part));
            let node = surveyor.add(&seen, &look, Parent::Nobody);
            if let Some(node) = surveyor.node(node) {
                node.placing = Placing::Aside;
            }
            surveyor.repair(
                node,
                Code::OrphanPart,
                "a part of a message that is not there".to_owned(),
            );
        }
        Ok(())
    }

    fn export(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = Talk::default();
        if let Some(whole) = Whole::read(&mut surveyor, store, 0)?
            && let Some((tree, text, at)) = whole.part(&whole.span())
        {
            let info = tree.at(&["info"]).unwrap_or_else(Tree::null);
            talk.begin(&mut surveyor, &Seen { tree: &tree, text, at, line: None }, &info);
            whole.each(Some("messages"), |seen| {
                let parts = seen.tree.len_at(&["parts"]).unwrap_or(0);
                surveyor.count_also(parts as u64);
                talk.keep(&mut surveyor, seen);
            });
        }
        Ok(talk.finish(surveyor))
    }
}

impl Format for OpenCode {
    const NAME: &'static str = "opencode";
    const DEPTH: usize = 4;
    const HOMES: &'static [&'static str] = &["storage"];

    fn enters(&self, dir: &FilePath) -> bool {
        let name = dir.name();
        let name = name.as_ref().map_or("", |name| name.as_str());
        !matches!(
            name,
            "message" | "part" | "session_diff" | "snapshot" | "log" | "bin" | "todo" | "share"
        )
    }

    fn fits(&self, path: &FilePath) -> Fit {
        match storage_of(path) {
            Some(_) if path.as_str().ends_with(".json") => Fit::Perhaps,
            None if path.as_str().ends_with(".json") && path.as_str().split('/').count() <= 2 => {
                Fit::Perhaps
            }
            _ => Fit::No,
        }
    }

    fn knows(&self, path: &FilePath, head: &glance::Head) -> bool {
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

    fn places(&self, store: &Arc<dyn Store>, file: &FilePath) -> Result<Vec<Place>, LayoutError> {
        let mut id = stem(file);
        if storage_of(file).is_none() {
            let text = glance::Head::read(store, file)?.text();
            let found = text.split('"').find(|word| word.starts_with("ses_"));
            id = found.map_or(id, str::to_owned);
        }
        Ok(vec![Place { id, path: file.clone() }])
    }

    fn lost(&self, store: &Arc<dyn Store>, there: &[Place]) -> Result<Vec<Place>, LayoutError> {
        storage::lost(store, there)
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        let messages = || storage_of_lost(&place.path, "message");
        if let Some(storage) = storage_of(&place.path).or_else(messages) {
            return self.directory(store, place, &storage);
        }
        match storage_of_lost(&place.path, "part") {
            Some(_) => self.stray(store, place),
            None => self.export(store, place),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        if storage_of(&place.path).is_some() {
            let info = document(store, &place.path)?.ok();
            return Ok(info.and_then(|info| text_at(&info, &["directory"])));
        }
        if any_storage_of(&place.path).is_some() {
            return Ok(None);
        }
        let text = glance::Head::read(store, &place.path)?.text();
        let rest = text.split_once("\"directory\"").map(|(_, rest)| rest);
        Ok(rest.and_then(|rest| rest.split('"').nth(1)).map(str::to_owned))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn Fetch>, LayoutError> {
        match files.first().and_then(any_storage_of) {
            Some(_) => Ok(Box::new(Directory { store: Arc::clone(store), files: files.to_vec() })),
            None => Ok(Box::new(Window::new(store, files))),
        }
    }

    fn shown(&self, record: Tree) -> Tree {
        if record.at(&["messages"]).is_some() { without(&record, "messages") } else { record }
    }

    fn mending(&self, _file: &FilePath) -> Result<&'static Mending, &'static str> {
        Err("its messages are documents of their own")
    }

    fn id(&self, record: &Tree) -> Option<String> {
        text_at(record, &["info", "id"]).or_else(|| text_at(record, &["id"]))
    }

    fn drafts(&self, record: &Tree) -> Vec<Draft> {
        if record.kind() == Shape::Array {
            return vec![Draft::bookkeeping("session_diff", "")];
        }
        if record.at(&["messages"]).is_some() || record.at(&["projectID"]).is_some() {
            return vec![Draft::bookkeeping("session", "")];
        }
        let Some(info) = record.at(&["info"]) else { return part("assistant", record) };
        let role = text_at(&info, &["role"]).unwrap_or_default();
        let parts = record.at(&["parts"]).map(|parts| parts.children()).unwrap_or_default();
        let mut drafts: Vec<Draft> =
            parts.iter().flat_map(|(_, found)| part(&role, found)).collect();
        if let Some(error) = info.at(&["error"]).filter(|error| !error.is_null()) {
            let text = text_at(&error, &["data", "message"]).or_else(|| text_at(&error, &["name"]));
            let text = format!("error: {}", text.unwrap_or_default());
            drafts.push(Draft::new(Kind::Event, "system", text).by(&error));
        }
        if drafts.is_empty() {
            drafts.push(Draft::bookkeeping(&role, "a message without parts"));
        }
        drafts
    }
}
