//! A file of lines of Gemini CLI while it is being read.
//!
//! A message with the id of an earlier one replaces it. `$rewindTo` removes a message and everything after it, or
//! everything if there is no such message; `$set` with messages replaces all of them.

use std::collections::{HashMap, HashSet};

use super::entries::{is_helper, names, record_info};
use crate::blocks::{count_at, time_at};
use crate::json_file::spans;
use crate::record::{Parent, RecordInfo, RecordSpan, TextHash, ToolCall};
use crate::survey::{DUPLICATES, ScannedRecord, Surveyor, is_object};
use crate::thread_tree::Placement;
use everturn_session::model::{SessionUsage, TokenUsage};
use everturn_value::outline::text_at;
use everturn_value::tree::JsonTree;
use jiff::Timestamp;

/// Tokens per message: the last version counts.
#[derive(Default)]
pub(super) struct GeminiTokens(HashMap<TextHash, (String, TokenUsage, Option<Timestamp>)>);

impl GeminiTokens {
    pub(super) fn note(&mut self, record: &JsonTree) {
        let Some(tokens) = record.value_at(&["tokens"]).filter(is_object) else { return };
        let Some(id) = text_at(record, &["id"]) else { return };
        let cached = count_at(&tokens, &["cached"]);
        let thoughts = count_at(&tokens, &["thoughts"]);
        let spent = TokenUsage {
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
        let time = time_at(record, &["timestamp"]);
        self.0.insert(TextHash::of(&id), (model, spent, time));
    }

    pub(super) fn usage(self) -> Option<SessionUsage> {
        let mut usage = SessionUsage::default();
        for (id, (model, spent, time)) in &self.0 {
            usage.add_usage_once(id.number(), model, spent, *time);
        }
        (!usage.models.is_empty()).then_some(usage)
    }
}

/// A message of the current state: its id, its record, and the hash of its text.
struct LiveMessage {
    id: TextHash,
    node: u32,
    says: TextHash,
}

/// A JSONL file while it is being read.
#[derive(Default)]
pub(super) struct GeminiConversation {
    live: Vec<LiveMessage>,
    /// The newest version of every message so far, also of those that are not live.
    newest: HashMap<TextHash, u32>,
    /// The calls that were answered by the live messages.
    answered: HashSet<String>,
    /// Whether the last list of messages had the preamble only, as when a session is resumed.
    is_cleared: bool,
    pub(super) tip: Option<u32>,
    pub(super) tokens: GeminiTokens,
    pub(super) named: Option<String>,
    pub(super) is_helper: bool,
}

impl GeminiConversation {
    fn parent(&self) -> Parent {
        self.tip.map_or(Parent::Root, Parent::Number)
    }

    pub(super) fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let record = seen.tree;
        self.tokens.note(record);
        self.is_helper |= is_helper(record);
        self.named = names(record).or(self.named.take());
        if let Some(id) = text_at(record, &["$rewindTo"]) {
            let at = self.live.iter().position(|live| live.id == TextHash::of(&id)).unwrap_or(0);
            self.live.truncate(at);
            self.tip = self.live.last().map(|live| live.node);
            self.tip = Some(surveyor.add(seen, &record_info(record), self.parent()));
            return;
        }
        match text_at(record, &["id"]).filter(|_| record.value_at(&["$set"]).is_none()) {
            Some(id) => {
                let look = record_info(record);
                let number = surveyor.add(seen, &look, self.parent());
                self.put(surveyor, &id, number, seen.text);
                self.note_answers(surveyor, number, &look);
            }
            None => self.patch(surveyor, seen),
        }
    }

    /// Notes which calls a message answers. A message that only repeats answers is set apart: the program writes them
    /// once beside the call, and once as a message in the user's name.
    fn note_answers(&mut self, surveyor: &mut Surveyor, number: u32, look: &RecordInfo) {
        let mut repeats_only = !look.drafts.is_empty();
        for draft in &look.drafts {
            repeats_only &= match &draft.call {
                Some(ToolCall::Answered(id)) => !self.answered.insert(id.clone()),
                _ => false,
            };
        }
        if repeats_only {
            surveyor.set_apart(number, DUPLICATES);
        }
    }

