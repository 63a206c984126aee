//! [`select_items`]: orders the items and selects as many as fit.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::item::{ContextItem, ItemKind, ItemPosition, SelectionReason};
use super::render::CHAT_OVERHEAD;
use super::{ContextStrategy, ContextWindow};
use crate::lorebook::SkippedEntry;
use crate::tokens;

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
}

/// Why an item was not selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExclusionReason {
    /// It is larger than the whole budget.
    Alone {
        /// The budget in tokens.
        budget: usize,
    },
    /// It is larger than the remaining budget.
    Room {
        /// The remaining tokens.
        left: usize,
    },
    /// An earlier item did not fit.
    BehindExcluded {
        /// The ID of that item.
        id: String,
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
            ExclusionReason::BehindExcluded { id } => {
                format!("{id}, which precedes it, did not fit")
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
    /// The excluded items. Of the messages after the first one that did not fit, only those with priority in the
    /// strategy are listed.
    pub left_out: Vec<ExcludedItem>,
    /// The number of messages, if known.
    pub count: Option<u64>,
}

/// Selects the items of a prompt.
///
/// The newest message comes first in every strategy, because the answer responds to it. An unreadable message ends the
/// selection with its error.
pub fn select_items<E>(
    window: ContextWindow,
    strategy: ContextStrategy,
    conversation: Conversation<impl Iterator<Item = Result<ContextItem, E>>>,
) -> Result<ContextSelection, E> {
    let Conversation { background, ahead, newest_first, count } = conversation;
    let budget = window.budget();
    let half = budget - budget / 2;
    let mut messages = BudgetedItems::new(half, budget);
    let mut order = MessageOrder::new(strategy, ahead, newest_first);
    messages.take(&mut order)?;
    let all_messages = messages.stopped.is_none();
    let room = if all_messages { budget - messages.used } else { budget / 2 };
    let mut behind = BudgetedItems::new(room, budget);
    for item in background {
        behind.offer(item, SelectionReason::Background);
    }
    if behind.stopped.is_none() && !all_messages {
        messages.extend_budget(budget - behind.used);
        messages.take(&mut order)?;
    }
    messages.exclude_rest(order.rest());
    let mut left_out = messages.left_out;
    left_out.splice(0..0, behind.left_out);
    let included = prompt_order(behind.included, messages.included);
    Ok(ContextSelection { strategy, window, included, left_out, count })
}

/// Items that are taken in order until one does not fit.
struct BudgetedItems {
    room: usize,
    budget: usize,
    used: usize,
    included: Vec<IncludedItem>,
    left_out: Vec<ExcludedItem>,
    /// The item that did not fit, and why it would have been selected.
    stopped: Option<(ContextItem, SelectionReason)>,
}

impl BudgetedItems {
    fn new(room: usize, budget: usize) -> BudgetedItems {
        let (included, left_out) = (Vec::new(), Vec::new());
        BudgetedItems { room, budget, used: 0, included, left_out, stopped: None }
    }

    /// Takes an item, or records why not.
    fn offer(&mut self, item: ContextItem, why: SelectionReason) {
        if let Some((first, _)) = &self.stopped {
            let obstacle = ExclusionReason::BehindExcluded { id: first.id.clone() };
            return self.left_out.push(ExcludedItem {
                kind: item.kind,
                id: item.id,
                why: obstacle,
            });
        }
        match token_cost(&item, self.room - self.used) {
            Some(tokens) => {
                self.used += tokens;
                self.included.push(IncludedItem { item, tokens, why });
            }
            None => {
                let why_not = match token_cost(&item, self.budget) {
                    Some(_) => ExclusionReason::Room { left: self.room - self.used },
                    None => ExclusionReason::Alone { budget: self.budget },
                };
                let left = ExcludedItem { kind: item.kind, id: item.id.clone(), why: why_not };
                self.left_out.push(left);
                self.stopped = Some((item, why));
            }
        }
    }

    /// Takes items until one does not fit.
    fn take<E>(
        &mut self,
        order: &mut MessageOrder<impl Iterator<Item = Result<ContextItem, E>>>,
    ) -> Result<(), E> {
        while self.stopped.is_none() {
            let Some((item, why)) = order.next().transpose()? else { return Ok(()) };
            self.offer(item, why);
        }
        Ok(())
    }

    /// Extends the budget, and retries the item that did not fit.
    fn extend_budget(&mut self, room: usize) {
        self.room = room;
        self.left_out.clear();
        if let Some((item, why)) = self.stopped.take() {
            self.offer(item, why);
        }
    }

    fn exclude_rest(&mut self, items: Vec<(ContextItem, SelectionReason)>) {
        if self.stopped.is_some() {
            items.into_iter().for_each(|(item, why)| self.offer(item, why));
        }
    }
}

/// The tokens of an item, if they do not exceed `limit`.
fn token_cost(item: &ContextItem, limit: usize) -> Option<usize> {
    let limit = limit.checked_sub(CHAT_OVERHEAD)?;
    let tokens = match &item.speaker {
        Some(_) => tokens::count_tokens_up_to(&item.prompt_line(), limit),
        None => tokens::count_tokens_up_to(&item.text, limit),
    };
    tokens.map(|tokens| tokens + CHAT_OVERHEAD)
}

/// The messages in selection order.
struct MessageOrder<M> {
    /// The messages with priority, in reverse order.
    ahead: Vec<(ContextItem, SelectionReason)>,
    newest_first: M,
    started: bool,
    seen: HashSet<String>,
}

impl<E, M: Iterator<Item = Result<ContextItem, E>>> MessageOrder<M> {
    fn new(strategy: ContextStrategy, ahead: Vec<ContextItem>, newest_first: M) -> MessageOrder<M> {
        let wanted = |why: SelectionReason| match strategy {
            ContextStrategy::Sliding => false,
            ContextStrategy::Fixed => why == SelectionReason::Pinned,
            ContextStrategy::Adaptive => true,
        };
        let ahead = ahead.into_iter().filter_map(|item| Some((item.priority_reason()?, item)));
        let mut ahead: Vec<(ContextItem, SelectionReason)> =
            ahead.filter(|(why, _)| wanted(*why)).map(|(why, item)| (item, why)).collect();
        // Pinned messages are taken from the first on, the others from the newest back.
        ahead.sort_by(|(a, a_why), (b, b_why)| {
            let places = match a_why {
                SelectionReason::Pinned => a.place.cmp(&b.place),
                _ => b.place.cmp(&a.place),
            };
            a_why.cmp(b_why).then(places).reverse()
        });
        MessageOrder { ahead, newest_first, started: false, seen: HashSet::new() }
    }

    fn next(&mut self) -> Option<Result<(ContextItem, SelectionReason), E>> {
        loop {
            let (item, why) = if !self.started {
                self.started = true;
                match self.newest_first.next()? {
                    Ok(item) => (item, SelectionReason::Newest),
                    Err(error) => return Some(Err(error)),
                }
            } else if let Some(first) = self.ahead.pop() {
                first
            } else {
                match self.newest_first.next()? {
                    Ok(item) => (item, SelectionReason::Recent),
                    Err(error) => return Some(Err(error)),
                }
            };
            if self.seen.insert(item.id.clone()) {
                return Some(Ok((item, why)));
            }
        }
    }

    /// The messages with priority that were not reached.
    fn rest(self) -> Vec<(ContextItem, SelectionReason)> {
        let MessageOrder { ahead, mut seen, .. } = self;
        ahead.into_iter().rev().filter(|(item, _)| seen.insert(item.id.clone())).collect()
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
            .map(|IncludedItem { item, tokens, why }| {
                json!({"kind": item.kind.as_str(), "id": item.id, "tokens": tokens, "why": why.as_str()})
            })
            .collect();
        let left_out: Vec<Value> = self
            .left_out
            .iter()
            .map(|left| json!({"kind": left.kind.as_str(), "id": left.id, "why": left.why.describe()}))
            .collect();
        json!({
            "strategy": self.strategy.as_str(),
            "size": self.window.size(),
            "reserve": self.window.reserve(),
            "budget": self.window.budget(),
            "used": self.used_tokens(),
            "vocabulary": tokens::VOCABULARY,
            "messages": {"included": self.ids(ItemKind::Message).len(), "all": self.count},
            "included": included,
            "left_out": left_out,
        })
    }
}
