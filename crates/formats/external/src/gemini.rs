//! Gemini CLI: files of lines that put messages right later, documents of earlier versions, prompts, and saved chats.
//!
//! A message with the id of an earlier one takes its place. `$rewindTo` takes a message and all behind it back, or
//! everything if there is no such message; `$set` with messages replaces all of them. What is gone stays a branch.

use std::collections::HashMap;
use std::sync::Arc;

use super::blocks::{content_text, count_at, time_at};
use super::element::{Whole, spans, without};
use super::glance::{self, Told};
use super::record::{At, Draft, Key, Look, Parent};
use super::survey::{Seen, Survey, Surveyor, is_object, title};
use super::weave::{Forks, Placing};
use super::{Fit, Format, Glance, Mending, mend, stem};
use everturn_json::names::FilePath;
use everturn_session::layout::LayoutError;
use everturn_session::view::{Kind, Place, Spent, Usage};
use everturn_store::Store;
use everturn_value::outline::{text_at, text_of};
use everturn_value::tree::{Kind as Shape, Tree};

pub(super) struct GeminiCli;

fn name_of(path: &FilePath) -> &str {
    path.as_str().rsplit('/').next().unwrap_or_default()
}

/// What a message of the model tells: its thoughts, its words, the tools it called and what they answered.
fn model(record: &Tree) -> Vec<Draft> {
    let children = |key: &str| record.at(&[key]).map(|list| list.children()).unwrap_or_default();
    let mut drafts = Vec::new();
    for (_, thought) in children("thoughts") {
        let text = |key: &str| text_at(&thought, &[key]).unwrap_or_default();
        let (subject, more) = (text("subject"), text("description"));
        let text = if subject.is_empty() { more } else { format!("{subject}: {more}") };
        drafts.push(Draft::new(Kind::thinking(), "gemini", text).by(&thought));
    }
    let content = record.at(&["content"]).unwrap_or_else(Tree::null);
    let said = content_text(&content);
    let calls = children("toolCalls");
    if !said.is_empty() || (calls.is_empty() && drafts.is_empty()) {
        drafts.push(Draft::new(Kind::Assistant, "gemini", said).by(&content));
    }
    for (_, call) in calls {
        let id = text_at(&call, &["id"]);
        let name = text_at(&call, &["name"]).unwrap_or_else(|| "tool".to_owned());
        let arguments = call.text_at(&["args"]).unwrap_or_default();
        drafts.push(Draft::called("gemini", &name, &arguments, id.clone()).by(&call));
        let result = call.at(&["result"]).filter(|result| !result.is_null());
        if let Some(result) = result {
            drafts.push(Draft::answered(&name, answer(&result), id).by(&result));
        }
    }
    drafts
}

