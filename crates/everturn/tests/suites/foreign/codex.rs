//! Codex.

use everturn::format::SessionReader;
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;
use crate::foreign::support::{
    branch_lines, codes, counts, layout, lines, open, reached, sorted, store, told, told_along,
};

const FILE: &str =
    "sessions/2026/01/01/rollout-2026-01-01T10-00-00-5973b6c0-94b8-487b-a530-2aeb6098ae0e.jsonl";

fn line(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "payload": payload})
}

fn meta() -> Value {
    line(
        "session_meta",
        json!({"id": "5973b6c0-94b8-487b-a530-2aeb6098ae0e", "cwd": "/srv/app",
        "originator": "codex_cli_rs", "cli_version": "0.104.0", "source": "cli"}),
    )
}

fn item(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    line(
        "response_item",
        json!({"type": "message", "role": role,
        "content": [{"type": kind, "text": text}]}),
    )
}

fn event(kind: &str, more: Value) -> Value {
    let mut payload = json!({"type": kind});
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line("event_msg", payload)
}

fn call(id: &str) -> Value {
    line(
        "response_item",
        json!({"type": "function_call", "name": "shell", "call_id": id,
        "arguments": "{\"command\":[\"ls\"]}"}),
    )
}

fn output(id: &str, output: Value) -> Value {
    line("response_item", json!({"type": "function_call_output", "call_id": id, "output": output}))
}

fn tokens(input: u64, cached: u64, output: u64, reasoning: u64) -> Value {
    event(
        "token_count",
        json!({"info": {"total_token_usage": {"input_tokens": input,
        "cached_input_tokens": cached, "output_tokens": output,
        "reasoning_output_tokens": reasoning, "total_tokens": input + output}}}),
    )
}

fn model(name: &str) -> Value {
    line("turn_context", json!({"cwd": "/srv/app", "model": name, "summary": "auto"}))
}

fn read(records: &[Value]) -> Box<dyn SessionReader> {
    let reader = open("codex", FILE, &lines(records));
    assert_eq!(reached(&*reader), sorted(records), "every record is reached once");
    reader
}

#[test]
fn both_copies_of_an_utterance_are_one_line_and_the_other_stays() {
    let thought = line(
        "response_item",
        json!({"type": "reasoning", "encrypted_content": "x",
        "summary": [{"type": "summary_text", "text": "Look."}, {"type": "summary_text", "text": "Act."}]}),
    );
    let reader = read(&[
        meta(),
        item("user", "<environment_context>here</environment_context>"),
        item("user", "List them."),
        event("user_message", json!({"message": "List them."})),
        model("gpt-5"),
        event("agent_reasoning", json!({"text": "Look."})),
        event("agent_reasoning", json!({"text": "Act."})),
        thought,
        call("c1"),
        output("c1", json!("a.txt")),
        event("agent_message", json!({"message": "One file."})),
        item("assistant", "One file."),
        event("task_complete", json!({})),
    ]);
    assert_eq!(
        told(&*reader),
        [
            "1 system: <environment_context>here</environment_context>",
            "1 user: List them.",
            "1 thinking: Look.\nAct.",
            "1 tool_call: shell {\"command\":[\"ls\"]}",
            "1 tool_result: a.txt",
            "1 assistant: One file.",
        ]
    );
    assert_eq!(branch_lines(&*reader), ["duplicates -+4: 4 records, duplicates"]);
    assert_eq!(counts(&*reader), [13, 13, 0, 0, 4]);
    assert_eq!((reader.findings(), reader.warnings()), (vec![], vec![]));
}

#[test]
fn what_stands_only_once_is_shown_whichever_copy_it_is() {
    let reader = read(&[
        meta(),
        event("user_message", json!({"message": "Go on."})),
        event("agent_message", json!({"message": "Going."})),
        event("user_message", json!({"message": "Go on."})),
        item("user", "Go on."),
    ]);
    // One copy for the model, two for whoever looks on: one of those has no other.
    assert_eq!(told(&*reader), ["1 user: Go on.", "1 assistant: Going.", "2 user: Go on."]);
    assert_eq!(counts(&*reader), [5, 5, 0, 0, 1]);
}

