//! Calls of tools and their answers: whatever a session becomes, each answer stays with its call.

use std::collections::HashMap;

use everturn::names::FilePath;
use everturn::store::{Durability, FileMode, Precondition, Step};
use serde_json::{Value, json};

use crate::common::capabilities::KnownCapabilities;
use crate::convert::pairs::convert;
use crate::convert::sessions::{LAYOUTS, Made, Random, at, find, memory};

/// What is called in one message and what comes back, in this order: numbers of calls.
struct Talk {
    calls: Vec<usize>,
    answers: Vec<usize>,
    /// Whether the model thinks between its calls.
    thinks: bool,
}

fn talks(random: &mut Random) -> Vec<Talk> {
    let mut number = 0;
    let mut talk = || {
        let calls: Vec<usize> = (0..1 + random.below(4)).map(|at| number + at).collect();
        number += calls.len();
        let mut answers = calls.clone();
        for at in 0..answers.len() {
            let other = random.below(answers.len());
            answers.swap(at, other);
        }
        Talk { calls, answers, thinks: random.below(2) == 0 }
    };
    (0..3).map(|_| talk()).collect()
}

/// Makes a session of some program in which that is called and answered.
type Maker = fn(&[Talk]) -> Made;

fn id(call: usize) -> String {
    format!("id_{call}")
}

/// Tools are called by few names, so that a name tells little.
fn tool(call: usize) -> &'static str {
    ["ls", "Read", "my tool"][call % 3]
}

fn arguments(call: usize) -> Value {
    json!({"number": call})
}

fn answer(call: usize) -> String {
    format!("answer {call}")
}

fn put(name: &str, layout: &str, lines: &[Value]) -> Made {
    let (store, path) = (memory(), FilePath::parse(name).unwrap());
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let bytes = (lines.join("\n") + "\n").into_bytes();
    let (expect, mode) = (Precondition::Absent, FileMode::Default);
    let writer = store.lock(std::slice::from_ref(&path)).unwrap();
    let step = Step::Replace { file: path.clone(), expect, bytes, mode };
    writer.commit(vec![step], Durability::Synced).unwrap();
    writer.release().unwrap();
    let layout = find(layout);
    let place = layout.foreign().sniff(&store, &path).unwrap().remove(0);
    Made { store, layout, place }
}

fn codelia(talks: &[Talk]) -> Made {
    let (store, layout) = (memory(), find("codelia"));
    let new = everturn::model::NewSession::with_id("talk");
    let mut editor = layout.editable().create(&store, &new, at(0)).unwrap();
    for Talk { calls, answers, thinks } in talks {
        let call = |call: &usize| {
            let arguments = arguments(*call).to_string();
            let function = json!({"name": tool(*call), "arguments": arguments});
            json!({"id": id(*call), "type": "function", "function": function})
        };
        let calls: Vec<Value> = calls.iter().map(call).collect();
        let mut messages = vec![json!({"role": "user", "content": "Go."})];
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
        if *thinks {
            messages.push(json!({"role": "reasoning", "content": "Hm."}));
        }
        messages.extend(answers.iter().map(|call| {
            json!({"role": "tool", "tool_call_id": id(*call), "tool_name": tool(*call), "content": answer(*call)})
        }));
        editor.append(&json!({"messages": messages}).to_string(), at(1)).unwrap();
    }
    let place = editor.session_ref();
    editor.close(at(2)).unwrap();
    Made { store, layout, place }
}

fn claude(talks: &[Talk]) -> Made {
    let session = "11111111-2222-4333-8444-555555555555";
    let mut lines: Vec<Value> = Vec::new();
    let mut push = |kind: &str, content: Value| {
        let number = lines.len();
        let before = number.checked_sub(1).map(|number| format!("u{number}"));
        lines.push(json!({
            "parentUuid": before, "uuid": format!("u{number}"), "sessionId": session, "type": kind,
            "isSidechain": false, "cwd": "/srv/app", "timestamp": at(number as u64).to_string(),
            "message": {"role": kind, "id": format!("m{number}"), "content": content},
        }));
    };
    for Talk { calls, answers, .. } in talks {
        push("user", json!("Go."));
        for &call in calls {
            let (name, input) = (tool(call), arguments(call));
            push(
                "assistant",
                json!([{"type": "tool_use", "id": id(call), "name": name, "input": input}]),
            );
        }
        // All answers are in one record.
        let answered = |call: &usize| json!({"type": "tool_result", "tool_use_id": id(*call), "content": answer(*call)});
        push("user", answers.iter().map(answered).collect());
    }
    put(&format!("{session}.jsonl"), "claude-code", &lines)
}

fn codex(talks: &[Talk]) -> Made {
    let session = "22222222-2222-4333-8444-555555555555";
    let mut lines = Vec::new();
    let mut push = |kind: &str, payload: Value| {
        let time = at(lines.len() as u64).to_string();
        lines.push(json!({"timestamp": time, "type": kind, "payload": payload}));
    };
    push("session_meta", json!({"id": session, "timestamp": at(0).to_string(), "cwd": "/srv/app"}));
    for Talk { calls, answers, thinks } in talks {
        let content = json!([{"type": "input_text", "text": "Go."}]);
        push("response_item", json!({"type": "message", "role": "user", "content": content}));
        for &call in calls {
            let (name, arguments) = (tool(call), arguments(call).to_string());
            push(
                "response_item",
                json!({"type": "function_call", "name": name, "arguments": arguments, "call_id": id(call)}),
            );
            if *thinks {
                let summary = json!([{"type": "summary_text", "text": format!("Hm {call}.")}]);
                push("response_item", json!({"type": "reasoning", "summary": summary}));
            }
        }
        for &call in answers {
            push(
                "response_item",
                json!({"type": "function_call_output", "call_id": id(call), "output": answer(call)}),
            );
        }
    }
    put(&format!("rollout-2026-01-02T10-00-00-{session}.jsonl"), "codex", &lines)
}