/// What a tool answered: parts with responses in them.
fn answer(result: &Tree) -> String {
    let parts = if result.kind() == Shape::Array { result.children() } else { Vec::new() };
    let text = |(_, part): &(String, Tree)| {
        let response = part.at(&["functionResponse", "response"]);
        let output = response.and_then(|response| {
            response.at(&["output"]).or_else(|| response.at(&["error"])).or(Some(response))
        });
        output.map_or_else(
            || content_text(part),
            |output| match output.kind() {
                Shape::String => content_text(&output),
                _ => output.to_line(),
            },
        )
    };
    if parts.is_empty() {
        content_text(result)
    } else {
        parts.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// What a saved turn tells: its parts.
fn saved(record: &Tree) -> Vec<Draft> {
    let is_user = text_at(record, &["role"]).as_deref() == Some("user");
    let (kind, speaker) = if is_user { (Kind::User, "user") } else { (Kind::Assistant, "gemini") };
    let parts = record.at(&["parts"]).map(|parts| parts.children()).unwrap_or_default();
    let draft = |(_, part): &(String, Tree)| {
        if let Some(call) = part.at(&["functionCall"]) {
            let name = text_at(&call, &["name"]).unwrap_or_default();
            let arguments = call.text_at(&["args"]).unwrap_or_default();
            return Draft::called(speaker, &name, &arguments, text_at(&call, &["id"])).by(part);
        }
        if let Some(response) = part.at(&["functionResponse"]) {
            let text = response.text_at(&["response"]).unwrap_or_default();
            return Draft::answered("tool", text, text_at(&response, &["id"])).by(part);
        }
        Draft::new(kind.clone(), speaker, content_text(part)).by(part)
    };
    match parts.is_empty() {
        true => vec![Draft::new(kind, speaker, "")],
        false => parts.iter().map(draft).collect(),
    }
}

fn look(record: &Tree) -> Look {
    let time = ["timestamp", "startTime"].iter().find_map(|key| time_at(record, &[key]));
    Look { time, id: text_at(record, &["id"]), ..Look::telling(GeminiCli.drafts(record)) }
}

fn names(record: &Tree) -> Option<String> {
    let set = record.at(&["$set"]).filter(is_object).unwrap_or_else(|| record.clone());
    title(&text_at(&set, &["summary"])?)
}

/// Whether a header says that a helper talks in its session.
fn is_helper(record: &Tree) -> bool {
    record.at(&["sessionId"]).is_some() && text_at(record, &["kind"]).as_deref() == Some("subagent")
}

fn told(record: &Tree) -> Told {
    Told { name: names(record), parent: None, is_helper: is_helper(record) }
}

/// Tokens by message: its last version counts.
#[derive(Default)]
struct Tokens(HashMap<Key, (String, Spent)>);

impl Tokens {
    fn note(&mut self, record: &Tree) {
        let Some(tokens) = record.at(&["tokens"]).filter(is_object) else { return };
        let Some(id) = text_at(record, &["id"]) else { return };
        let cached = count_at(&tokens, &["cached"]);
        let thoughts = count_at(&tokens, &["thoughts"]);
        let spent = Spent {
            answers: 1,
            input: (count_at(&tokens, &["input"]) + count_at(&tokens, &["tool"]))
                .saturating_sub(cached),
            output: count_at(&tokens, &["output"]) + thoughts,
            cache_read: cached,
            cache_write: 0,
            reasoning: thoughts,
            cost: None,
        };
        let model = text_at(record, &["model"]).unwrap_or_else(|| "unknown".to_owned());
        self.0.insert(Key::of(&id), (model, spent));
    }

    fn usage(self) -> Option<Usage> {
        let mut usage = Usage::default();
        for (id, (model, spent)) in &self.0 {
            usage.spend_once(id.number(), model, spent);
        }
        (!usage.models.is_empty()).then_some(usage)
    }
}

/// A message of the present state: its id, its record, and what it says.
struct Live {
    id: Key,
    node: u32,
    says: Key,
}

/// A file of lines while it is read.
#[derive(Default)]
struct Talk {
    live: Vec<Live>,
    tip: Option<u32>,
    tokens: Tokens,
    named: Option<String>,
    is_helper: bool,
}

impl Talk {
    fn parent(&self) -> Parent {
        self.tip.map_or(Parent::Nobody, Parent::Number)
    }

    fn keep(&mut self, surveyor: &mut Surveyor, seen: &Seen<'_>) {
        let record = seen.tree;
        self.tokens.note(record);
        self.is_helper |= is_helper(record);
        self.named = names(record).or(self.named.take());
        if let Some(id) = text_at(record, &["$rewindTo"]) {
            let at = self.live.iter().position(|live| live.id == Key::of(&id)).unwrap_or(0);
            self.live.truncate(at);
            self.tip = self.live.last().map(|live| live.node);
            self.tip = Some(surveyor.add(seen, &look(record), self.parent()));
            return;
        }
        match text_at(record, &["id"]).filter(|_| record.at(&["$set"]).is_none()) {
            Some(id) => {
                let look = look(record);
                let number = surveyor.add(seen, &look, self.parent());
                self.put(surveyor, &id, number, seen.text);
            }
            None => self.patch(surveyor, seen),
        }
    }

    /// Puts a message into its place: that of an older version, or the end.
    fn put(&mut self, surveyor: &mut Surveyor, id: &str, number: u32, text: &str) {
        let (id, says) = (Key::of(id), Key::of(text));
        match self.live.iter_mut().find(|live| live.id == id) {
            Some(live) => {
                surveyor.supersede(live.node, number);
                live.node = number;
                live.says = says;
            }
            None => {
                self.live.push(Live { id, node: number, says });
                self.tip = Some(number);
            }
        }
        if self.tip.is_none() {
            self.tip = Some(number);
        }
    }

    /// Metadata, which may bring all messages with them.
    fn patch(&mut self, surveyor: &mut Surveyor, seen: &Seen<'_>) {
        let number = surveyor.add(seen, &look(seen.tree), Parent::Nobody);
        if let Some(node) = surveyor.node(number) {
            node.placing = Placing::Aside;
        }
        let key = seen.tree.at(&["$set"]).map(|_| "$set");
        let start = match key {
            Some(key) => member(seen.text, 0, key),
            None => Some(0),
        };
        let all = start.and_then(|start| spans(seen.text, start, Some("messages")));
        let Some(all) = all.filter(|all| key.is_some() || !all.is_empty()) else { return };
        let before = std::mem::take(&mut self.live);
        let mut known = before.into_iter();
        let mut is_same_so_far = true;
        self.tip = None;
        for span in all {
            let Some(text) = seen.text.get(span.clone()) else { continue };
            let Ok(tree) = Tree::parse(text) else { continue };
            let tree = tree.opened();
            let id = text_at(&tree, &["id"]).unwrap_or_else(|| format!("{}", span.start));
            let old = known.next().filter(|old| is_same_so_far && old.id == Key::of(&id));
            is_same_so_far = old.is_some();
            if let Some(old) = &old
                && old.says == Key::of(text)
            {
                self.live.push(Live { id: old.id, node: old.node, says: old.says });
                self.tip = Some(old.node);
                continue;
            }
            let at = At {
                offset: seen.at.offset + span.start as u64,
                length: text.len() as u64,
                ..seen.at
            };
            self.tokens.note(&tree);
            let part = Seen { tree: &tree, text, at, line: seen.line };
            let node = surveyor.add_part(&part, &look(&tree), self.parent());
            if let Some(old) = old {
                surveyor.supersede(old.node, node);
            }
            self.live.push(Live { id: Key::of(&id), node, says: Key::of(text) });
            self.tip = Some(node);
        }
        if self.tip.is_none() {
            // All messages are gone: whatever comes next begins anew behind this record.
            if let Some(node) = surveyor.node(number) {
                node.placing = Placing::Chained;
            }
            self.tip = Some(number);
        }
    }
}

/// Where the value of a member of the object at `start` begins.
fn member(text: &str, start: usize, key: &str) -> Option<usize> {
    let list = everturn_json::json::entries(text.as_bytes(), start).ok()??.list;
    let is = |raw: &std::ops::Range<usize>| {
        text.as_bytes().get(raw.clone()).is_some_and(|raw| everturn_json::json::key_is(raw, key))
    };
    list.into_iter().find(|entry| entry.key.as_ref().is_some_and(is)).map(|entry| entry.value.start)
}

impl GeminiCli {
    /// A document: what it says of itself, then its elements.
    fn document(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut tokens = Tokens::default();
        let mut named = None;
        let mut helps = false;
        let mut tip = None;
        if let Some(whole) = Whole::read(&mut surveyor, store, 0)? {
            let Some((tree, text, at)) = whole.part(&whole.span()) else {
                return Ok(surveyor.finish(Forks::Ways, None));
            };
            let key = ["messages", "history"].into_iter().find(|key| tree.at(&[key]).is_some());
            if is_object(&tree) {
                named = names(&tree);
                helps = is_helper(&tree);
                let header = Seen { tree: &tree, text, at, line: None };
                let number = surveyor.add(&header, &look(&tree), Parent::Nobody);
                if let Some(node) = surveyor.node(number) {
                    node.placing = Placing::Aside;
                }
            }
            whole.each(key, |seen| {
                tokens.note(seen.tree);
                let parent = tip.map_or(Parent::Nobody, Parent::Number);
                tip = Some(surveyor.add(seen, &look(seen.tree), parent));
            });
        }
        surveyor.survey.usage = tokens.usage();
        let mut survey = surveyor.finish(Forks::Ways, tip);
        survey.title = named.or(survey.title);
        survey.is_helper = helps;
        Ok(survey)
    }
}

impl Format for GeminiCli {
    const NAME: &'static str = "gemini-cli";
    const DEPTH: usize = 5;
    const HOMES: &'static [&'static str] = &["tmp"];

    fn fits(&self, path: &FilePath) -> Fit {
        let name = name_of(path);
        let is_saved = name.starts_with("checkpoint") || path.as_str().contains("checkpoints/");
        match name.rsplit_once('.') {
            Some((_, "jsonl")) => Fit::Perhaps,
            Some((_, "json"))
                if name == "logs.json" || name.starts_with("session-") || is_saved =>
            {
                Fit::Perhaps
            }
            _ => Fit::No,
        }
    }

    fn knows(&self, path: &FilePath, head: &glance::Head) -> bool {
        if name_of(path).ends_with(".jsonl") {
            return head.any(|record| {
                let is_start = record.at(&["sessionId"]).is_some()
                    && record.at(&["startTime"]).is_some()
                    && record.at(&["uuid"]).is_none();
                let is_change =
                    record.at(&["$set"]).is_some() || record.at(&["$rewindTo"]).is_some();
                is_start || is_change
            });
        }
        let text = head.text();
        let has = |key: &str| text.contains(&format!("\"{key}\""));
        let talk = has("sessionId") && has("messages");
        let prompts = name_of(path) == "logs.json" && has("messageId") && has("sessionId");
        talk || prompts || (has("parts") && has("role"))
    }

    fn places(&self, store: &Arc<dyn Store>, file: &FilePath) -> Result<Vec<Place>, LayoutError> {
        let head = glance::Head::read(store, file)?;
        let inside = head.records.iter().find_map(|record| text_at(record, &["sessionId"]));
        let of_document = || {
            let text = head.text();
            let (_, rest) = text.split_once("\"sessionId\"")?;
            Some(rest.split('"').nth(1)?.to_owned())
        };
        let is_prompts = name_of(file) == "logs.json";
        let id = if is_prompts { None } else { inside.or_else(of_document) };
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.file_id(file));
        Ok(vec![Place { id, path: file.clone() }])
    }

    fn file_id(&self, file: &FilePath) -> String {
        let above = file.parent().and_then(|dir| dir.name());
        match (name_of(file), above) {
            ("logs.json", Some(dir)) => format!("logs-{dir}"),
            _ => stem(file),
        }
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        if !name_of(&place.path).ends_with(".jsonl") {
            return self.document(store, place);
        }
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = Talk::default();
        surveyor.lines(store, 0, |surveyor, seen| talk.keep(surveyor, seen))?;
        surveyor.survey.usage = talk.tokens.usage();
        let mut survey = surveyor.finish(Forks::Ways, talk.tip);
        survey.title = talk.named.or(survey.title);
        survey.is_helper = talk.is_helper;
        Ok(survey)
    }

    fn glance(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Glance, LayoutError> {
        let survey = || self.survey(store, place);
        match name_of(&place.path).ends_with(".jsonl") {
            true => glance::of_lines(store, &place.path, survey, look, told),
            false => Ok(Glance::of(&survey()?)),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        let head = glance::Head::read(store, &place.path)?;
        Ok(head.first(|record| {
            let dirs = record.at(&["directories"])?.children();
            dirs.first().and_then(|(_, dir)| text_of(dir))
        }))
    }

    fn mending(&self, file: &FilePath) -> Result<&'static Mending, &'static str> {
        match name_of(file).ends_with(".jsonl") {
            true => Ok(&mend::GEMINI),
            false => Err("it is one document, not lines"),
        }
    }

    fn shown(&self, record: Tree) -> Tree {
        match ["messages", "history"].into_iter().find(|key| record.at(&[key]).is_some()) {
            Some(key) if record.at(&["id"]).is_none() => without(&record, key),
            _ => record,
        }
    }

    fn id(&self, record: &Tree) -> Option<String> {
        text_at(record, &["id"])
    }

    fn drafts(&self, record: &Tree) -> Vec<Draft> {
        let kind = text_at(record, &["type"]).unwrap_or_default();
        let content = || content_text(&record.at(&["content"]).unwrap_or_else(Tree::null));
        if let Some(id) = text_at(record, &["$rewindTo"]) {
            return vec![Draft::new(Kind::Event, "system", format!("went back to before {id}"))];
        }
        if record.at(&["parts"]).is_some() {
            return saved(record);
        }
        match kind.as_str() {
            "user" if record.at(&["messageId"]).is_some() => {
                vec![Draft::new(
                    Kind::User,
                    "user",
                    text_at(record, &["message"]).unwrap_or_default(),
                )]
            }
            "user" => vec![Draft::new(Kind::User, "user", content())],
            "gemini" => model(record),
            "info" | "warning" | "error" => {
                vec![Draft::new(Kind::Event, "system", format!("{kind}: {}", content()))]
            }
            _ => vec![Draft::bookkeeping("session", names(record).unwrap_or_default())],
        }
    }
}
