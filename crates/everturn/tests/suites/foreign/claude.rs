//! Claude Code.

use everturn::finding::FindingCode;
use everturn::format::SessionReader;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::foreign::records::{
    SESSION, answers, block, calls, chained, file, progress, says, user,
};
use crate::foreign::support::{
    branch_lines, codes, counts, layout, lines, open, reached, sorted, store, told, told_along,
};

fn read(records: &[Value]) -> Box<dyn SessionReader> {
    let reader = open("claude-code", &file(), &lines(records));
    assert_eq!(reached(&*reader), sorted(records), "every record is reached once");
    reader
}

#[test]
fn a_talk_is_turns_of_prompts_thoughts_calls_and_answers() {
    let thought = json!({"type": "thinking", "thinking": "Look first.", "signature": "s"});
    let reader = read(&[
        user("u1", "", "What is here?"),
        block("a1", "u1", "m1", &thought, 1),
        calls("a2", "a1", "t1"),
        answers("u2", "a2", "t1"),
        says("a3", "u2", "One file."),
        user("u3", "a3", "Thanks."),
    ]);
    assert_eq!(
        told(&*reader),
        [
            "1 user: What is here?",
            "1 thinking: Look first.",
            "1 tool_call: Bash {\"command\":\"ls\"}",
            "1 tool_result: a.txt",
            "1 assistant: One file.",
            "2 user: Thanks.",
        ]
    );
    assert_eq!(reader.turns().unwrap(), 0..=2);
    assert_eq!(branch_lines(&*reader), Vec::<String>::new());
    assert_eq!(counts(&*reader), [6, 6, 0, 0, 0]);
    assert_eq!((reader.findings(), reader.warnings()), (vec![], vec![]));
    assert_eq!(reader.turn_of("a3").unwrap(), Some(1));
}

#[test]
fn a_list_tells_title_times_and_turns() {
    let mut last = says("a1", "u1", "Yes.");
    last["timestamp"] = json!("2026-01-03T10:00:00Z");
    let mut back = user("u2", "a1", "And?");
    // Clocks go backwards.
    back["timestamp"] = json!("2026-01-02T10:00:00Z");
    let title = json!({"type": "custom-title", "customTitle": "The plan", "sessionId": SESSION});
    let bytes = lines(&[user("u1", "", "Is it done?"), last, back, title]);
    let store = store(&[(&file(), &bytes), ("history.jsonl", b"{\"display\":\"x\"}\n")]);
    let (summaries, findings) = layout("claude-code").list(&store).unwrap();
    assert_eq!((summaries.len(), findings.len()), (1, 0));
    let summary = &summaries[0];
    assert_eq!((summary.session.id.as_str(), summary.title.as_str()), (SESSION, "The plan"));
    assert_eq!(summary.created.unwrap().to_string(), "2026-01-01T10:00:00Z");
    assert_eq!(summary.updated.unwrap().to_string(), "2026-01-03T10:00:00Z");
    assert_eq!((summary.turns, summary.status.as_str()), (Some(2), "active"));
}

#[test]
fn a_command_is_a_title_without_its_tags() {
    let text = "<command-message>init is running</command-message>\n<command-name>/init</command-name>\n\
                <command-args>quick</command-args>";
    let store = store(&[(&file(), &lines(&[user("u1", "", text)]))]);
    assert_eq!(layout("claude-code").list(&store).unwrap().0[0].title, "/init quick");
}

#[test]
fn a_summary_names_only_the_session_that_it_is_about() {
    let title = |leaf: &str| {
        let summary = json!({"type": "summary", "summary": "Old plans", "leafUuid": leaf});
        let bytes = lines(&[summary, user("u1", "", "Hello")]);
        let store = store(&[(&file(), &bytes)]);
        layout("claude-code").list(&store).unwrap().0[0].title.clone()
    };
    assert_eq!((title("elsewhere").as_str(), title("u1").as_str()), ("Hello", "Old plans"));
}

