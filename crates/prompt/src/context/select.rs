//! The choice: an order of the items, and as many of them as fit.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::item::{Item, Kind, Spot, Why};
use super::render::CHAT_OVERHEAD;
use super::{Strategy, Window};
use crate::lorebook::Passed;
use crate::tokens;

/// What there is to choose from.
#[derive(Debug, Clone)]
pub struct Conversation<M> {
    /// Characters, lore and tools, the most important first.
    pub background: Vec<Item>,
    /// Messages that are pinned, marked or referred to, in any order. Those that are among the newest may be
    /// there too.
    pub ahead: Vec<Item>,
    /// All messages, the newest first. Only as many are taken as are needed.
    pub newest_first: M,
    /// How many messages there are, if that is known.
    pub count: Option<u64>,
}

/// An item that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// The item.
    pub item: Item,
    /// How many tokens it costs, with its speaker and what a model needs to tell messages apart.
    pub tokens: usize,
    /// Why it was chosen.
    pub why: Why,
}

/// Why an item is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It needs more room than the whole window has.
    Alone {
        /// How many tokens the window has for it.
        budget: usize,
    },
    /// It needs more room than is left.
    Room {
        /// How many tokens are left.
        left: usize,
    },
    /// An item that comes before it did not fit.
    Behind {
        /// The id of that item.
        id: String,
    },
    /// It is passed over for a reason of its own.
    Passed(String),
}

impl Obstacle {
    /// The reason in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Obstacle::Alone { budget } => {
                format!("it needs more than all {budget} tokens that there are")
            }
            Obstacle::Room { left } => {
                format!("it needs more than the {left} tokens that are left")
            }
            Obstacle::Behind { id } => format!("{id}, which comes before it, did not fit"),
            Obstacle::Passed(why) => why.clone(),
        }
    }
}

/// An item that is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is.
    pub kind: Kind,
    /// What it is called in references.
    pub id: String,
    /// Why it is not told.
    pub why: Obstacle,
}

impl From<&Passed> for LeftOut {
    /// An entry that its lorebook passes over.
    fn from(passed: &Passed) -> LeftOut {
        let why = Obstacle::Passed(passed.why.clone());
        LeftOut { kind: Kind::LorebookEntry, id: passed.id.clone(), why }
    }
}

/// What is told, and what is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// How the messages were chosen.
    pub strategy: Strategy,
    /// How much room there is.
    pub window: Window,
    /// What is told, in the order of the prompt.
    pub included: Vec<Included>,
    /// What is not told. Of the messages behind the first one that did not fit, only those are named that come
    /// before others by the strategy.
    pub left_out: Vec<LeftOut>,
    /// How many messages there are, if that is known.
    pub count: Option<u64>,
}

/// Chooses what is told.
///
/// The newest message comes first, whatever the strategy: it is what the answer is about. Messages that cannot be read
/// end the selection with their error.
pub fn select<E>(
    window: Window,
    strategy: Strategy,
    conversation: Conversation<impl Iterator<Item = Result<Item, E>>>,
) -> Result<Selection, E> {
    let Conversation { background, ahead, newest_first, count } = conversation;
    let budget = window.budget();
    let half = budget - budget / 2;
    let mut messages = Chain::new(half, budget);
    let mut order = Order::new(strategy, ahead, newest_first);
    messages.take(&mut order)?;
    let all_messages = messages.stopped.is_none();
    let room = if all_messages { budget - messages.used } else { budget / 2 };
    let mut behind = Chain::new(room, budget);
    for item in background {
        behind.offer(item, Why::Background);
    }
    if behind.stopped.is_none() && !all_messages {
        messages.widen(budget - behind.used);
        messages.take(&mut order)?;
    }
    messages.leave(order.rest());
    let mut left_out = messages.left_out;
    left_out.splice(0..0, behind.left_out);
    let included = arrange(behind.included, messages.included);
    Ok(Selection { strategy, window, included, left_out, count })
}

