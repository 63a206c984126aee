//! Files in which a conversation goes on in another program.

use everturn::convert::{Conversion, ConversionPlan, ConvertError, Disposition};
use everturn::format::SessionReader;
use serde_json::Value;

use crate::common::capabilities::KnownCapabilities;
use crate::convert::pairs::convert;
use crate::convert::sessions::{LAYOUTS, Made, Random, at, find, memory, session};

const NATIVE: [&str; 4] = ["claude-code", "codex", "goose", "sillytavern"];

/// A session of Codelia in which everything happens once.
fn talk() -> Made {
    let (store, layout) = (memory(), find("codelia"));
    let new = everturn::model::NewSession::with_id("talk");
    let mut editor = layout.editable().create(&store, &new, at(0)).unwrap();
    let messages = r#"{"messages":[
        {"role":"system","content":"Be brief."},
        {"role":"user","content":"List the files."},
        {"role":"reasoning","content":"They want a list."},
        {"role":"assistant","content":null,"tool_calls":[
            {"id":"a","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}},
            {"id":"b","type":"function","function":{"name":"my tool","arguments":"not json"}}]},
        {"role":"tool","tool_call_id":"a","tool_name":"ls","content":"a.rs"},
        {"role":"assistant","content":"One file."},
        {"role":"user","content":""},
        {"role":"user","content":"<environment_context> is no prompt"},
        {"role":"tool","tool_call_id":"z","tool_name":"lost","content":"orphan"}]}"#;
    editor.append(&messages.replace('\n', " "), at(1)).unwrap();
    let place = editor.session_ref();
    editor.close(at(2)).unwrap();
    Made { store, layout, place }
}

fn plan(from: &Made, to: &str) -> Result<ConversionPlan, ConvertError> {
    let project = Some("/srv/app");
    let conversion = Conversion { to, id: None, project, dir: None, branch: None };
    conversion.plan(&from.store, from.layout, &from.place, at(9))
}