#[test]
fn what_was_asked_again_is_a_branch_and_the_newest_way_is_the_main_line() {
    let reader = read(&[
        user("u1", "", "Begin."),
        says("a1", "u1", "Begun."),
        user("u2", "a1", "Go left."),
        says("a2", "u2", "Left."),
        user("u3", "a1", "Go right."),
        says("a3", "u3", "Right."),
    ]);
    assert_eq!(
        told(&*reader),
        ["1 user: Begin.", "1 assistant: Begun.", "2 user: Go right.", "2 assistant: Right."]
    );
    assert_eq!(branch_lines(&*reader), ["u2 1+1: Go left."]);
    assert_eq!(
        told_along(&*reader, "u2"),
        ["1 user: Begin.", "1 assistant: Begun.", "2 user: Go left.", "2 assistant: Left."]
    );
    assert!(reader.open_branch("u9").is_err());
}

#[test]
fn tools_side_by_side_are_no_branches() {
    let reader = read(&[
        user("u1", "", "Both."),
        calls("a1", "u1", "t1"),
        calls("a2", "a1", "t2"),
        answers("r1", "a1", "t1"),
        answers("r2", "a2", "t2"),
        says("a3", "r2", "Done."),
    ]);
    assert_eq!(told(&*reader).len(), 6);
    assert_eq!(branch_lines(&*reader), Vec::<String>::new());
}

#[test]
fn a_hook_beside_the_reply_does_not_take_the_reply_away() {
    let reader = read(&[
        user("u1", "", "One."),
        says("a1", "u1", "First."),
        progress("p1", "u1"),
        user("u2", "p1", "Two."),
        says("a2", "u2", "Second."),
    ]);
    assert_eq!(
        told(&*reader),
        ["1 user: One.", "1 assistant: First.", "2 user: Two.", "2 assistant: Second."]
    );
}

#[test]
fn a_compaction_goes_on_behind_the_record_it_names() {
    let boundary = json!({"subtype": "compact_boundary", "content": "Conversation compacted",
        "logicalParentUuid": "a1", "compactMetadata": {"trigger": "auto", "preTokens": 1000}});
    let mut summary = user("u2", "b", "This session is continued.");
    summary["isCompactSummary"] = json!(true);
    let reader = read(&[
        user("u1", "", "Begin."),
        says("a1", "u1", "Begun."),
        chained("system", "b", "", boundary),
        summary,
        user("u3", "u2", "Go on."),
    ]);
    assert_eq!(
        told(&*reader),
        [
            "1 user: Begin.",
            "1 assistant: Begun.",
            "1 event: Conversation compacted (1000 tokens)",
            "1 system: This session is continued.",
            "2 user: Go on.",
        ]
    );
}

#[test]
fn a_parent_that_is_not_there_is_reported_and_hides_nothing() {
    let reader = read(&[
        user("u1", "", "Begin."),
        says("a1", "u1", "Begun."),
        user("u2", "gone", "Where was I?"),
        says("a2", "u2", "Here."),
    ]);
    assert_eq!(told(&*reader).len(), 4);
    assert_eq!(branch_lines(&*reader), Vec::<String>::new());
    assert_eq!(codes(&reader.findings()), ["3 dangling-parent"]);
    assert_eq!(counts(&*reader), [4, 3, 1, 0, 0]);
}

#[test]
fn other_beginnings_and_helpers_are_branches() {
    let mut helper = user("s1", "", "Find it.");
    helper["isSidechain"] = json!(true);
    let mut found = says("s2", "s1", "Found.");
    found["isSidechain"] = json!(true);
    let reader = read(&[
        user("u1", "", "First try."),
        says("a1", "u1", "Tried."),
        user("u2", "", "Second try."),
        helper,
        found,
        says("a2", "u2", "Better."),
    ]);
    assert_eq!(told(&*reader), ["1 user: Second try.", "1 assistant: Better."]);
    assert_eq!(branch_lines(&*reader), ["u1 -+1: First try.", "s1 -+1: helper: Find it."]);
    assert_eq!(told_along(&*reader, "s1"), ["1 user: Find it.", "1 assistant: Found."]);
}

#[test]
fn a_session_of_a_helper_is_read_like_any_other() {
    let mut helper = user("s1", "", "Find it.");
    helper["isSidechain"] = json!(true);
    let store = store(&[("projects/-srv-app/agent-77.jsonl", &lines(&[helper]))]);
    let (summaries, _) = layout("claude-code").list(&store).unwrap();
    assert_eq!((summaries[0].status.as_str(), summaries[0].turns), ("helper", Some(1)));
    assert_eq!(summaries[0].parent.as_deref(), Some(SESSION));
}