/// Items that are taken one after the other until one does not fit.
struct Chain {
    room: usize,
    budget: usize,
    used: usize,
    included: Vec<Included>,
    left_out: Vec<LeftOut>,
    /// The item that did not fit, and why it would have been chosen.
    stopped: Option<(Item, Why)>,
}

impl Chain {
    fn new(room: usize, budget: usize) -> Chain {
        let (included, left_out) = (Vec::new(), Vec::new());
        Chain { room, budget, used: 0, included, left_out, stopped: None }
    }

    /// Takes an item, or tells why not.
    fn offer(&mut self, item: Item, why: Why) {
        if let Some((first, _)) = &self.stopped {
            let obstacle = Obstacle::Behind { id: first.id.clone() };
            return self.left_out.push(LeftOut { kind: item.kind, id: item.id, why: obstacle });
        }
        match cost(&item, self.room - self.used) {
            Some(tokens) => {
                self.used += tokens;
                self.included.push(Included { item, tokens, why });
            }
            None => {
                let why_not = match cost(&item, self.budget) {
                    Some(_) => Obstacle::Room { left: self.room - self.used },
                    None => Obstacle::Alone { budget: self.budget },
                };
                let left = LeftOut { kind: item.kind, id: item.id.clone(), why: why_not };
                self.left_out.push(left);
                self.stopped = Some((item, why));
            }
        }
    }

    /// Takes items until one does not fit.
    fn take<E>(
        &mut self,
        order: &mut Order<impl Iterator<Item = Result<Item, E>>>,
    ) -> Result<(), E> {
        while self.stopped.is_none() {
            let Some((item, why)) = order.next().transpose()? else { return Ok(()) };
            self.offer(item, why);
        }
        Ok(())
    }

    /// Gives more room, and the item that did not fit another chance.
    fn widen(&mut self, room: usize) {
        self.room = room;
        self.left_out.clear();
        if let Some((item, why)) = self.stopped.take() {
            self.offer(item, why);
        }
    }

    fn leave(&mut self, items: Vec<(Item, Why)>) {
        if self.stopped.is_some() {
            items.into_iter().for_each(|(item, why)| self.offer(item, why));
        }
    }
}

/// What an item costs, if that is not more than `limit`.
fn cost(item: &Item, limit: usize) -> Option<usize> {
    let limit = limit.checked_sub(CHAT_OVERHEAD)?;
    let tokens = match &item.speaker {
        Some(_) => tokens::count_up_to(&item.line(), limit),
        None => tokens::count_up_to(&item.text, limit),
    };
    tokens.map(|tokens| tokens + CHAT_OVERHEAD)
}

/// The messages in the order in which they are chosen.
struct Order<M> {
    /// The messages that come first by the strategy, the first one last.
    ahead: Vec<(Item, Why)>,
    newest_first: M,
    started: bool,
    seen: HashSet<String>,
}

impl<E, M: Iterator<Item = Result<Item, E>>> Order<M> {
    fn new(strategy: Strategy, ahead: Vec<Item>, newest_first: M) -> Order<M> {
        let wanted = |why: Why| match strategy {
            Strategy::Sliding => false,
            Strategy::Fixed => why == Why::Pinned,
            Strategy::Adaptive => true,
        };
        let ahead = ahead.into_iter().filter_map(|item| Some((item.merit()?, item)));
        let mut ahead: Vec<(Item, Why)> =
            ahead.filter(|(why, _)| wanted(*why)).map(|(why, item)| (item, why)).collect();
        // The opening is told from its beginning, the others from the newest one back.
        ahead.sort_by(|(a, a_why), (b, b_why)| {
            let places = match a_why {
                Why::Pinned => a.place.cmp(&b.place),
                _ => b.place.cmp(&a.place),
            };
            a_why.cmp(b_why).then(places).reverse()
        });
        Order { ahead, newest_first, started: false, seen: HashSet::new() }
    }

