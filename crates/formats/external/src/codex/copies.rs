//! Utterances that are recorded twice: once for the model, once for the display.

use std::collections::HashMap;

use crate::record::TextHash;
use everturn_session::model::EntryKind;

/// The key of an utterance, made from its kind and its text: the same for both copies.
fn utterance_key(kind: &EntryKind, text: &str) -> TextHash {
    TextHash::of(&format!("{kind} {}", text.trim()))
}

/// The keys under which an utterance may be repeated: as a whole and, if it has several texts, text by text.
pub(super) struct UtteranceKeys {
    wholes: Vec<TextHash>,
    singles: Vec<TextHash>,
}

impl UtteranceKeys {
    pub(super) fn of(kind: &EntryKind, texts: &[String]) -> UtteranceKeys {
        let mut wholes =
            vec![utterance_key(kind, &texts.concat()), utterance_key(kind, &texts.join("\n"))];
        wholes.dedup();
        let singles = match texts.len() {
            0 | 1 => Vec::new(),
            _ => texts.iter().map(|text| utterance_key(kind, text)).collect(),
        };
        UtteranceKeys { wholes, singles }
    }
}

/// Utterances of which only one copy has been seen so far, by the numbers of their records.
#[derive(Default)]
pub(super) struct UtteranceCopies {
    events: HashMap<TextHash, Vec<u32>>,
    items: HashMap<TextHash, Vec<u32>>,
    /// The keys under which items with several keys may still be repeated.
    open: HashMap<u32, UtteranceKeys>,
}

fn take(waiting: &mut HashMap<TextHash, Vec<u32>>, key: TextHash) -> Option<u32> {
    waiting.get_mut(&key).and_then(Vec::pop)
}

impl UtteranceCopies {
    /// Adds an event. Returns whether it repeats an item.
    pub(super) fn event(&mut self, said: &UtteranceKeys, number: u32) -> bool {
        for &key in &said.wholes {
            if let Some(item) = take(&mut self.items, key) {
                self.narrow(item, key);
                return true;
            }
        }
        if let Some(&key) = said.wholes.first() {
            self.events.entry(key).or_default().push(number);
        }
        false
    }

    /// Adds an item. Returns the events that it repeats.
    pub(super) fn item(&mut self, said: UtteranceKeys, number: u32) -> Vec<u32> {
        if let Some(event) = said.wholes.iter().find_map(|key| take(&mut self.events, *key)) {
            return vec![event];
        }
        let (mut events, mut singles) = (Vec::new(), Vec::new());
        for key in said.singles {
            match take(&mut self.events, key) {
                Some(event) => events.push(event),
                None => singles.push(key),
            }
        }
        let wholes = if events.is_empty() { said.wholes } else { Vec::new() };
        for key in singles.iter().chain(&wholes) {
            self.items.entry(*key).or_default().push(number);
        }
        if singles.len() + wholes.len() > 1 {
            self.open.insert(number, UtteranceKeys { wholes, singles });
        }
        events
    }

    /// Notes that an item was repeated as a whole or text by text, which excludes the other.
    fn narrow(&mut self, item: u32, by: TextHash) {
        let Some(open) = self.open.get_mut(&item) else { return };
        let is_whole = open.wholes.contains(&by);
        let mut over = std::mem::take(&mut open.wholes);
        if is_whole {
            over.append(&mut open.singles);
            self.open.remove(&item);
        }
        for key in over {
            if let Some(waiting) = self.items.get_mut(&key) {
                waiting.retain(|known| *known != item);
            }
        }
    }
}