#[test]
fn turns_that_were_taken_back_are_a_branch() {
    let say = |text: &str| [item("user", text), event("user_message", json!({"message": text}))];
    let mut records = vec![meta()];
    records.extend(say("One."));
    records.push(item("assistant", "First."));
    records.extend(say("Two."));
    records.push(item("assistant", "Second."));
    records.extend(say("Three."));
    records.push(event("thread_rolled_back", json!({"num_turns": 2})));
    let reader = read(&records);
    assert_eq!(
        told(&*reader),
        ["1 user: One.", "1 assistant: First.", "1 event: 2 turns were rolled back"]
    );
    records.extend(say("Other."));
    records.push(item("assistant", "Another."));
    let reader = read(&records);
    assert_eq!(told(&*reader)[3..], ["2 user: Other.", "2 assistant: Another."]);
    let branch = branch_lines(&*reader).remove(0);
    assert!(branch.ends_with("1+2: Two."), "{branch}");
    let id = branch.split(' ').next().unwrap();
    assert_eq!(
        told_along(&*reader, id),
        [
            "1 user: One.",
            "1 assistant: First.",
            "2 user: Two.",
            "2 assistant: Second.",
            "3 user: Three."
        ]
    );
}

#[test]
fn a_compaction_is_told_and_hides_nothing() {
    let reader = read(&[
        meta(),
        item("user", "One."),
        item("assistant", "First."),
        line(
            "compacted",
            json!({"message": "They talked.", "replacement_history": [{"type": "message"}]}),
        ),
        event("context_compacted", json!({})),
        item("user", "Two."),
    ]);
    assert_eq!(
        told(&*reader),
        [
            "1 user: One.",
            "1 assistant: First.",
            "1 event: context compacted: They talked.",
            "1 event: context compacted",
            "2 user: Two.",
        ]
    );
}

