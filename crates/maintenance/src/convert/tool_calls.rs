//! Tool calls and their results: [`ToolCall`] is what a record says, [`CallPairs`] which result belongs to which call.

use std::collections::HashMap;

use everturn_session::model::{Entry, EntryKind};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

/// What the record of a call or a result contains besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolCall {
    /// The ID of the call.
    pub(super) id: Option<String>,
    /// The name of the tool, if it is more than the first word of the text.
    pub(super) tool: Option<String>,
}

/// The difference that is reported if results belong to other calls than before.
pub(super) const MISPAIRED: &str = "the pairing of tool calls and results";

/// Where programs keep the parts of a message. If an entry has the whole record, the first part is its own.
const LISTS: &[&[&str]] =
    &[&["message", "content"], &["content"], &["tool_calls"], &["toolCalls"], &["parts"], &[]];

/// Where a call contains the name of the tool.
const NAMES: &[&[&str]] = &[
    &["name"],
    &["tool"],
    &["function", "name"],
    &["functionCall", "name"],
    &["toolCall", "value", "name"],
    &["toolCall", "name"],
];

/// Where a call contains its ID.
const CALLS: &[&[&str]] = &[&["call_id"], &["callID"], &["id"], &["functionCall", "id"]];

/// Where a result contains the ID of its call.
const ANSWERS: &[&[&str]] = &[
    &["tool_use_id"],
    &["tool_call_id"],
    &["toolCallId"],
    &["call_id"],
    &["callID"],
    &["functionResponse", "id"],
];

impl ToolCall {
    /// What a record, or a part of it, contains about its entry.
    pub(super) fn of(entry: &Entry, record: &JsonTree) -> ToolCall {
        if !matches!(entry.kind, EntryKind::ToolCall | EntryKind::ToolResult) || record.is_null() {
            return ToolCall::default();
        }
        let listed = LISTS.iter().filter_map(|path| record.value_at(path));
        let listed = listed.filter(|list| list.kind() == Shape::Array);
        let listed = listed.flat_map(|list| list.children()).map(|(_, part)| part);
        let whole = ["payload", "message"].into_iter().filter_map(|key| record.value_at(&[key]));
        let mut parts = listed.chain(whole).chain([record.clone()]);
        match entry.kind {
            EntryKind::ToolCall => {
                parts.find_map(|part| parse_call(&part.into_expanded(), &entry.text))
            }
            _ => parts.find_map(|part| parse_answer(&part.into_expanded())),
        }
        .unwrap_or_default()
    }

    /// The name of the tool and its arguments, from the text of the call.
    pub(super) fn split<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let named = self.tool.as_ref().and_then(|tool| {
            let (name, rest) = text.split_at_checked(tool.len())?;
            (name == tool).then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
        });
        named.unwrap_or_else(|| text.split_once(' ').unwrap_or((text, "")))
    }
}

fn first(part: &JsonTree, places: &[&[&str]]) -> Option<String> {
    places.iter().find_map(|path| part.string_at(path))
}

fn is_kind(part: &JsonTree, wanted: fn(&str) -> bool) -> bool {
    part.string_at(&["type"]).is_some_and(|kind| wanted(&kind))
}

/// Parses the part of a record that calls a tool.
fn parse_call(part: &JsonTree, text: &str) -> Option<ToolCall> {
    let name = first(part, NAMES);
    if name.is_none() && !is_kind(part, |kind| kind.ends_with("_call")) {
        return None;
    }
    let is_more = |name: &String| name.contains(' ') && text.starts_with(name.as_str());
    Some(ToolCall { id: first(part, CALLS), tool: name.filter(is_more) })
}