#[test]
fn records_outside_the_chain_are_kept_where_they_stand() {
    let snapshot = json!({"type": "file-history-snapshot", "messageId": "u1",
        "snapshot": {"messageId": "u1", "trackedFileBackups": {}}, "isSnapshotUpdate": false});
    let queue = json!({"type": "queue-operation", "operation": "enqueue", "content": "later"});
    let link = json!({"type": "pr-link", "prNumber": 7, "prUrl": "https://example.org/7"});
    let newer = json!({"type": "never-seen", "data": [1, 2, {"deep": true}]});
    let reader =
        read(&[snapshot, user("u1", "", "Begin."), queue, says("a1", "u1", "Yes."), link, newer]);
    assert_eq!(
        told(&*reader),
        ["1 user: Begin.", "1 assistant: Yes.", "1 event: pull request https://example.org/7"]
    );
    assert_eq!(counts(&*reader), [6, 6, 0, 0, 0]);
}

#[test]
fn calls_without_answers_and_answers_without_calls_are_noticed() {
    let reader =
        read(&[user("u1", "", "Go."), calls("a1", "u1", "t1"), answers("r1", "a1", "other")]);
    assert_eq!(codes(&reader.warnings()), ["2 orphan-call", "3 orphan-call"]);
    assert_eq!(reader.findings(), []);
}

#[test]
fn an_id_that_is_there_twice_makes_no_fork() {
    let records = [
        user("u1", "", "Go."),
        says("a1", "u1", "Gone."),
        says("a1", "u1", "Gone."),
        user("u2", "a1", "Ok."),
    ];
    let reader = read(&records);
    assert_eq!(told(&*reader), ["1 user: Go.", "1 assistant: Gone.", "2 user: Ok."]);
    assert_eq!(branch_lines(&*reader), ["duplicates -+1: 1 record, duplicates"]);
    assert_eq!(reader.warnings()[0].code, FindingCode::DuplicateId);
    assert_eq!(counts(&*reader), [4, 4, 0, 0, 1]);
}

#[test]
fn a_message_that_was_taken_apart_is_put_together() {
    let spread: Value = "Hello"
        .chars()
        .enumerate()
        .map(|(at, c)| (at.to_string(), json!(c.to_string())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let reader = read(&[chained("user", "u1", "", json!({"message": spread}))]);
    assert_eq!(told(&*reader), ["1 user: Hello"]);
    assert_eq!(codes(&reader.findings()), ["1 bad-record"]);
    assert_eq!(counts(&*reader), [1, 0, 1, 0, 0]);
}

#[test]
fn what_the_program_says_for_the_user_begins_no_turn() {
    let mut meta = user("u2", "u1", "Caveat: do not answer this.");
    meta["isMeta"] = json!(true);
    let reader = read(&[
        user("u1", "", "Begin."),
        meta,
        user("u3", "u2", "[Request interrupted by user]"),
        user("u4", "u3", "<local-command-stdout>done</local-command-stdout>"),
        user("u5", "u4", "Again."),
    ]);
    assert_eq!(reader.turns().unwrap(), 0..=2);
    assert_eq!(told(&*reader)[1], "1 system: Caveat: do not answer this.");
    assert_eq!(told(&*reader)[4], "2 user: Again.");
}

#[test]
fn tokens_are_counted_once_for_each_answer_with_its_last_word() {
    let text = json!({"type": "text", "text": "One"});
    let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}});
    let reader = read(&[
        user("u1", "", "Go."),
        block("a1", "u1", "m1", &text, 8),
        block("a2", "a1", "m1", &call, 300),
        block("a3", "a2", "m1", &call, 300),
        block("a4", "a3", "m2", &text, 50),
    ]);
    let usage = reader.usage().unwrap();
    let (model, spent) = &usage.models[0];
    assert_eq!((usage.models.len(), model.as_str(), spent.answers), (1, "opus", 2));
    assert_eq!((spent.input, spent.output), (20, 350));
    assert_eq!((spent.cache_read, spent.cache_write, spent.cost), (200, 10, None));
}