#[test]
fn rollouts_without_envelopes_are_read() {
    let records = [
        json!({"id": "old", "timestamp": "2025-05-07T17:24:21.123Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}),
        json!({"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}}),
        json!({"type": "function_call_output", "call_id": "c", "output": {"content": "done", "success": true}}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yo."}]}),
        json!({"type": "ghost_snapshot", "ghost_commit": {}}),
    ];
    let reader = read(&records);
    assert_eq!(
        told(&*reader),
        ["1 user: Hi.", "1 tool_call: shell [\"ls\"]", "1 tool_result: done", "1 assistant: Yo."]
    );
    assert_eq!(counts(&*reader), [7, 7, 0, 0, 0]);
}

#[test]
fn finished_items_and_unknown_kinds_are_kept() {
    let item = |kind: &str, text: &str| {
        event(
            "item_completed",
            json!({"item": {"type": kind, "content": [{"type": "text", "text": text}]}}),
        )
    };
    let reader = read(&[
        meta(),
        item("UserMessage", "Hi."),
        item("AgentMessage", "Yo."),
        item("FileChange", ""),
        line("world_state", json!({"full": true, "state": {}})),
        line("never_seen", json!([1, 2])),
        line("response_item", json!({"type": "never_seen"})),
    ]);
    assert_eq!(told(&*reader), ["1 user: Hi.", "1 assistant: Yo."]);
    assert_eq!(counts(&*reader), [7, 7, 0, 0, 0]);
}

#[test]
fn answers_may_be_lists_and_calls_may_lack_them() {
    let reader = read(&[
        meta(),
        item("user", "Go."),
        call("c1"),
        call("c2"),
        output("c2", json!([{"type": "input_text", "text": "a"}, {"type": "input_image"}])),
        output("c9", json!("late")),
    ]);
    assert_eq!(told(&*reader)[3], "1 tool_result: a\n[input_image]");
    assert_eq!(codes(&reader.warnings()), ["3 orphan-call", "6 orphan-call"]);
}

#[test]
fn tokens_are_sums_that_are_told_again_and_again() {
    let reader = read(&[
        meta(),
        model("gpt-5"),
        tokens(100, 40, 10, 4),
        tokens(100, 40, 10, 4),
        event("token_count", json!({"info": null})),
        tokens(300, 140, 30, 5),
        model("gpt-5-mini"),
        tokens(400, 140, 50, 5),
        // The count begins anew.
        tokens(50, 0, 5, 0),
    ]);
    let usage = reader.usage().unwrap();
    let names: Vec<&str> = usage.models.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["gpt-5", "gpt-5-mini"]);
    let (big, small) = (usage.models[0].1, usage.models[1].1);
    assert_eq!(
        (big.answers, big.input, big.cache_read, big.output, big.reasoning),
        (2, 160, 140, 30, 5)
    );
    assert_eq!((small.answers, small.input, small.cache_read, small.output), (2, 150, 0, 25));
}

#[test]
fn a_fork_names_its_parent_and_the_id_is_that_of_the_thread() {
    let mut forked = meta();
    forked["payload"]["forked_from_id"] = json!("first");
    let store =
        store(&[(FILE, &lines(&[forked, item("user", "Hi.")])), ("history.jsonl", b"{}\n")]);
    let (summaries, _) = layout("codex").list(&store).unwrap();
    assert_eq!(summaries.len(), 1);
    assert_eq!(summaries[0].session.id, "5973b6c0-94b8-487b-a530-2aeb6098ae0e");
    assert_eq!((summaries[0].parent.as_deref(), summaries[0].turns), (Some("first"), Some(1)));
}

#[test]
fn copies_are_known_with_pictures_and_in_several_texts() {
    let picture = json!({"type": "input_image", "image_url": "data:,"});
    let text = |kind: &str, text: &str| json!({"type": kind, "text": text});
    let asked = |content: Value| {
        line("response_item", json!({"type": "message", "role": "user", "content": content}))
    };
    let said = |message: &str| event("user_message", json!({"message": message}));
    let answered = |message: &str| event("agent_message", json!({"message": message}));
    let model = line(
        "response_item",
        json!({"type": "message", "role": "assistant",
        "content": [text("output_text", "x"), text("output_text", "y")]}),
    );
    let reader = read(&[
        meta(),
        asked(json!([text("input_text", "look"), picture])),
        said("look"),
        answered("x"),
        answered("y"),
        model.clone(),
        asked(json!([text("input_text", "one "), text("input_text", "two")])),
        said("one two"),
        model,
        answered("x"),
        answered("y"),
        said("three"),
        asked(json!([picture, text("input_text", "three")])),
        event("thread_rolled_back", json!({"num_turns": 1})),
        // Said again, without a copy: an item that was repeated as a whole is not repeated in parts.
        said("two"),
    ]);
    assert_eq!(
        told(&*reader),
        [
            "1 user: look\n[input_image]",
            "1 assistant: x\ny",
            "2 user: one \ntwo",
            "2 assistant: x\ny",
            "2 event: 1 turns were rolled back",
            "3 user: two",
        ]
    );
    assert_eq!(counts(&*reader), [15, 15, 0, 0, 7]);
}

#[test]
fn what_a_branch_took_over_counts_once_in_the_sum() {
    let spent = |records: &[Value]| read(records).usage().unwrap();
    let first = [meta(), model("gpt-5"), tokens(100, 0, 10, 0), tokens(300, 100, 30, 0)];
    let branch = line(
        "session_meta",
        json!({"id": "b", "forked_from_id": "5973b6c0-94b8-487b-a530-2aeb6098ae0e", "cwd": "/srv/app"}),
    );
    let copied = [branch, model("gpt-5"), tokens(100, 0, 10, 0), tokens(250, 50, 25, 0)];
    assert_eq!(spent(&copied).total().total_tokens(), 275);
    let mut all = spent(&first);
    all.add(&spent(&copied));
    // 330 in the first one, and what the branch has of its own.
    assert_eq!(all.total().total_tokens(), 330 + 165);
    let other = [line("session_meta", json!({"id": "c"})), model("gpt-5"), tokens(100, 0, 10, 0)];
    all.add(&spent(&other));
    assert_eq!(all.total().total_tokens(), 330 + 165 + 110);
}

#[test]
fn helpers_are_told_apart_and_long_files_have_their_parent() {
    let mut first = meta();
    first["payload"]["source"] = json!({"subagent": "review"});
    first["payload"]["parent_thread_id"] = json!("above");
    let long = item("user", &"x".repeat(200_000));
    for records in [vec![first.clone()], vec![first.clone(), item("user", "Go."), long]] {
        let store = store(&[(FILE, &lines(&records))]);
        let (summaries, _) = layout("codex").list(&store).unwrap();
        let found = (summaries[0].status.as_str(), summaries[0].parent.as_deref());
        assert_eq!(found, ("helper", Some("above")));
        let project = layout("codex").project(&store, &summaries[0].session).unwrap();
        assert_eq!(project.as_deref(), Some("/srv/app"));
    }
}

#[test]
fn a_rollout_of_nothing_but_old_metadata_is_known() {
    let bytes =
        lines(&[json!({"id": "x", "timestamp": "2025-05-01T10:00:00Z", "instructions": null})]);
    let store = store(&[(FILE, &bytes)]);
    assert_eq!(
        layout("codex")
            .foreign()
            .sniff(&store, &crate::foreign::support::path(FILE))
            .unwrap()
            .len(),
        1
    );
}