/// Parses the part of a record that contains the result of a tool.
fn parse_answer(part: &JsonTree) -> Option<ToolCall> {
    let is_answer = |kind: &str| kind == "toolResponse" || kind.ends_with("_output");
    let own = || part.string_at(&["id"]).filter(|_| is_kind(part, is_answer));
    // Campaigns store the IDs of calls only with failed ones.
    let has = |key: &str| part.value_at(&[key]).is_some();
    let failed = || part.string_at(&["id"]).filter(|_| has("tool") && has("status"));
    let id = first(part, ANSWERS).or_else(own).or_else(failed)?;
    Some(ToolCall { id: Some(id), tool: None })
}

/// The name of a tool as models may write it.
pub(super) fn tool_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

/// Which result belongs to which call: the index of the other entry, by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CallPairs {
    partner: Vec<Option<usize>>,
}

impl CallPairs {
    /// Pairs calls and results. A result that names a call belongs to that call or to none. Otherwise it belongs to the
    /// first open call of its tool since the last message, or to the first open call at all.
    pub(super) fn of<'e>(entries: impl Iterator<Item = (&'e Entry, &'e ToolCall)>) -> CallPairs {
        let entries: Vec<(&Entry, &ToolCall)> = entries.collect();
        let mut pairs = CallPairs { partner: vec![None; entries.len()] };
        pairs.find_named(&entries);
        pairs.find_others(&entries);
        pairs
    }

    fn find_named(&mut self, entries: &[(&Entry, &ToolCall)]) {
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut since = 0;
        for (at, (entry, call)) in entries.iter().enumerate() {
            match (&entry.kind, call.id.as_deref()) {
                (EntryKind::ToolCall, Some(id)) => open.entry(id).or_default().push(at),
                (EntryKind::ToolResult, Some(id)) => {
                    let Some(calls) = open.get_mut(id) else { continue };
                    // Some programs restart their numbering in each turn.
                    let found = calls.iter().position(|call| *call >= since);
                    if let Some(found) = found.or(calls.len().checked_sub(1)) {
                        self.join(calls.remove(found), at);
                    }
                }
                (kind, _) if is_message(kind) => since = at,
                _ => {}
            }
        }
    }

    fn find_others(&mut self, entries: &[(&Entry, &ToolCall)]) {
        let mut open: Vec<(usize, &str)> = Vec::new();
        for (at, (entry, call)) in entries.iter().enumerate() {
            match &entry.kind {
                _ if self.partner(at).is_some() => {}
                EntryKind::ToolCall => open.push((at, call.split(&entry.text).0)),
                EntryKind::ToolResult if call.id.is_none() && !open.is_empty() => {
                    let same = open.iter().position(|(_, tool)| *tool == entry.speaker);
                    let (call, _) = open.remove(same.unwrap_or(0));
                    self.join(call, at);
                }
                kind if is_message(kind) => open.clear(),
                _ => {}
            }
        }
    }

    fn join(&mut self, call: usize, answer: usize) {
        for (one, other) in [(call, answer), (answer, call)] {
            if let Some(place) = self.partner.get_mut(one) {
                *place = Some(other);
            }
        }
    }

    /// The index of the other entry of a pair.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partner.get(at).copied().flatten()
    }

    /// Keeps only the pairs that are not separated by a message to or from the model.
    pub(super) fn uninterrupted<'e>(
        mut self,
        entries: impl Iterator<Item = &'e Entry>,
    ) -> CallPairs {
        // The number of messages before each entry, which is the same for both entries of such a pair.
        let mut source = 0_usize;
        let before: Vec<usize> = entries
            .map(|Entry { kind, text, .. }| {
                let speaks = matches!(
                    kind,
                    EntryKind::User | EntryKind::Assistant | EntryKind::Narrator | EntryKind::Npc
                );
                source += usize::from(speaks && !text.trim().is_empty());
                source
            })
            .collect();
        for at in 0..self.partner.len() {
            let is_cut = self.partner(at).is_some_and(|other| before.get(at) != before.get(other));
            if let Some(place) = self.partner.get_mut(at).filter(|_| is_cut) {
                *place = None;
            }
        }
        self
    }

    /// The same pairs among the entries that stay, renumbered.
    pub(super) fn among(&self, stays: &[bool]) -> CallPairs {
        let mut count = 0;
        let places: Vec<Option<usize>> = stays
            .iter()
            .map(|stays| {
                count += usize::from(*stays);
                stays.then_some(count).and_then(|count| count.checked_sub(1))
            })
            .collect();
        let moved = |at: usize| places.get(self.partner(at)?).copied().flatten();
        let staying = stays.iter().enumerate().filter(|(_, stays)| **stays);
        CallPairs { partner: staying.map(|(at, _)| moved(at)).collect() }
    }
}

