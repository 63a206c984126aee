//! Builds the prompt: the rules and tools, then the last turns, then the state and the player's input.

use everturn::campaign::{BriefingDetail, Generation, NarratorOutput, NarratorRequest, RuleSet};
use everturn::tokens;
use everturn::tree::JsonTree;
use serde_json::{Value, json};

use super::memory;

/// The approximate overhead of a message in tokens.
const PER_MESSAGE: usize = 6;

/// Returns the messages of a request, within `most` tokens if possible.
///
/// The rules, the state and the input are always included. The state is shortened if it does not fit. A quarter of the
/// remaining room may be used by what is known of earlier turns, and the rest is filled with the last turns.
pub(super) fn messages(request: &NarratorRequest<'_>, most: usize) -> Vec<Value> {
    let system = system(request);
    let mut left = most.saturating_sub(cost(&system));
    let input = cut(request.user_input, left / 3);
    let question = question(request, &input, left);
    left = left.saturating_sub(cost(&question));
    let known = known_before(request, left / 4);
    left = left.saturating_sub(known.as_deref().map_or(0, cost));
    let mut turns: Vec<[Value; 2]> = Vec::new();
    for (at, row) in request.recent.iter().enumerate().rev() {
        let (said, told) = turn(row);
        let before = at.checked_sub(1).and_then(|at| request.recent.get(at)).and_then(results);
        let said = before.map_or(said.clone(), |before| format!("{before}\n\n{said}"));
        let Some(rest) = left.checked_sub(cost(&said) + cost(&told)) else { break };
        left = rest;
        turns.push([message("user", &said), message("assistant", &told)]);
    }
    let first = std::iter::once(message("system", &system));
    let first = first.chain(known.map(|known| message("system", &known)));
    let last = std::iter::once(message("user", &question));
    first.chain(turns.into_iter().rev().flatten()).chain(last).collect()
}