    /// Adds a message in the position of its older version, or at the end.
    fn put(&mut self, surveyor: &mut Surveyor, id: &str, number: u32, text: &str) {
        let (id, says) = (TextHash::of(id), TextHash::of(text));
        self.newest.insert(id, number);
        match self.live.iter_mut().find(|live| live.id == id) {
            Some(live) => {
                surveyor.supersede(live.node, number);
                live.node = number;
                live.says = says;
            }
            None => {
                self.live.push(LiveMessage { id, node: number, says });
                self.tip = Some(number);
            }
        }
        if self.tip.is_none() {
            self.tip = Some(number);
        }
    }

    /// Makes a message of a new list the newest version of the one with its id. A resume clears the list first, and then
    /// writes every message again: these follow each other as the new list says.
    fn replace(
        &mut self,
        surveyor: &mut Surveyor,
        old: Option<u32>,
        id: &str,
        node: u32,
        parent: Parent,
    ) {
        let is_live = |known: &u32| self.live.iter().any(|live| live.node == *known);
        let before = self.newest.insert(TextHash::of(id), node).filter(|known| !is_live(known));
        match (old, before.filter(|_| self.is_cleared)) {
            (Some(old), _) => surveyor.supersede(old, node),
            (None, Some(before)) => {
                surveyor.supersede(before, node);
                if let Some(again) = surveyor.node(node) {
                    (again.parent, again.order) = (parent, node);
                }
            }
            (None, None) => {}
        }
    }

    /// Applies metadata, which may contain all messages.
    fn patch(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let number = surveyor.add(seen, &record_info(seen.tree), Parent::Root);
        if let Some(node) = surveyor.node(number) {
            node.placement = Placement::Aside;
        }
        let key = seen.tree.value_at(&["$set"]).map(|_| "$set");
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
        self.answered.clear();
        for span in all {
            let Some(text) = seen.text.get(span.clone()) else { continue };
            let Ok(tree) = JsonTree::parse(text) else { continue };
            let tree = tree.into_expanded();
            let id = text_at(&tree, &["id"]).unwrap_or_else(|| format!("{}", span.start));
            let old = known.next().filter(|old| is_same_so_far && old.id == TextHash::of(&id));
            is_same_so_far = old.is_some();
            let look = record_info(&tree);
            if let Some(old) = &old
                && old.says == TextHash::of(text)
            {
                let answers = look.drafts.iter().filter_map(|draft| draft.call.clone());
                self.answered.extend(answers.filter_map(|call| match call {
                    ToolCall::Answered(id) => Some(id),
                    ToolCall::Made(_) => None,
                }));
                self.live.push(LiveMessage { id: old.id, node: old.node, says: old.says });
                self.tip = Some(old.node);
                continue;
            }
            let at = RecordSpan {
                offset: seen.at.offset + span.start as u64,
                length: text.len() as u64,
                ..seen.at
            };
            self.tokens.note(&tree);
            let part = ScannedRecord { tree: &tree, text, at, line: seen.line };
            let parent = self.parent();
            let node = surveyor.add_part(&part, &look, parent);
            self.replace(surveyor, old.map(|old| old.node), &id, node, parent);
            self.note_answers(surveyor, node, &look);
            self.live.push(LiveMessage { id: TextHash::of(&id), node, says: TextHash::of(text) });
            self.tip = Some(node);
        }
        self.is_cleared = self.live.len() <= 1;
        if self.tip.is_none() {
            // All messages are gone: the next one starts again after this record.
            if let Some(node) = surveyor.node(number) {
                node.placement = Placement::Chained;
            }
            self.tip = Some(number);
        }
    }
}

/// The offset of the value of a member of the object at `start`.
fn member(text: &str, start: usize, key: &str) -> Option<usize> {
    let list = everturn_json::json::entries(text.as_bytes(), start).ok()??.list;
    let is = |raw: &std::ops::Range<usize>| {
        text.as_bytes()
            .get(raw.clone())
            .is_some_and(|raw| everturn_json::json::key_matches(raw, key))
    };
    list.into_iter().find(|entry| entry.key.as_ref().is_some_and(is)).map(|entry| entry.value.start)
}
