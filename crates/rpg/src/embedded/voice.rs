//! Chooses sentences that were not told lately: [`Voice`].

use std::collections::BTreeSet;

use super::dice::Dice;
use super::grammar::Slots;
use everturn_value::tree::JsonTree;

/// Knows the sentences of the last turns.
#[derive(Debug, Clone)]
pub(super) struct Voice {
    told: BTreeSet<String>,
    dice: Dice,
    choices: u64,
}

/// Returns the sentences of a text. A sentence ends with a stop, a question or an exclamation mark before a space, with
/// the quotation marks that follow it, or with the line.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut sentence = String::new();
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            sentence.push(letter);
            let closes = |c: char| matches!(c, '.' | '!' | '?' | '…' | '"' | '“' | '”' | '«');
            let is_end =
                sentence.trim_end_matches(['"', '“', '”', '«']).ends_with(['.', '!', '?', '…']);
            if closes(letter) && is_end && letters.peek().is_none_or(|next| next.is_whitespace()) {
                found.push(std::mem::take(&mut sentence).trim().to_owned());
            }
        }
        found.push(sentence.trim().to_owned());
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

impl Voice {
    /// Creates a voice that knows the texts of these rows.
    pub(super) fn new(recent: &[JsonTree], dice: Dice) -> Voice {
        let texts = recent.iter().filter_map(|row| row.string_at(&["assistant_text"]));
        let told = texts.flat_map(|text| sentences(&text)).collect();
        Voice { told, dice, choices: 0 }
    }

    /// Returns one of the variants, filled, of which no sentence was told lately. Returns `None` if there is none left.
    pub(super) fn choose(&mut self, variants: &[String], slots: &Slots) -> Option<String> {
        self.choices += 1;
        let start = self.dice.of("voice").number(self.choices).below(variants.len() as u64);
        let start = usize::try_from(start).unwrap_or_default();
        let (after, first) = variants.split_at(start.min(variants.len()));
        for variant in first.iter().chain(after) {
            let text = slots.fill(variant);
            let parts = sentences(&text);
            if parts.iter().all(|part| !self.told.contains(part)) {
                self.told.extend(parts);
                return Some(text);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        let text = "\"Come here,\" he says. \"Now!\" It is late.\nWays: north.\n\"No. Yes.\"";
        let expect = [
            "\"Come here,\" he says.",
            "\"Now!\"",
            "It is late.",
            "Ways: north.",
            "\"No.",
            "Yes.\"",
        ];
        assert_eq!(sentences(text), expect);
    }

    #[test]
    fn a_sentence_is_chosen_once() {
        let variants: Vec<String> = ["A. B.", "C.", "A."].map(str::to_owned).to_vec();
        let mut voice = Voice::new(&[], Dice::new(1));
        let all: Vec<_> = (0..4).map(|_| voice.choose(&variants, &Slots::new())).collect();
        let chosen: Vec<&String> = all.iter().flatten().collect();
        assert_eq!(chosen.len(), 2, "{all:?}");
        assert!(all.iter().flatten().any(|text| text == "C."));
    }
}