/// Whether an entry is a message. Programs expect the results of calls before the next one.
fn is_message(kind: &EntryKind) -> bool {
    let is_tool = matches!(kind, EntryKind::ToolCall | EntryKind::ToolResult);
    !is_tool && !kind.is_bookkeeping() && *kind != EntryKind::thinking()
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_session::model::EntryExtras;

    /// An entry with its record; the speaker of a result is the tool.
    fn source(kind: EntryKind, text: &str, raw: &str) -> (Entry, ToolCall) {
        let (id, speaker) = (String::new(), "ls".to_owned());
        let (text, raw) = (text.to_owned(), JsonTree::parse(raw).unwrap());
        let extras = EntryExtras::default();
        let entry = Entry { seq: 1, turn: 1, id, time: None, speaker, kind, text, extras, raw };
        let call = ToolCall::of(&entry, &entry.raw);
        (entry, call)
    }

    fn call(raw: &str) -> (Entry, ToolCall) {
        source(EntryKind::ToolCall, "ls {}", raw)
    }

    fn answer(raw: &str) -> (Entry, ToolCall) {
        source(EntryKind::ToolResult, "a.rs", raw)
    }

    fn check(entries: &[(Entry, ToolCall)], expect: &[(usize, usize)]) {
        let pairs = CallPairs::of(entries.iter().map(|(entry, call)| (entry, call)));
        let found = (0..entries.len()).filter_map(|at| Some((at, pairs.partner(at)?)));
        let found: Vec<(usize, usize)> = found.filter(|(call, answer)| call < answer).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn an_answer_belongs_to_the_call_that_its_record_names() {
        check(
            &[
                call(r#"{"type": "tool_use", "name": "ls", "id": "one"}"#),
                call(r#"{"type": "tool_use", "name": "ls", "id": "two"}"#),
                answer(r#"{"tool_use_id": "two"}"#),
                answer(r#"{"tool_use_id":"one"}"#),
                answer(r#"{"tool_use_id":"one"}"#),
            ],
            &[(0, 3), (1, 2)],
        );
        // Even if messages or reasoning come between them.
        check(
            &[
                call(r#"{"payload": {"type": "function_call", "name": "ls", "call_id": "one"}}"#),
                source(EntryKind::thinking(), "Hm.", "{}"),
                call(r#"{"payload": {"type": "local_shell_call", "call_id": "two"}}"#),
                source(EntryKind::User, "And?", "{}"),
                answer(r#"{"payload": {"type": "function_call_output", "call_id": "one"}}"#),
                answer(r#"{"payload": {"type": "function_call_output", "call_id": "two"}}"#),
                answer(r#"{"payload": {"type": "function_call_output", "call_id": "three"}}"#),
            ],
            &[(0, 4), (2, 5)],
        );
    }

    #[test]
    fn several_calls_of_one_record_are_told_apart() {
        // The first entry of a record has the whole record, the others their own parts.
        check(
            &[
                call(
                    r#"{"role": "assistant", "name": "x", "id": "m", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
                    {"id": "b", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}"#,
                ),
                call(r#"{"id": "b", "type": "function", "function": {"name": "ls"}}"#),
                answer(r#"{"role": "tool", "tool_call_id": "b", "content": "b.rs"}"#),
                answer(r#"{"role": "tool", "tool_call_id": "a", "content": "a.rs"}"#),
            ],
            &[(0, 3), (1, 2)],
        );
        check(
            &[
                call(
                    r#"{"role": "assistant", "content": [
                    {"type": "toolRequest", "id": "g1", "toolCall": {"value": {"name": "ls"}}},
                    {"type": "toolRequest", "id": "g2", "toolCall": {"value": {"name": "ls"}}}]}"#,
                ),
                call(
                    r#"{"type": "toolRequest", "id": "g2", "toolCall": {"value": {"name": "ls"}}}"#,
                ),
                answer(
                    r#"{"role": "user", "content": [{"type": "toolResponse", "id": "g2"},
                    {"type": "toolResponse", "id": "g1"}]}"#,
                ),
                answer(r#"{"type": "toolResponse", "id": "g1"}"#),
            ],
            &[(0, 3), (1, 2)],
        );
        check(
            &[
                call(r#"{"parts": [{"functionCall": {"id": "one", "name": "ls"}}]}"#),
                call(r#"{"id": "two", "name": "ls", "args": {}}"#),
                answer(r#"[{"functionResponse": {"id": "two", "name": "ls"}}]"#),
                answer(r#"{"message": {"role": "toolResult", "toolCallId": "one"}}"#),
            ],
            &[(0, 3), (1, 2)],
        );
    }

    #[test]
    fn an_answer_that_names_no_call_belongs_to_the_first_of_its_tool() {
        let cat = || source(EntryKind::ToolCall, "cat a.rs", "{}");
        check(&[cat(), call("{}"), answer("{}"), answer("{}"), answer("{}")], &[(0, 3), (1, 2)]);
        check(&[call("{}"), source(EntryKind::User, "Stop.", "{}"), answer("{}")], &[]);
        // A call with a named result is not available, and IDs may restart in each turn.
        let turn = || {
            [
                call(r#"{"id": "call_1", "tool": "ls", "args": {}}"#),
                call(r#"{"id": "call_2", "tool": "ls", "args": {}}"#),
                answer(r#"{"tool": "ls", "args": {}, "result": 1}"#),
                answer(r#"{"id": "call_1", "tool": "ls", "status": "rejected", "reason": "no"}"#),
                source(EntryKind::Narrator, "So be it.", "{}"),
            ]
        };
        let turns: Vec<(Entry, ToolCall)> = turn().into_iter().chain(turn()).collect();
        check(&turns, &[(0, 3), (1, 2), (5, 8), (6, 7)]);
    }

    #[test]
    fn pairs_are_cut_by_what_is_said_and_counted_without_what_is_left_out() {
        let entries = [
            call(r#"{"name": "ls", "id": "one"}"#),
            source(EntryKind::Assistant, "Wait.", "{}"),
            call(r#"{"name": "ls", "id": "two"}"#),
            source(EntryKind::User, " ", "{}"),
            source(EntryKind::System, "Hooks ran.", "{}"),
            answer(r#"{"call_id": "two"}"#),
            answer(r#"{"call_id": "one"}"#),
        ];
        let all = CallPairs::of(entries.iter().map(|(entry, call)| (entry, call)));
        let near = all.clone().uninterrupted(entries.iter().map(|(entry, _)| entry));
        assert_eq!(near.partner, [None, None, Some(5), None, None, Some(2), None]);
        let some = all.among(&[true, false, true, false, false, true, true]);
        assert_eq!(some.partner, [Some(3), Some(2), Some(1), Some(0)]);
        let fewer = all.among(&[false, false, true, false, false, true, true]);
        assert_eq!(fewer.partner, [Some(1), Some(0), None]);
    }

    #[test]
    fn names_of_tools_may_have_more_than_one_word() {
        let (entry, call) =
            source(EntryKind::ToolCall, "my tool not json", r#"{"name": "my tool"}"#);
        assert_eq!(call.split(&entry.text), ("my tool", "not json"));
        assert_eq!(ToolCall::default().split("ls"), ("ls", ""));
        assert_eq!(tool_name("my tool.v2/é"), "my_tool_v2__");
        assert_eq!(tool_name(""), "tool");
    }
}
