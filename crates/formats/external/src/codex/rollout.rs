//! A rollout of Codex while it is being read.

use everturn_session::model::EntryKind;
use everturn_value::outline::text_at;
use everturn_value::tree::{JsonTree, ValueKind as Shape};

use super::copies::{UtteranceCopies, UtteranceKeys};
use super::entries::{reasoning_texts, record_info, unpacked};
use super::tokens::CodexTokens;
use crate::blocks::count_at;
use crate::peek::SessionInfo;
use crate::record::{EntryDraft, Parent, RecordInfo, RecordRole};
use crate::survey::{DUPLICATES, ScannedRecord, Surveyor};

/// The session info of the first line: whether it is a branch of another session, or a helper's session.
pub(super) fn session_info(record: &JsonTree) -> SessionInfo {
    let (kind, payload) = unpacked(record);
    if kind != "session_meta" {
        return SessionInfo::default();
    }
    let parent = ["forked_from_id", "parent_thread_id"];
    let parent = parent.iter().find_map(|key| text_at(&payload, &[key]));
    let is_helper = payload.value_at(&["source", "subagent"]).is_some()
        || text_at(&payload, &["thread_source"]).as_deref() == Some("subagent");
    SessionInfo { name: None, parent, is_helper }
}

/// The texts of an utterance without the placeholders of images: the part that both copies have in common.
fn utterance_texts(kind: &str, payload: &JsonTree, draft: &EntryDraft) -> Vec<String> {
    if kind == "response_item" && draft.kind == EntryKind::thinking() {
        return reasoning_texts(payload);
    }
    let content = match kind {
        "response_item" => payload.value_at(&["content"]),
        _ => payload.value_at(&["item", "content"]),
    };
    let Some(content) = content.filter(|content| content.kind() == Shape::Array) else {
        return vec![draft.text.clone()];
    };
    content.children().iter().filter_map(|(_, block)| text_at(block, &["text"])).collect()
}

/// A rollout while it is being read.
#[derive(Default)]
pub(super) struct Rollout {
    pub(super) tip: Option<u32>,
    copies: UtteranceCopies,
    /// The prompts of the main line so far.
    prompts: Vec<u32>,
    /// The tokens; `None` if they belong to another session.
    pub(super) tokens: Option<CodexTokens>,
    pub(super) info: SessionInfo,
    /// Whether a record of the file has been seen.
    is_begun: bool,
}

impl Rollout {
    /// A file whose records follow the record `tip`.
    pub(super) fn after(tip: Option<u32>, mut tokens: Option<CodexTokens>) -> Rollout {
        if let Some(tokens) = &mut tokens {
            tokens.begin_file();
        }
        Rollout { tip, tokens, ..Rollout::default() }
    }

    pub(super) fn keep(&mut self, surveyor: &mut Surveyor, seen: &ScannedRecord<'_>) {
        let (kind, payload) = unpacked(seen.tree);
        let look = record_info(seen.tree);
        if kind == "event_msg"
            && text_at(&payload, &["type"]).as_deref() == Some("thread_rolled_back")
        {
            self.revert_turns(surveyor, count_at(&payload, &["num_turns"]));
        }
        if let Some(tokens) = self.tokens.as_mut().filter(|_| kind == "session_meta") {
            tokens.begin(&payload);
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            self.info = session_info(seen.tree);
        }
        let number = surveyor.add(seen, &look, self.tip.map_or(Parent::Root, Parent::Number));
        self.tip = Some(number);
        if let Some(tokens) = &mut self.tokens {
            tokens.note(&kind, &payload, look.time);
        }
        let prompts = look.role == RecordRole::Prompt;
        let is_new = match kind.as_str() {
            "event_msg" => self.match_event(surveyor, number, &look, &payload),
            "response_item" => self.match_item(surveyor, number, &look, &payload),
            _ => true,
        };
        if prompts && is_new {
            self.prompts.push(number);
        }
    }

    /// Undoes the last turns: the following records branch off there.
    fn revert_turns(&mut self, surveyor: &mut Surveyor, turns: u64) {
        let keep = self.prompts.len().saturating_sub(usize::try_from(turns).unwrap_or(usize::MAX));
        if let Some(&first) = self.prompts.get(keep) {
            self.tip = surveyor.node(first).and_then(|node| match node.parent {
                Parent::Number(before) => Some(before),
                _ => None,
            });
            self.prompts.truncate(keep);
        }
    }

    /// Sets an event apart if it repeats an item. Returns whether it is new.
    fn match_event(
        &mut self,
        surveyor: &mut Surveyor,
        number: u32,
        look: &RecordInfo,
        payload: &JsonTree,
    ) -> bool {
        let Some(draft) = look.drafts.first() else { return true };
        if look.role == RecordRole::Link {
            return true;
        }
        let said = UtteranceKeys::of(&draft.kind, &utterance_texts("event_msg", payload, draft));
        let is_copy = self.copies.event(&said, number);
        if is_copy {
            surveyor.set_apart(number, DUPLICATES);
        }
        !is_copy
    }

    /// Sets apart the events that an item repeats. Returns whether the item starts a new turn.
    fn match_item(
        &mut self,
        surveyor: &mut Surveyor,
        number: u32,
        look: &RecordInfo,
        payload: &JsonTree,
    ) -> bool {
        let Some(draft) = look.drafts.first().filter(|draft| {
            matches!(draft.kind, EntryKind::User | EntryKind::Assistant)
                || draft.kind == EntryKind::thinking()
        }) else {
            return true;
        };
        let said =
            UtteranceKeys::of(&draft.kind, &utterance_texts("response_item", payload, draft));
        let mut is_new = true;
        for event in self.copies.item(said, number) {
            surveyor.set_apart(event, DUPLICATES);
            if let Some(place) = self.prompts.iter_mut().rfind(|prompt| **prompt == event) {
                *place = number;
                is_new = false;
            }
        }
        is_new
    }
}
