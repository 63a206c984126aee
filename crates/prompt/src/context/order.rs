//! The order in which items are chosen. It depends on their sizes, but not on that of the window.
//!
//! Items are in classes, each with an order of its own. The classes take turns: each has a weight, and the next item is
//! that of the class which has had the fewest tokens for its weight. So every class has its share, however large the
//! window is, and what one class does not need goes to the others. [`ChoiceOrder`] merges the classes.

use std::collections::{HashSet, VecDeque};

use super::ContextStrategy;
use super::item::{ContextItem, ItemKind, SelectionReason};
use crate::tokens::Vocabulary;

/// A large item counts as this many tokens for the share of its class, so that it does not hold up the items behind it.
const LARGE: usize = 1024;

/// A class of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemClass {
    /// Messages that the caller pins.
    Pinned,
    /// Characters.
    Cards,
    /// Messages, newest first.
    Recent,
    /// Messages that are marked or referenced.
    Marked,
    /// Entries of lorebooks.
    Lore,
    /// The states of tools.
    Tools,
}

impl ItemClass {
    /// All classes; among equals, the first one comes first.
    const ALL: [ItemClass; 6] = [
        ItemClass::Pinned,
        ItemClass::Cards,
        ItemClass::Recent,
        ItemClass::Marked,
        ItemClass::Lore,
        ItemClass::Tools,
    ];

    /// The share of the class.
    fn weight(self) -> usize {
        match self {
            ItemClass::Pinned | ItemClass::Cards => 4,
            ItemClass::Recent => 5,
            ItemClass::Marked | ItemClass::Lore => 2,
            ItemClass::Tools => 1,
        }
    }

    /// Whether an item may use the share of its class before the others have had theirs. A pinned message and a
    /// character are included if they fit at all.
    fn comes_early(self) -> bool {
        matches!(self, ItemClass::Pinned | ItemClass::Cards)
    }
}

/// An item in the order of choice.
pub(super) struct Candidate {
    pub(super) item: ContextItem,
    pub(super) why: SelectionReason,
    /// Its tokens; `None` if it is larger than the whole budget.
    pub(super) tokens: Option<usize>,
}

/// The items of a class that wait for their turn.
struct ClassQueue {
    class: ItemClass,
    waiting: VecDeque<(ContextItem, SelectionReason)>,
    /// The next item, with its tokens.
    head: Option<Candidate>,
    /// The tokens that the class has had.
    had: usize,
}

impl ClassQueue {
    /// When the next item has its turn, in tokens for each unit of weight, times a constant.
    fn turn(&self) -> Option<usize> {
        let head = self.head.as_ref()?;
        let size = if self.class.comes_early() { 0 } else { counted(head) };
        // A common multiple of the weights keeps the comparison exact.
        Some(self.had.saturating_add(size).saturating_mul(40) / self.class.weight())
    }
}

/// The tokens of an item for the share of its class.
fn counted(candidate: &Candidate) -> usize {
    candidate.tokens.unwrap_or(LARGE).min(LARGE)
}

/// All items but the newest message, in the order of choice.
pub(super) struct ChoiceOrder<M> {
    queues: Vec<ClassQueue>,
    newest_first: M,
    seen: HashSet<String>,
    vocabulary: Vocabulary,
    /// Tokens are counted up to this number.
    limit: usize,
}

impl<E, M: Iterator<Item = Result<ContextItem, E>>> ChoiceOrder<M> {
    pub(super) fn new(
        strategy: ContextStrategy,
        background: &[ContextItem],
        ahead: &[ContextItem],
        newest_first: M,
        seen: HashSet<String>,
        (vocabulary, budget): (Vocabulary, usize),
    ) -> ChoiceOrder<M> {
        let queue = |class: ItemClass| {
            let background = background.iter().filter(|item| class_of(item.kind) == Some(class));
            let background = background.map(|item| (item.clone(), SelectionReason::Background));
            let messages = ahead.iter().filter_map(|item| {
                let why = item.priority_reason(strategy)?;
                let own = match why {
                    SelectionReason::Pinned => ItemClass::Pinned,
                    _ => ItemClass::Marked,
                };
                (own == class).then(|| (item.clone(), why))
            });
            let mut messages: Vec<(ContextItem, SelectionReason)> = messages.collect();
            // Pinned messages are taken from the first on, the others from the newest back.
            messages.sort_by(|(a, a_why), (b, b_why)| {
                let places = match a_why {
                    SelectionReason::Pinned => a.place.cmp(&b.place),
                    _ => b.place.cmp(&a.place),
                };
                a_why.cmp(b_why).then(places)
            });
            let waiting = background.chain(messages).collect();
            ClassQueue { class, waiting, head: None, had: 0 }
        };
        let queues = ItemClass::ALL.into_iter().map(queue).collect();
        ChoiceOrder { queues, newest_first, seen, vocabulary, limit: budget.max(LARGE) }
    }

    pub(super) fn next(&mut self) -> Option<Result<Candidate, E>> {
        for at in 0..self.queues.len() {
            if let Err(error) = self.fill(at) {
                return Some(Err(error));
            }
        }
        let turns = self.queues.iter_mut().filter_map(|queue| Some((queue.turn()?, queue)));
        let (_, queue) = turns.min_by_key(|(turn, _)| *turn)?;
        let candidate = queue.head.take()?;
        queue.had = queue.had.saturating_add(counted(&candidate));
        if candidate.item.kind == ItemKind::Message {
            self.seen.insert(candidate.item.id.clone());
        }
        Some(Ok(candidate))
    }

    /// Gets the next item of a class, unless it waits already. An item that had its turn in another class is skipped.
    fn fill(&mut self, at: usize) -> Result<(), E> {
        loop {
            let Some(queue) = self.queues.get_mut(at) else { return Ok(()) };
            if let Some(head) = &queue.head {
                // A message may have been chosen in another class in the meantime.
                if head.item.kind != ItemKind::Message || !self.seen.contains(&head.item.id) {
                    return Ok(());
                }
            }
            queue.head = None;
            let next = match queue.class {
                ItemClass::Recent => {
                    let next = self.newest_first.next().transpose()?;
                    next.map(|item| (item, SelectionReason::Recent))
                }
                _ => queue.waiting.pop_front(),
            };
            let Some((item, why)) = next else { return Ok(()) };
            if item.kind == ItemKind::Message && self.seen.contains(&item.id) {
                continue;
            }
            let tokens = item.token_cost(self.vocabulary, self.limit);
            queue.head = Some(Candidate { item, why, tokens });
            return Ok(());
        }
    }

    /// The items that were not reached, except messages that nothing but their age would bring in.
    pub(super) fn into_named(self) -> Vec<Candidate> {
        let ChoiceOrder { queues, mut seen, vocabulary, limit, .. } = self;
        let mut named = Vec::new();
        for queue in queues.into_iter().filter(|queue| queue.class != ItemClass::Recent) {
            named.extend(queue.head);
            named.extend(queue.waiting.into_iter().map(|(item, why)| {
                let tokens = item.token_cost(vocabulary, limit);
                Candidate { item, why, tokens }
            }));
        }
        named.retain(|one| one.item.kind != ItemKind::Message || seen.insert(one.item.id.clone()));
        named
    }
}

fn class_of(kind: ItemKind) -> Option<ItemClass> {
    match kind {
        ItemKind::Message => None,
        ItemKind::CharacterCard => Some(ItemClass::Cards),
        ItemKind::LorebookEntry => Some(ItemClass::Lore),
        ItemKind::ToolSnapshot => Some(ItemClass::Tools),
    }
}