/// Returns what is known beside the last turns, within `most` tokens: lore, recalled turns, and the newest summaries.
fn known_before(request: &NarratorRequest<'_>, most: usize) -> Option<String> {
    let mut left = most;
    let mut fits = |text: &String| match left.checked_sub(cost(text)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let lore: Vec<String> = memory::lore(request).into_iter().filter(&mut fits).collect();
    let recalled: Vec<String> = request.recalled.iter().filter(|it| fits(it)).cloned().collect();
    let summaries = memory::summaries(request.campaign).into_iter().rev();
    let summaries = summaries.map(|it| format!("Turns {} to {}: {}", it.from, it.to, it.text));
    let mut summaries: Vec<String> = summaries.take_while(|it| fits(it)).collect();
    summaries.reverse();
    let part = |label: &str, texts: &[String]| {
        (!texts.is_empty()).then(|| format!("{label}\n{}", texts.join("\n")))
    };
    let parts = [
        part("Lore of this world:", &lore),
        part("The story before the last turns:", &summaries),
        part("Earlier turns that may matter now:", &recalled),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn message(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

fn cost(text: &str) -> usize {
    tokens::count_tokens(text) + PER_MESSAGE
}

/// Truncates a text to about `most` tokens.
fn cut(text: &str, most: usize) -> String {
    let mut part = text;
    while tokens::count_tokens_up_to(part, most).is_none() {
        let half = part.floor_char_boundary(part.len() / 2);
        part = part.get(..half).unwrap_or_default();
    }
    if part.len() == text.len() { text.to_owned() } else { format!("{part} […]") }
}

/// Returns the results of the tool calls of a past turn, if there were any.
fn results(row: &JsonTree) -> Option<String> {
    let list = |path: &[&str]| row.value_at(path).map(|it| it.children()).unwrap_or_default();
    let calls = list(&["assistant_structured", "tool_calls"]);
    let part = |tree: &JsonTree, key: &str| {
        tree.value_at(&[key]).map(|part| part.to_line()).unwrap_or_default()
    };
    let text = |tree: &JsonTree, key: &str| tree.string_at(&[key]).unwrap_or_default();
    let mut lines = Vec::new();
    for (_, done) in list(&["applied_actions"]) {
        let (tool, args) = (text(&done, "tool"), part(&done, "args"));
        lines.push(format!("- {tool} {args}: done, result {}", part(&done, "result")));
    }
    for (_, failed) in list(&["tool_feedback", "failed_calls"]) {
        let id = text(&failed, "id");
        let call = calls.iter().find(|(_, call)| text(call, "id") == id);
        let args = call.map(|(_, call)| part(call, "args")).unwrap_or_default();
        let (tool, status) = (text(&failed, "tool"), text(&failed, "status"));
        lines.push(format!(
            "- {tool} {args}: {status}, {}; nothing changed",
            text(&failed, "reason")
        ));
    }
    (!lines.is_empty()).then(|| format!("Results of your tool calls:\n{}", lines.join("\n")))
}

/// Returns the messages that ask for the text of an answer that has only tool calls.
pub(super) fn ask_for_text(output: &NarratorOutput) -> [Value; 2] {
    let calls: Vec<Value> =
        output.tool_calls.iter().filter_map(|call| call.to_value().ok()).collect();
    let said = json!({"assistant_text": "", "tool_calls": calls}).to_string();
    let asked = "These calls are noted, do not repeat them. Now write the text for the player, in the same form.";
    [message("assistant", &said), message("user", asked)]
}

/// Returns a past turn: the input, and the answer in the requested form. Calls that failed are no examples.
fn turn(row: &JsonTree) -> (String, String) {
    let text = |key: &str| row.string_at(&[key]).unwrap_or_default();
    let calls = row.value_at(&["assistant_structured", "tool_calls"]);
    let calls = calls.map(|calls| calls.children()).unwrap_or_default();
    let failed = row.value_at(&["tool_feedback", "failed_calls"]);
    let failed = failed.map(|failed| failed.children()).unwrap_or_default();
    let has_failed = |call: &JsonTree| {
        failed.iter().any(|(_, failed)| failed.string_at(&["id"]) == call.string_at(&["id"]))
    };
    let calls = calls.iter().filter(|(_, call)| !has_failed(call));
    let calls: Vec<Value> = calls.filter_map(|(_, call)| call.to_value().ok()).collect();
    let told = json!({
        "assistant_text": text("assistant_text"),
        "dialog_type": text("dialog_type"),
        "tool_calls": calls,
    });
    (text("user_input"), told.to_string())
}

const ROLE: &str = "\
You are the narrator of a text role-playing game. You describe what happens. A program keeps the state of the game, \
and only tool calls change it. Write in the player's language, in the second person, two to six sentences: what the player \
sees and hears, and what could be done next. Never decide for the player.";

const SHAPE: &str = "\
Answer with one JSON object and nothing else:
{\"assistant_text\": \"the text for the player\", \"dialog_type\": \"…\", \"tool_calls\": [{\"id\": \"call_001\", \
\"tool\": \"…\", \"args\": {…}, \"reason\": \"why\"}]}
dialog_type is one of scene_description (the scene and its events), action_prompt (asks the player what to do), \
resolution_summary (the outcome of an action), rule_explanation (explains the rules). tool_calls may be empty.";

const CHECKS: &str = "\
Tool calls run in order, and each is checked. A character who is alive may use all tools. A character who is dying may \
only use hp_delta, with a positive delta, on themselves. All others may use none. Never narrate a change that none of \
your tool calls makes, and never change the rules or the world in the text alone.";

/// Returns the instructions about checked words.
fn words(checked: &[&str]) -> String {
    format!(
        "assistant_text is checked: unless a tool call of this answer succeeds, it must not contain any of these \
         words, not even as a part of another word (remove, center): {}. Do not use the words dead or dies while no character \
         has the state dead. A rule_explanation may use all of these words.",
        checked.join(", ")
    )
}

/// Returns the rules, which are the same for every turn.
fn system(request: &NarratorRequest<'_>) -> String {
    let tools: Vec<String> = request
        .tools()
        .iter()
        .map(|tool| format!("- {} {}: {}", tool.name, tool.args, tool.does))
        .collect();
    let tools = match tools.is_empty() {
        true => "There are no tools: nothing can change.".to_owned(),
        false => format!("The tools, with their arguments:\n{}", tools.join("\n")),
    };
    let roads = match request.generation {
        Generation::First => "Connections lead both ways.",
        _ => {
            "Characters can only move to the reachable areas of their own area. Connections may lead one way only."
        }
    };
    let health = match request.generation.rules() {
        RuleSet::First => "Hit points may fall below 0.",
        RuleSet::Second => {
            "Hit points never fall below 0. When all characters are dying or dead, the campaign ends."
        }
    };
    let words = match request.checked_words() {
        [] => None,
        checked => Some(words(checked)),
    };
    let premise = request.premise();
    let parts = [ROLE, SHAPE, &tools, CHECKS, roads, health];
    parts
        .into_iter()
        .chain(words.as_deref())
        .chain(premise.as_deref())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Returns the state, the player's input, and the problem with the last answer.
fn question(request: &NarratorRequest<'_>, input: &str, most: usize) -> String {
    let said = cost(input);
    // The settings choose the detail; a state that leaves no room for a turn or two is shortened.
    let room = most.saturating_sub(said).saturating_mul(3) / 4;
    let all = [BriefingDetail::Full, BriefingDetail::Compressed, BriefingDetail::Brief];
    let mut state = String::new();
    for detail in all.into_iter().filter(|detail| *detail <= request.detail()) {
        state = request.state(detail).to_string();
        if tokens::count_tokens_up_to(&state, room).is_some() {
            break;
        }
    }
    let before = request.recent.last().and_then(results);
    let before = before.map(|before| format!("{before}\n\n")).unwrap_or_default();
    let mut text = format!("{before}The state: {state}\n\nWho acts: {}\n", request.actor);
    if !request.conflicts.is_empty() {
        let conflicts: Vec<Value> = request.conflicts.iter().map(|it| it.to_value()).collect();
        text += &format!(
            "\nYour last answer was rejected, because it contradicted the state: {}\n\
             Answer again, with the tool calls that make the text true, or without that change in the text.\n",
            Value::from(conflicts)
        );
    }
    text + &format!("\nThe player says: {input}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use everturn::campaign::{
        CampaignWriter, Narrator, NarratorError, NarratorOutput, NewCampaign, Submission, create,
    };
    use everturn::store::{MemoryStore, Store};

    use super::*;

    /// Records the messages of each request, and answers with a text.
    struct Spy {
        most: usize,
        seen: Vec<Vec<Value>>,
        answers: Vec<&'static str>,
    }

    impl Narrator for Spy {
        fn narrate(
            &mut self,
            request: &NarratorRequest<'_>,
        ) -> Result<NarratorOutput, NarratorError> {
            self.seen.push(messages(request, self.most));
            let answer = if self.answers.is_empty() { "Quiet." } else { self.answers.remove(0) };
            Ok(NarratorOutput::text(answer))
        }
    }

    fn spy(
        most: usize,
        settings: &[(&str, bool)],
        answers: &[&'static str],
        inputs: &[&str],
    ) -> Spy {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let now = "2026-01-14T16:05:00Z".parse().unwrap();
        let id = create(&store, &NewCampaign::default(), now).unwrap();
        let mut campaign = CampaignWriter::open(store, &id).unwrap();
        let settings: Vec<(String, Value)> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        campaign.patch_settings(&settings).unwrap();
        let mut spy = Spy { most, seen: Vec::new(), answers: answers.to_vec() };
        for input in inputs {
            campaign.submit(&Submission::new(input), &mut spy, now).unwrap();
        }
        spy
    }

    fn content(message: &Value) -> &str {
        message["content"].as_str().unwrap()
    }

    fn size(messages: &[Value]) -> usize {
        messages.iter().map(|message| cost(content(message))).sum()
    }

    #[test]
    fn a_model_is_told_the_rules_the_turns_and_the_state() {
        let spy = spy(8000, &[], &[], &["first", "second"]);
        let messages = spy.seen.last().unwrap();
        let roles: Vec<&str> = messages.iter().map(|it| it["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
        assert!(
            content(&messages[0]).contains("from_area_id")
                && content(&messages[0]).contains("must not contain")
        );
        assert!(!content(&messages[0]).contains("inventory_add"));
        assert_eq!(content(&messages[1]), "first");
        assert_eq!(
            content(&messages[2]),
            r#"{"assistant_text":"Quiet.","dialog_type":"scene_description","tool_calls":[]}"#
        );
        let last = content(&messages[3]);
        assert!(
            last.contains("settings_snapshot") && last.ends_with("The player says: second"),
            "{last}"
        );
    }

    #[test]
    fn the_settings_say_how_much_of_the_state_is_told() {
        let off = ("context.full_context_enabled", false);
        let compressed = spy(8000, &[off, ("context.compress_enabled", true)], &[], &["look"]);
        let told = content(&compressed.seen[0][1]).to_owned();
        assert!(told.contains("counts") && !told.contains("settings_snapshot"), "{told}");
        let brief = spy(8000, &[off], &[], &["look"]);
        let told = content(&brief.seen[0][1]).to_owned();
        assert!(told.contains("reachable") && !told.contains("counts"), "{told}");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let inputs: Vec<String> =
            (0..15).map(|number| format!("{number} {}", "word ".repeat(100))).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let all = spy(100_000, &[], &[], &inputs);
        assert_eq!(all.seen[14].len(), 2 + 2 * 14);
        let some = spy(2000, &[], &[], &inputs);
        let last = &some.seen[14];
        assert!(last.len() > 4 && last.len() < 2 + 2 * 14, "{}", last.len());
        assert!(size(last) <= 2000, "{}", size(last));
        // The oldest turns are left out.
        assert!(content(&last[last.len() - 3]).starts_with("13 "));
        let long = "x y ".repeat(250_000);
        let huge = spy(3000, &[], &[], &[&long]);
        assert!(size(&huge.seen[0]) <= 3000, "{}", size(&huge.seen[0]));
        assert!(content(&huge.seen[0][1]).ends_with("[…]"));
        let little = spy(100, &[], &[], &["look"]);
        assert_eq!(little.seen[0].len(), 2);
        assert!(!content(&little.seen[0][1]).contains("settings_snapshot"));
    }

    #[test]
    fn a_model_is_told_the_results_of_its_calls() {
        let row = JsonTree::parse(
            r#"{"user_input": "go", "assistant_text": "You go.", "dialog_type": "x",
            "assistant_structured": {"tool_calls": [
                {"id": "a", "tool": "map_generate", "args": {"parent_area_id": "area_001"}},
                {"id": "b", "tool": "give_item", "args": {"delta": "-3"}}]},
            "applied_actions": [{"tool": "map_generate", "args": {"parent_area_id": "area_001"},
                "result": {"new_area_id": "area_003"}}],
            "tool_feedback": {"failed_calls": [{"id": "b", "tool": "give_item", "status": "rejected",
                "reason": "tool_not_allowed"}]}}"#,
        )
        .unwrap();
        let told = results(&row).unwrap();
        assert!(told.contains("done, result {\"new_area_id\":\"area_003\"}"), "{told}");
        assert!(
            told.contains("give_item {\"delta\":\"-3\"}: rejected, tool_not_allowed"),
            "{told}"
        );
        let (_, example) = turn(&row);
        assert!(example.contains("map_generate") && !example.contains("give_item"), "{example}");
        assert_eq!(results(&JsonTree::parse("{}").unwrap()), None);
    }

    #[test]
    fn a_model_is_told_what_was_wrong() {
        let spy = spy(8000, &[], &["You move on."], &["go"]);
        assert_eq!(spy.seen.len(), 2);
        assert!(!content(&spy.seen[0][1]).contains("was rejected"));
        let again = content(&spy.seen[1][1]);
        assert!(again.contains("was rejected") && again.contains("state_mismatch"), "{again}");
    }
}
