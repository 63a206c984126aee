//! Detects contradictions between a narrator's answer and the state.
//!
//! There are two checks: for words in the text, and for tool results that disagree with the state. The first rules
//! always check words; the second rules do so if `dialog.conflict_text_checks_enabled` is on, otherwise they compare
//! results.

use serde_json::{Map, Value};

pub use super::conflict_report::{Conflict, ConflictKind, ConflictReport};
use super::dialog::DialogType;
use super::document_view::{CampaignView, CharacterFact};
use super::tools::{AppliedCall, FailedCall};

/// Phrases that indicate a change of rules or world. All words here and below are searched anywhere in the lower-case
/// text, also inside other words: "removed" is found by "move". The upstream program does the same, and recorded
/// answers must be judged as it judged them.
const FORBIDDEN: &[&str] = &[
    "change the rules",
    "rewrite the rules",
    "new rule",
    "rules updated",
    "map changed",
    "world changed",
    "timeline changed",
];

/// Words that indicate a change of the state.
pub(crate) const CHANGES: &[&str] = &[
    "move", "moved", "move to", "arrive", "arrives", "enter", "entered", "hp", "health", "damage",
    "heal", "dies", "dead",
];

/// Words that indicate a death.
const DEATHS: &[&str] = &["dead", "dies"];

/// Words that indicate the success of a tool; the first one is shown.
const TOOL_WORDS: &[(&str, &[&str])] = &[
    ("move", &["move", "moved", "arrive", "enter"]),
    ("hp_delta", &["hp", "health", "damage", "heal"]),
    ("map_generate", &["map", "area", "room"]),
];

/// How many characters are shown on both sides of the start of a word.
const AROUND: usize = 20;

/// The context in which an answer is judged.
pub(crate) struct AnswerContext<'a> {
    pub(crate) text: &'a str,
    pub(crate) dialog_type: DialogType,
    pub(crate) applied: &'a [AppliedCall],
    pub(crate) failed: &'a [FailedCall],
    /// The facts about all characters before the tools.
    pub(crate) before: &'a CharacterFacts,
    /// The state after them.
    pub(crate) after: CampaignView<'a>,
}

/// The facts about all characters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CharacterFacts([Map<String, Value>; 3]);

impl CharacterFacts {
    pub(crate) fn of(view: CampaignView<'_>) -> CharacterFacts {
        CharacterFacts(CharacterFact::ALL.map(|fact| view.facts(fact)))
    }
}

/// Searches the text for words.
pub(crate) fn find_text_conflicts(dependencies: &AnswerContext<'_>) -> Vec<Conflict> {
    let text = dependencies.text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let mut conflicts = Vec::new();
    if has(FORBIDDEN) {
        let (kind, found) = (ConflictKind::ForbiddenChange, excerpt_around(&text, "rule"));
        conflicts.push(Conflict::new(kind, "rules_or_world", "no_rule_or_world_change", found));
    }
    if dependencies.dialog_type == DialogType::RuleExplanation {
        return conflicts;
    }
    if has(CHANGES) && dependencies.applied.is_empty() {
        let (kind, found) = (ConflictKind::StateMismatch, excerpt_around(&text, "move"));
        conflicts.push(Conflict::new(kind, "applied_actions", "no_state_change", found));
    }
    for failed in dependencies.failed {
        let words = TOOL_WORDS.iter().find(|(tool, _)| *tool == failed.tool);
        if let Some((tool, words)) = words
            && has(words)
        {
            let found = excerpt_around(&text, words.first().unwrap_or(tool));
            let kind = ConflictKind::ToolResultMismatch;
            conflicts.push(Conflict::new(kind, tool, "tool_failed", found));
        }
    }
    let nobody_is_dead =
        || !dependencies.after.facts(CharacterFact::State).values().any(|state| state == "dead");
    if has(DEATHS) && nobody_is_dead() {
        let (kind, found) = (ConflictKind::StateMismatch, excerpt_around(&text, "dead"));
        conflicts.push(Conflict::new(kind, "character_states", "no_dead_state", found));
    }
    conflicts
}

/// Returns whether a text can be quoted in any answer without being taken for a claim.
pub(crate) fn is_harmless(text: &str) -> bool {
    let text = text.to_lowercase();
    !FORBIDDEN.iter().chain(CHANGES).any(|word| text.contains(word))
}

/// Returns the text around the first occurrence of a word, or the word itself if it does not occur.
fn excerpt_around(text: &str, word: &str) -> String {
    let Some(at) = text.find(word) else { return word.to_owned() };
    let before = text.get(..at).unwrap_or_default().chars().count();
    let start = before.saturating_sub(AROUND);
    text.chars().skip(start).take(before + AROUND - start).collect()
}

/// Compares the results of tools with the state.
pub(crate) fn find_result_conflicts(
    dependencies: &AnswerContext<'_>,
    actor: &str,
) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    if dependencies.applied.is_empty() {
        if !dependencies.failed.is_empty()
            && CharacterFacts::of(dependencies.after) != *dependencies.before
        {
            let found = "state_changed_without_actions".to_owned();
            let kind = ConflictKind::StateMismatch;
            conflicts.push(Conflict::new(kind, "applied_actions", "no_state_change", found));
        }
        return conflicts;
    }
    // Only the last result for a character can match the state.
    let mut seen = Vec::new();
    for action in dependencies.applied.iter().rev() {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let (who, said, is) = match action.tool.as_str() {
            "move" => {
                let who = text(action.args.get("actor_id")).unwrap_or_else(|| actor.to_owned());
                let is = dependencies.after.position(&who).unwrap_or_else(|| "None".to_owned());
                (who, text(action.result.get("to_area_id")), is)
            }
            "hp_delta" => {
                let who = text(action.args.get("target_character_id")).unwrap_or_default();
                let is = dependencies.after.hp(&who).map_or("None".to_owned(), |hp| hp.to_string());
                (who, action.result.get("new_hp").map(Value::to_string), is)
            }
            _ => continue,
        };
        if seen.contains(&(action.tool.as_str(), who.clone())) {
            continue;
        }
        let said = said.unwrap_or_default();
        if said != is {
            let kind = ConflictKind::ToolResultMismatch;
            conflicts.push(Conflict::new(kind, &action.tool, &said, is));
        }
        seen.push((action.tool.as_str(), who));
    }
    conflicts.reverse();
    conflicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_word_is_shown_by_characters() {
        assert_eq!(excerpt_around("you move", "move"), "you move");
        assert_eq!(excerpt_around("nothing", "move"), "move");
        let text = format!("{}move{}", "é".repeat(30), "ü".repeat(30));
        assert_eq!(
            excerpt_around(&text, "move"),
            format!("{}move{}", "é".repeat(20), "ü".repeat(16))
        );
    }
}
