//! [`select_items`]: selects as many items as fit, in the order of choice.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::cut::cut_beginning;
use super::item::{CHAT_OVERHEAD, ContextItem, ItemKind, ItemPosition, SelectionReason};
use super::order::{Candidate, ChoiceOrder};
use super::{ContextError, ContextStrategy, ContextWindow};
use crate::lorebook::SkippedEntry;
use crate::tokens::Vocabulary;

/// After so many messages that did not fit, no older ones are tried.
const MOST_MISSES: usize = 1000;

/// The candidates for a selection.
#[derive(Debug, Clone)]
pub struct Conversation<M> {
    /// Characters, lore and tools, most important first.
    pub background: Vec<ContextItem>,
    /// Messages that are pinned, marked or referenced, in any order. They may also be among the newest.
    pub ahead: Vec<ContextItem>,
    /// All messages, newest first. Only as many as needed are read.
    pub newest_first: M,
    /// The number of messages, if known.
    pub count: Option<u64>,
}

/// A selected item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedItem {
    /// The item.
    pub item: ContextItem,
    /// Its tokens, with the speaker and the separator between messages.
    pub tokens: usize,
    /// Why it was selected.
    pub why: SelectionReason,
    /// Its position in the order of choice, from 0. It does not depend on the size of the window.
    pub rank: usize,
}

/// Why an item was not selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExclusionReason {
    /// It is larger than the whole budget.
    Alone {
        /// The budget in tokens.
        budget: usize,
    },
    /// It is larger than the room that was left when it was its turn.
    Room {
        /// The remaining tokens.
        left: usize,
    },
    /// It was skipped for a reason of its own.
    Passed(String),
}

impl ExclusionReason {
    /// A description of the reason.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            ExclusionReason::Alone { budget } => {
                format!("it needs more than the total budget of {budget} tokens")
            }
            ExclusionReason::Room { left } => {
                format!("it needs more than the remaining {left} tokens")
            }
            ExclusionReason::Passed(why) => why.clone(),
        }
    }
}

/// An item that was not selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedItem {
    /// Its kind.
    pub kind: ItemKind,
    /// Its ID in references.
    pub id: String,
    /// Why it was not selected.
    pub why: ExclusionReason,
}

impl From<&SkippedEntry> for ExcludedItem {
    /// An entry that its lorebook skips.
    fn from(passed: &SkippedEntry) -> ExcludedItem {
        let why = ExclusionReason::Passed(passed.why.clone());
        ExcludedItem { kind: ItemKind::LorebookEntry, id: passed.id.clone(), why }
    }
}

/// The selected and the excluded items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSelection {
    /// The strategy.
    pub strategy: ContextStrategy,
    /// The context window.
    pub window: ContextWindow,
    /// The selected items, in prompt order.
    pub included: Vec<IncludedItem>,
    /// The excluded items, in the order of choice. Messages that were not tried are not among them.
    pub left_out: Vec<ExcludedItem>,
    /// The number of messages, if known.
    pub count: Option<u64>,
    /// How many tokens of the newest message are left out, if it did not fit.
    pub newest_cut: Option<usize>,
}

/// Selects the items of a prompt: each in the order of choice, unless it is larger than the room that is left.
///
/// The newest message comes first in every strategy, because the answer responds to it. If it is larger than the whole
/// budget, its beginning is left out. An unreadable message ends the selection with its error.
pub fn select_items<E: From<ContextError>>(
    window: ContextWindow,
    strategy: ContextStrategy,
    conversation: Conversation<impl Iterator<Item = Result<ContextItem, E>>>,
) -> Result<ContextSelection, E> {
    let Conversation { background, ahead, mut newest_first, count } = conversation;
    let mut chosen = WindowFiller {
        vocabulary: window.vocabulary(),
        budget: window.budget(),
        room: window.budget(),
        rank: 0,
        misses: 0,
        messages: Vec::new(),
        background: Vec::new(),
        left_out: Vec::new(),
        newest_cut: None,
    };
    let mut seen = HashSet::new();
    if let Some(newest) = newest_first.next().transpose()? {
        seen.insert(newest.id.clone());
        chosen.newest(newest)?;
    }
    let counting = (window.vocabulary(), window.budget());
    let mut order = ChoiceOrder::new(strategy, &background, &ahead, newest_first, seen, counting);
    while chosen.is_open() {
        let Some(candidate) = order.next().transpose()? else { break };
        chosen.offer(candidate);
    }
    for candidate in order.into_named() {
        chosen.offer(candidate);
    }
    let WindowFiller { messages, background, left_out, newest_cut, .. } = chosen;
    let included = prompt_order(background, messages);
    Ok(ContextSelection { strategy, window, included, left_out, count, newest_cut })
}

/// Takes items as long as they fit.
struct WindowFiller {
    vocabulary: Vocabulary,
    budget: usize,
    room: usize,
    rank: usize,
    /// The number of messages that did not fit.
    misses: usize,
    messages: Vec<IncludedItem>,
    background: Vec<IncludedItem>,
    left_out: Vec<ExcludedItem>,
    newest_cut: Option<usize>,
}

impl WindowFiller {
    /// Whether another message may fit.
    fn is_open(&self) -> bool {
        self.room >= CHAT_OVERHEAD && self.misses < MOST_MISSES
    }