fn goose(talks: &[Talk]) -> Made {
    let mut lines = vec![json!({"description": "talk", "working_dir": "/srv/app"})];
    for Talk { calls, answers, .. } in talks {
        let mut push = |role: &str, content: Vec<Value>| {
            lines.push(json!({"role": role, "created": 1_767_693_600, "content": content}));
        };
        push("user", vec![json!({"type": "text", "text": "Go."})]);
        let called = |call: &usize| {
            let value = json!({"name": tool(*call), "arguments": arguments(*call)});
            json!({"type": "toolRequest", "id": id(*call), "toolCall": {"status": "success", "value": value}})
        };
        push("assistant", calls.iter().map(called).collect());
        let answered = |call: &usize| {
            let value = json!([{"type": "text", "text": answer(*call)}]);
            json!({"type": "toolResponse", "id": id(*call), "toolResult": {"status": "success", "value": value}})
        };
        push("user", answers.iter().map(answered).collect());
    }
    put("20260106_1.jsonl", "goose", &lines)
}

/// The number of each call that a file of a program has, with the answer that belongs to it there.
fn answered(file: &[u8]) -> HashMap<u64, String> {
    let (mut calls, mut answers) = (HashMap::new(), HashMap::new());
    let number = |arguments: &Value| -> u64 {
        let parsed = arguments.as_str().map(|text| serde_json::from_str(text).unwrap());
        let arguments: Value = parsed.unwrap_or_else(|| arguments.clone());
        arguments["number"].as_u64().unwrap()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for line in std::str::from_utf8(file).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for block in line["message"]["content"].as_array().unwrap_or(&Vec::new()) {
            match block["type"].as_str() {
                Some("tool_use") => drop(calls.insert(text(&block["id"]), number(&block["input"]))),
                Some("tool_result") => {
                    answers.insert(calls[&text(&block["tool_use_id"])], text(&block["content"]));
                }
                _ => {}
            }
        }
        let payload = &line["payload"];
        match payload["type"].as_str() {
            Some("function_call") => {
                calls.insert(text(&payload["call_id"]), number(&payload["arguments"]));
            }
            Some("function_call_output") => {
                answers.insert(calls[&text(&payload["call_id"])], text(&payload["output"]));
            }
            _ => {}
        }
        for call in line["tool_calls"].as_array().unwrap_or(&Vec::new()) {
            calls.insert(text(&call["id"]), number(&call["function"]["arguments"]));
        }
        if line["role"] == "tool" {
            answers.insert(calls[&text(&line["tool_call_id"])], text(&line["content"]));
        }
    }
    answers
}

#[test]
fn every_answer_stays_with_its_call_whatever_a_session_becomes() {
    let makers: [(&str, Maker); 4] =
        [("codelia", codelia), ("claude-code", claude), ("codex", codex), ("goose", goose)];
    for seed in 0..6 {
        for (from, make) in makers {
            let talks = talks(&mut Random::new(seed));
            let original = make(&talks);
            let count: usize = talks.iter().map(|talk| talk.calls.len()).sum();
            // At once, and by way of everything else.
            let mut all = vec![("nothing", original)];
            for way in LAYOUTS {
                let there = convert(&all[0].1, way, "there").0;
                all.push((way, there));
            }
            for (way, made) in &all {
                for to in ["claude-code", "codex", "codelia"] {
                    let what = format!("{from} by way of {way} to {to}, seed {seed}");
                    let uuid = "33333333-2222-4333-8444-555555555555";
                    let (new, _) = convert(made, to, if to == "codelia" { "end" } else { uuid });
                    let file = new.store.read(&new.place.path, 0..u64::MAX).unwrap();
                    let found = answered(&file);
                    assert_eq!(found.len(), count, "{what}");
                    for (call, text) in found {
                        assert_eq!(text, answer(usize::try_from(call).unwrap()), "{what}");
                    }
                }
            }
        }
    }
}

/// The names of tools in a file of a program.
fn names(file: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let name = |line: Value| {
        let block = &line["message"]["content"][0];
        let of_block = block["name"].as_str().filter(|_| block["type"] == "tool_use");
        let payload = &line["payload"];
        let of_item = payload["name"].as_str().filter(|_| payload["type"] == "function_call");
        of_block.or(of_item).map(str::to_owned)
    };
    lines.filter_map(name).collect()
}

#[test]
fn tools_get_names_that_models_may_write_and_that_is_told() {
    let calls = vec![0, 2];
    let original = codelia(&[Talk { answers: calls.clone(), calls, thinks: false }]);
    for to in ["claude-code", "codex"] {
        let (new, plan) = convert(&original, to, "33333333-2222-4333-8444-555555555555");
        let file = new.store.read(&new.place.path, 0..u64::MAX).unwrap();
        assert_eq!(names(&file), ["ls", "my_tool"], "{to}");
        let changed = &plan.report().entries[2].why;
        assert_eq!(changed[0], "the text is written as the format requires", "{to}");
    }
}