    fn next(&mut self) -> Option<Result<(Item, Why), E>> {
        loop {
            let (item, why) = if !self.started {
                self.started = true;
                match self.newest_first.next()? {
                    Ok(item) => (item, Why::Newest),
                    Err(error) => return Some(Err(error)),
                }
            } else if let Some(first) = self.ahead.pop() {
                first
            } else {
                match self.newest_first.next()? {
                    Ok(item) => (item, Why::Recent),
                    Err(error) => return Some(Err(error)),
                }
            };
            if self.seen.insert(item.id.clone()) {
                return Some(Ok((item, why)));
            }
        }
    }

    /// Those that come first by the strategy and were not reached.
    fn rest(self) -> Vec<(Item, Why)> {
        let Order { ahead, mut seen, .. } = self;
        ahead.into_iter().rev().filter(|(item, _)| seen.insert(item.id.clone())).collect()
    }
}

/// The order of the prompt: lore before the characters, characters, the other lore, tools, then the messages, and
/// among these the lore that belongs to a certain depth.
fn arrange(background: Vec<Included>, mut messages: Vec<Included>) -> Vec<Included> {
    let rank = |included: &Included| match (included.item.kind, included.item.spot) {
        (Kind::LorebookEntry, Spot::Before) => 0,
        (Kind::CharacterCard, _) => 1,
        (Kind::LorebookEntry, Spot::After) => 2,
        (Kind::ToolSnapshot | Kind::Message, _) => 3,
        (Kind::LorebookEntry, Spot::Depth(_)) => 4,
    };
    let mut arranged = background;
    arranged.sort_by_key(rank);
    let deep = arranged.partition_point(|included| rank(included) < 4);
    let mut deep = arranged.split_off(deep);
    messages.sort_by_key(|included| included.item.place);
    let count = messages.len();
    let depth = |included: &Included| match included.item.spot {
        Spot::Depth(depth) => depth.min(count),
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

impl Selection {
    /// How many tokens everything that is told costs.
    #[must_use]
    pub fn used(&self) -> usize {
        self.included.iter().map(|included| included.tokens).sum()
    }

    /// The ids of the included items of a kind, in the order of the prompt.
    #[must_use]
    pub fn ids(&self, kind: Kind) -> Vec<&str> {
        let of_kind = self.included.iter().filter(|included| included.item.kind == kind);
        of_kind.map(|included| included.item.id.as_str()).collect()
    }

    /// What a chat log keeps under `context_window`.
    #[must_use]
    pub fn context_window(&self) -> Value {
        json!({
            "size": self.window.size(),
            "strategy": self.strategy.as_str(),
            "included_messages": self.ids(Kind::Message),
            "included_tool_snapshots": self.ids(Kind::ToolSnapshot),
            "included_character_cards": self.ids(Kind::CharacterCard),
            "included_lorebook_entries": self.ids(Kind::LorebookEntry),
        })
    }

    /// All of it as JSON, without the texts.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let included: Vec<Value> = self
            .included
            .iter()
            .map(|Included { item, tokens, why }| {
                json!({"kind": item.kind.as_str(), "id": item.id, "tokens": tokens, "why": why.as_str()})
            })
            .collect();
        let left_out: Vec<Value> = self
            .left_out
            .iter()
            .map(|left| json!({"kind": left.kind.as_str(), "id": left.id, "why": left.why.words()}))
            .collect();
        json!({
            "strategy": self.strategy.as_str(),
            "size": self.window.size(),
            "reserve": self.window.reserve(),
            "budget": self.window.budget(),
            "used": self.used(),
            "vocabulary": tokens::VOCABULARY,
            "messages": {"included": self.ids(Kind::Message).len(), "all": self.count},
            "included": included,
            "left_out": left_out,
        })
    }
}
