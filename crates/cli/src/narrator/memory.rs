//! What a model receives about turns that its prompt does not contain: summaries of ranges of turns, which the model writes
//! and the campaign stores ([`Summary`]), and entries of lorebooks.

use everturn::campaign::NarratorRequest;
use everturn::lorebook::{Lorebook, ScanOptions, activate_entries};
use everturn::tree::JsonTree;
use serde_json::{Value, json};

/// How many of the last turns are never summarized.
const KEPT: usize = 20;

/// How many turns a summary covers.
const RANGE: usize = 20;

/// How many texts are searched for the keys of lorebooks.
const SCANNED: usize = 6;

/// The path of the summaries in the document.
pub(super) const PATH: [&str; 3] = ["everturn", "memory", "summaries"];

/// A summary of a range of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) text: String,
}

/// Returns the number of the turn of a row.
pub(super) fn turn_of(row: &JsonTree) -> Option<u64> {
    row.string_at(&["turn_id"])?.rsplit('_').next()?.parse().ok()
}

/// Returns the stored summaries, oldest first.
pub(super) fn summaries(campaign: &JsonTree) -> Vec<Summary> {
    let all = campaign.value_at(&PATH).map(|all| all.children()).unwrap_or_default();
    let number = |tree: &JsonTree, key: &str| tree.text_at(&[key])?.as_str().parse::<u64>().ok();
    let found = all.iter().filter_map(|(_, one)| {
        let (from, to) = (number(one, "from_turn")?, number(one, "to_turn")?);
        Some(Summary { from, to, text: one.string_at(&["text"])? })
    });
    found.collect()
}

/// Returns the value that stores summaries.
pub(super) fn to_value(summaries: &[Summary]) -> Value {
    let one = |it: &Summary| json!({"from_turn": it.from, "to_turn": it.to, "text": it.text});
    summaries.iter().map(one).collect()
}

/// Returns the rows that should be summarized now: the oldest ones that no summary covers, if there are enough.
pub(super) fn due<'r>(request: &NarratorRequest<'r>) -> Option<&'r [JsonTree]> {
    let covered = summaries(request.campaign).last().map_or(0, |last| last.to);
    let is_new = |row: &JsonTree| turn_of(row).is_some_and(|turn| turn > covered);
    let start = request.recent.iter().position(is_new)?;
    let open = request.recent.get(start..)?;
    open.get(..RANGE).filter(|_| open.len() >= KEPT + RANGE)
}

const TASK: &str = "\
You write the memory of a text role-playing game. Summarize these turns in at most 120 words, in the language of the \
turns: who was met, what was found, promised, won or lost, and what is still open. Use names. Write plain text, no JSON.";

/// Returns the messages that ask for a summary.
pub(super) fn messages(rows: &[JsonTree]) -> Vec<Value> {
    let mut told = String::new();
    for row in rows {
        let text = |key: &str| row.string_at(&[key]).unwrap_or_default();
        told += &format!("Player: {}\nNarrator: {}\n", text("user_input"), text("assistant_text"));
    }
    vec![json!({"role": "system", "content": TASK}), json!({"role": "user", "content": told})]
}

/// Returns the contents of the lorebook entries that the input and the last turns activate.
pub(super) fn lore(request: &NarratorRequest<'_>) -> Vec<String> {
    let books = request.campaign.value_at(&["everturn", "lorebooks"]);
    let books = books.map(|books| books.children()).unwrap_or_default();
    if books.is_empty() {
        return Vec::new();
    }
    let mut texts = vec![request.user_input.to_owned()];
    for row in request.recent.iter().rev().take(SCANNED) {
        texts.extend(row.string_at(&["assistant_text"]));
        texts.extend(row.string_at(&["user_input"]));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for (number, book) in books {
        // A book that another program has damaged has no entries.
        let Ok(book) = Lorebook::read(book.to_line().as_bytes(), &number) else { continue };
        let activation = activate_entries(&book, &texts, &ScanOptions::default());
        found.extend(activation.active.iter().map(|active| active.entry.content.clone()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read_as_they_were_stored() {
        let all = vec![
            Summary { from: 1, to: 20, text: "A crown.".to_owned() },
            Summary { from: 21, to: 40, text: "Lost.".to_owned() },
        ];
        let document = json!({"everturn": {"memory": {"summaries": to_value(&all)}}});
        assert_eq!(summaries(&JsonTree::from_value(&document).unwrap()), all);
        assert_eq!(summaries(&JsonTree::parse("{}").unwrap()), []);
        let row = JsonTree::parse(r#"{"turn_id": "turn_10000"}"#).unwrap();
        assert_eq!(turn_of(&row), Some(10_000));
    }
}