fn lines(plan: &ConversionPlan) -> Vec<Value> {
    let text = std::str::from_utf8(plan.file().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn told(reader: &dyn SessionReader) -> Vec<String> {
    let mut stream = reader.entries(0..=u64::MAX).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = stream.next() {
        let entry = entry.unwrap();
        if !entry.kind.is_bookkeeping() {
            told.push(format!("{} {}: {}", entry.kind, entry.speaker, entry.text));
        }
    }
    told
}

/// What the new file reads as, and what was dropped.
fn check(to: &str, expect: &[&str], dropped: &[&str]) -> ConversionPlan {
    let plan = plan(&talk(), to).unwrap();
    let store = memory();
    let place = plan.write(&store).unwrap();
    assert_eq!(told(&*find(to).open(&store, &place).unwrap()), expect);
    let report = plan.report();
    let lost = report.entries.iter().filter(|entry| entry.fate == Disposition::Dropped);
    let lost: Vec<String> = lost.map(|entry| format!("{} {}", entry.seq, entry.why[0])).collect();
    assert_eq!(lost, dropped);
    assert_eq!(report.entries.len(), 10);
    // The program itself would find it, and it is the only session there.
    let places = find(to).foreign().sniff(&store, &place.path).unwrap();
    assert_eq!(places.iter().map(|found| &found.id).collect::<Vec<_>>(), [&place.id]);
    plan
}

#[test]
fn claude_code_gets_a_chain_in_which_every_call_has_its_answer() {
    let plan = check(
        "claude-code",
        &[
            "event system: Be brief.",
            "user user: List the files.",
            "tool_call assistant: ls {\"path\":\".\"}",
            "assistant assistant: my tool not json",
            "tool_result tool: a.rs",
            "assistant assistant: One file.",
            "user user: <environment_context> is no prompt",
            "event system: orphan",
        ],
        &[
            "3 thinking without a model signature is rejected",
            "8 it has no text, and empty messages are rejected",
        ],
    );
    let lines = lines(&plan);
    let mut last = Value::Null;
    for line in &lines {
        assert_eq!(line["parentUuid"], last, "{line}");
        assert_eq!(
            (&line["sessionId"], &line["cwd"]),
            (&lines[0]["sessionId"], &"/srv/app".into())
        );
        last = line["uuid"].clone();
    }
    let call = &lines[2]["message"]["content"][0];
    assert_eq!((&call["name"], &call["input"]["path"]), (&"ls".into(), &".".into()));
    assert_eq!(lines[4]["message"]["content"][0]["tool_use_id"], call["id"]);
}

#[test]
fn codex_gets_what_its_model_was_told_and_what_it_shows() {
    let plan = check(
        "codex",
        &[
            "system system: Be brief.",
            "user user: List the files.",
            "thinking assistant: They want a list.",
            "tool_call assistant: ls {\"path\":\".\"}",
            "tool_call assistant: my_tool not json",
            "tool_result tool: a.rs",
            "assistant assistant: One file.",
            "system system: <environment_context> is no prompt",
            "thinking assistant: orphan",
        ],
        &["8 it has no text, and empty messages are rejected"],
    );
    let lines = lines(&plan);
    assert_eq!(lines[0]["type"], "session_meta");
    assert_eq!(lines[0]["payload"]["id"], plan.place().id.as_str());
    assert!(plan.place().path.as_str().starts_with("rollout-2026-01-01T10-00-09-"));
    let count = |kind: &str| lines.iter().filter(|line| line["payload"]["type"] == kind).count();
    assert_eq!((count("message"), count("user_message"), count("function_call")), (4, 1, 2));
}

#[test]
fn sillytavern_gets_a_header_and_messages_without_a_last_newline() {
    let plan = check(
        "sillytavern",
        &[
            "system system: Be brief.",
            "user user: List the files.",
            "system assistant: They want a list.",
            "system assistant: ls {\"path\":\".\"}",
            "system assistant: my tool not json",
            "system ls: a.rs",
            "assistant assistant: One file.",
            "user user: <environment_context> is no prompt",
            "system lost: orphan",
        ],
        &["8 it has no text, and empty messages are rejected"],
    );
    assert!(!plan.file().unwrap().ends_with(b"\n"));
    let lines = lines(&plan);
    assert_eq!(
        (&lines[0]["user_name"], &lines[0]["character_name"]),
        (&"user".into(), &"assistant".into())
    );
    assert!(lines[0]["chat_metadata"].is_object());
    assert_eq!((&lines[2]["is_user"], &lines[2]["is_system"]), (&true.into(), &false.into()));
}

#[test]
fn every_session_becomes_a_file_of_every_program_and_can_be_taken_back() {
    for seed in 0..6 {
        for from in LAYOUTS {
            let original = session(from, &mut Random::new(seed));
            for to in NATIVE {
                let plan =
                    plan(&original, to).unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
                let store = memory();
                let place = plan.write(&store).unwrap();
                let there = Made { store, layout: find(to), place };
                let written =
                    plan.report().entries.len() - plan.report().count(Disposition::Dropped);
                let is_opened = plan.report().notes.iter().any(|note| note.what == "the opening");
                let written = written + usize::from(is_opened);
                let (back, _) = convert(&there, "chatlog", "back");
                let back = back.layout.open(&back.store, &back.place).unwrap();
                assert_eq!(told(&*back).len(), written, "{from} to {to}, seed {seed}");
            }
        }
    }
}

#[test]
fn ids_of_programs_that_want_uuids_are_uuids() {
    let conversion =
        |id| Conversion { to: "codex", id: Some(id), project: None, dir: None, branch: None };
    let from = talk();
    let plan = |id| conversion(id).plan(&from.store, from.layout, &from.place, at(9));
    let error = plan("first").err().unwrap();
    assert!(error.to_string().contains("not a UUID"), "{error}");
    assert!(plan("3f0c9a52-6b1e-4c58-9d3a-0e7a11223344").is_ok());
}

#[test]
fn a_file_that_is_there_is_never_replaced() {
    let from = talk();
    for to in NATIVE {
        let (plan, store) = (plan(&from, to).unwrap(), memory());
        let place = plan.write(&store).unwrap();
        let before = store.read(&place.path, 0..u64::MAX).unwrap();
        let error = plan.write(&store).err().unwrap();
        assert!(error.to_string().contains("already"), "{to}: {error}");
        assert_eq!(store.read(&place.path, 0..u64::MAX).unwrap(), before);
    }
}

/// A chat log in which a narrator begins and two characters answer.
fn tale() -> Made {
    let (store, layout) = (memory(), find("chatlog"));
    let new = everturn::model::NewSession::with_id("tale");
    let mut editor = layout.editable().create(&store, &new, at(0)).unwrap();
    for message in [
        r#"{"type":"narrator","name":"Narrator","text":"It is night."}"#,
        r#"{"type":"protagonist","name":"Ann","text":"Who is there?"}"#,
        r#"{"type":"npc","name":"Vex","text":"I am."}"#,
    ] {
        editor.append(message, at(1)).unwrap();
    }
    let place = editor.session_ref();
    editor.close(at(2)).unwrap();
    Made { store, layout, place }
}

#[test]
fn speakers_keep_their_names_and_a_tale_gets_an_opening() {
    let plan = plan(&tale(), "claude-code").unwrap();
    let store = memory();
    let place = plan.write(&store).unwrap();
    let told = told(&*find("claude-code").open(&store, &place).unwrap());
    assert_eq!(
        told,
        [
            "user user: (The conversation starts here.)",
            "assistant assistant: Narrator: It is night.",
            "user user: Who is there?",
            "assistant assistant: Vex: I am.",
        ]
    );
    let notes: Vec<&str> = plan.report().notes.iter().map(|note| note.what.as_str()).collect();
    assert!(notes.contains(&"the opening") && notes.contains(&"the speakers"), "{notes:?}");
    assert_eq!(plan.report().entries.len(), 3);
}