#[test]
fn a_fork_that_copied_its_history_costs_only_what_is_new() {
    let text = json!({"type": "text", "text": "One"});
    let history = [user("u1", "", "Go."), block("a1", "u1", "m1", &text, 300)];
    let mut fork = history.to_vec();
    fork.extend([user("u2", "a1", "And now?"), block("a2", "u2", "m2", &text, 50)]);
    let mut sum = read(&history).usage().unwrap();
    sum.add(&read(&fork).usage().unwrap());
    assert_eq!((sum.total().answers, sum.total().output), (2, 350));
}

/// A tree of records as the program might write it, and worse.
fn any_tree() -> impl Strategy<Value = Vec<Value>> {
    let record = (0..6_u8, 0..40_usize, 0..10_u8);
    proptest::collection::vec(record, 1..40).prop_map(|drawn| {
        let make = |(at, (kind, other, how)): (usize, (u8, usize, u8))| {
            let id = format!("n{at}");
            let parent = match how {
                0 => String::new(),
                1 => format!("n{other}"),
                2 => "gone".to_owned(),
                _ => at.checked_sub(1).map_or_else(String::new, |before| format!("n{before}")),
            };
            let mut record = match kind {
                0 | 1 => user(&id, &parent, &format!("ask {at}")),
                2 => says(&id, &parent, &format!("say {at}")),
                3 => calls(&id, &parent, &format!("call {other}")),
                4 => answers(&id, &parent, &format!("call {other}")),
                _ => progress(&id, &parent),
            };
            record["isSidechain"] = json!(how == 3 && kind < 3);
            record
        };
        drawn.into_iter().enumerate().map(make).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_record_of_a_random_tree_is_reached_exactly_once(records in any_tree()) {
        let reader = open("claude-code", &file(), &lines(&records));
        prop_assert_eq!(reached(&*reader), sorted(&records));
        prop_assert_eq!(counts(&*reader)[0], records.len() as u64);
        prop_assert_eq!(counts(&*reader)[3], 0);
    }
}

#[test]
fn the_lines_of_one_answer_cost_once() {
    let line = |id: &str, parent: &str| {
        let mut line = block(id, parent, "m1", &json!({"type": "text", "text": id}), 1);
        line["costUSD"] = json!(0.5);
        line
    };
    let mut alone = says("a4", "a3", "More.");
    alone["message"].as_object_mut().unwrap().remove("usage");
    alone["costUSD"] = json!(0.25);
    let records =
        [user("u1", "", "Go."), line("a1", "u1"), line("a2", "a1"), line("a3", "a2"), alone];
    let usage = read(&records).usage().unwrap();
    assert_eq!(usage.total().cost, Some(0.75));
    let mut all = usage.clone();
    all.add(&usage);
    assert_eq!(all.total().cost, Some(0.75));
}

#[test]
fn a_session_is_not_called_after_what_a_helper_was_asked() {
    let mut warm = user("w1", "", "Warmup");
    warm["isSidechain"] = json!(true);
    let mut early = user("u1", "", "Is it done?");
    early["timestamp"] = json!("2025-01-01T10:00:00Z");
    let long = says("a1", "u1", &"x".repeat(200_000));
    for records in [vec![warm.clone(), early.clone()], vec![warm.clone(), early.clone(), long]] {
        let store = store(&[(&file(), &lines(&records))]);
        let summary = layout("claude-code").list(&store).unwrap().0.remove(0);
        assert_eq!(summary.title, "Is it done?");
        assert_eq!(summary.created.unwrap().to_string(), "2025-01-01T10:00:00Z");
    }
    let store = store(&[(&file(), &lines(&[warm]))]);
    assert_eq!(layout("claude-code").list(&store).unwrap().0[0].title, "Warmup");
}

#[test]
fn the_project_is_what_records_say_or_the_directory() {
    let project = |records: &[Value]| {
        let store = store(&[(&file(), &lines(records))]);
        let place = layout("claude-code").locate(&store).unwrap().sessions.remove(0);
        layout("claude-code").project(&store, &place).unwrap().unwrap()
    };
    let mut told = user("u1", "", "Go.");
    told["cwd"] = json!("/srv/told");
    assert_eq!(project(&[told.clone()]), "/srv/told");
    told.as_object_mut().unwrap().remove("cwd");
    let dir = file().split('/').nth(1).unwrap().to_owned();
    assert_eq!(project(&[told.clone()]), dir);
    // Which is no path, and keeps nobody from making a copy of the session.
    open("claude-code", &file(), &lines(&[told]));
}