    /// Takes the newest message, or the end of it.
    fn newest(&mut self, item: ContextItem) -> Result<(), ContextError> {
        let why = SelectionReason::Newest;
        if let Some(tokens) = item.token_cost(self.vocabulary, self.budget) {
            self.offer(Candidate { item, why, tokens: Some(tokens) });
            return Ok(());
        }
        let cut = cut_beginning(&item, self.vocabulary, self.budget)?;
        let tokens = cut.item.token_cost(self.vocabulary, self.budget);
        self.newest_cut = Some(cut.left_out);
        self.offer(Candidate { item: cut.item, why, tokens });
        Ok(())
    }

    /// Takes an item, or records why not.
    fn offer(&mut self, Candidate { item, why, tokens }: Candidate) {
        let rank = self.rank;
        self.rank += 1;
        let Some(tokens) = tokens.filter(|tokens| *tokens <= self.room) else {
            self.misses += usize::from(item.kind == ItemKind::Message);
            let why = match tokens.filter(|tokens| *tokens <= self.budget) {
                Some(_) => ExclusionReason::Room { left: self.room },
                None => ExclusionReason::Alone { budget: self.budget },
            };
            return self.left_out.push(ExcludedItem { kind: item.kind, id: item.id, why });
        };
        self.room -= tokens;
        let side = match item.kind {
            ItemKind::Message => &mut self.messages,
            _ => &mut self.background,
        };
        side.push(IncludedItem { item, tokens, why, rank });
    }
}

/// Sorts by prompt order: lore before the characters, characters, other lore, tools, then the messages, with lore of a
/// certain depth among them.
fn prompt_order(
    background: Vec<IncludedItem>,
    mut messages: Vec<IncludedItem>,
) -> Vec<IncludedItem> {
    let rank = |included: &IncludedItem| match (included.item.kind, included.item.spot) {
        (ItemKind::LorebookEntry, ItemPosition::Before) => 0,
        (ItemKind::CharacterCard, _) => 1,
        (ItemKind::LorebookEntry, ItemPosition::After) => 2,
        (ItemKind::ToolSnapshot | ItemKind::Message, _) => 3,
        (ItemKind::LorebookEntry, ItemPosition::Depth(_)) => 4,
    };
    let mut arranged = background;
    arranged.sort_by_key(rank);
    let deep = arranged.partition_point(|included| rank(included) < 4);
    let mut deep = arranged.split_off(deep);
    messages.sort_by_key(|included| included.item.place);
    let count = messages.len();
    let depth = |included: &IncludedItem| match included.item.spot {
        ItemPosition::Depth(depth) => depth.min(count),
        _ => count,
    };
    deep.sort_by_key(|included| std::cmp::Reverse(depth(included)));
    let mut deep = deep.into_iter().peekable();
    for (at, message) in messages.into_iter().enumerate() {
        while let Some(lore) = deep.next_if(|lore| depth(lore) >= count - at) {
            arranged.push(lore);
        }
        arranged.push(message);
    }
    arranged.extend(deep);
    arranged
}

impl ContextSelection {
    /// The tokens of all selected items.
    #[must_use]
    pub fn used_tokens(&self) -> usize {
        self.included.iter().map(|included| included.tokens).sum()
    }

    /// The IDs of the selected items of a kind, in prompt order.
    #[must_use]
    pub fn ids(&self, kind: ItemKind) -> Vec<&str> {
        let of_kind = self.included.iter().filter(|included| included.item.kind == kind);
        of_kind.map(|included| included.item.id.as_str()).collect()
    }

    /// The value of `context_window` in a chat log.
    #[must_use]
    pub fn context_window(&self) -> Value {
        json!({
            "size": self.window.size(),
            "strategy": self.strategy.as_str(),
            "included_messages": self.ids(ItemKind::Message),
            "included_tool_snapshots": self.ids(ItemKind::ToolSnapshot),
            "included_character_cards": self.ids(ItemKind::CharacterCard),
            "included_lorebook_entries": self.ids(ItemKind::LorebookEntry),
        })
    }

    /// The whole selection as JSON, without the texts.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let included: Vec<Value> = self
            .included
            .iter()
            .map(|IncludedItem { item, tokens, why, .. }| {
                json!({"kind": item.kind.as_str(), "id": item.id, "tokens": tokens, "why": why.as_str()})
            })
            .collect();
        let left_out: Vec<Value> = self
            .left_out
            .iter()
            .map(|left| json!({"kind": left.kind.as_str(), "id": left.id, "why": left.why.describe()}))
            .collect();
        let mut all = json!({
            "strategy": self.strategy.as_str(),
            "size": self.window.size(),
            "reserve": self.window.reserve(),
            "prompts": self.window.prompts(),
            "budget": self.window.budget(),
            "used": self.used_tokens(),
            "vocabulary": self.window.vocabulary().as_str(),
            "messages": {"included": self.ids(ItemKind::Message).len(), "all": self.count},
            "included": included,
            "left_out": left_out,
        });
        if let (Some(cut), Value::Object(members)) = (self.newest_cut, &mut all) {
            members.insert("newest_cut".to_owned(), json!(cut));
        }
        all
    }
}
