//! Tools, tags and revisions: what is told changes the tools, and goes back with them.

use std::sync::Arc;

use everturn::chatlog::{ChatWriter, NewChat, NewChatMark, TagAction, ToolTag};
use everturn::finding::FindingCode;
use everturn::format;
use everturn::model::SessionRef;
use everturn::store::Store;
use everturn::tree::JsonTree;
use serde_json::json;

use crate::chatlog::support::{
    TALE, at, document, example, memory, path, put, reader, tell, told, tree, writer,
};

/// A store with a chat log that has a tool with a component of every kind.
fn with_tool() -> (Arc<dyn Store>, ChatWriter) {
    let store = memory();
    let tool = json!({
        "id": "vitals", "name": "Vitals",
        "components": [
            {"id": "hp", "type": "numeric", "default_value": 10,
             "display": {"format": "{value}/{max}", "min": 0, "max": 10},
             "triggers": {"on_threshold": [
                {"threshold": 3, "condition": "below", "action": "notify", "message": "nearly dead"}]}},
            {"id": "mood", "type": "text", "default_value": "calm"},
            {"id": "quest", "type": "progress", "default_value": "0"},
            {"id": "lamp", "type": "toggle"},
            {"id": "bag", "type": "list", "default_value": ["rope"]},
            {"id": "board", "type": "grid"},
            {"id": "other", "type": "custom", "default_value": {"a": 1}},
        ],
    });
    let mut new = NewChat::new("tale");
    new.fields =
        JsonTree::from_value(&json!({"session": {"support_tools": [tool, {"id": "bare"}]}}))
            .unwrap();
    let writer = ChatWriter::create(&store, &new, at(0)).unwrap();
    (store, writer)
}

fn state(writer: &ChatWriter, number: u64) -> serde_json::Value {
    writer.log().states(number).unwrap().0.to_value().unwrap()["vitals"].clone()
}

#[test]
fn tags_change_tools_in_their_order_and_leave_the_text() {
    let (store, mut log) = with_tool();
    tell(&mut log, "Nothing happens.", 1);
    let words = "You fall.\n<tool:add id=bag value='a coin' reason=found><tool:update id=\"hp\" value=\"4\" reason=\"a fall\">\n\
        <tool:update id=hp value=2 reason='a rock'> The lamp goes on.<tool:update id=lamp value=on> <tool:update id=board value='[[1]]'>";
    let given = json!({"type": "narrator", "text": words});
    let changed = log.append(&JsonTree::from_value(&given).unwrap(), at(2)).unwrap();
    assert_eq!(changed.findings, []);
    assert_eq!(changed.fired.len(), 1);
    assert_eq!(changed.fired[0].message, "nearly dead");
    assert_eq!(log.log().message(2).unwrap().text(), "You fall.\n The lamp goes on.");
    let after = json!({"hp": 2, "mood": "calm", "quest": "0", "lamp": true, "bag": ["rope", "a coin"],
        "board": [[1]], "other": {"a": 1}});
    assert_eq!(state(&log, 2), after);
    assert_eq!(state(&log, 1)["hp"], 10);
    log.close().unwrap();
    let document = document(&store);
    let snapshots = document["tool_snapshots"].as_array().unwrap();
    assert_eq!(snapshots.len(), 1);
    assert_eq!(snapshots[0]["id"], "snapshot-0001");
    assert_eq!(snapshots[0]["message_id"], "msg-002");
    let changes: Vec<String> = snapshots[0]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            format!(
                "{} {}>{} {}",
                change["component_id"],
                change["previous_value"],
                change["new_value"],
                change["cause"]
            )
        })
        .collect();
    assert_eq!(changes[1], "\"hp\" 10>4 \"a fall\"");
    assert_eq!(changes[2], "\"hp\" 4>2 \"a rock\"");
    assert_eq!(changes.len(), 5);
}

#[test]
fn what_is_not_understood_stays_in_the_text_and_is_reported() {
    let (_, mut log) = with_tool();
    let words = "A <tool:update id=nobody value=1> <tool:update id=hp value=many> <tool:add id=hp value=1> \
        <tool:update id=hp> <tool:dance id=hp> <tool:update id=mood value=''> <tool:update id=hp value=99>";
    let given = json!({"type": "narrator", "text": words});
    let changed = log.append(&JsonTree::from_value(&given).unwrap(), at(2)).unwrap();
    let told: Vec<&str> = changed.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "in message msg-001: a tool tag cannot be applied: no tool has a component \"nobody\"",
            "in message msg-001: a tool tag cannot be applied: \"many\" is not a number",
            "in message msg-001: a tool tag cannot be applied: elements can be added to list components only",
            "in message msg-001: invalid tool tag: it has no value",
            "in message msg-001: invalid tool tag: unknown tool action \"dance\"",
            "in message msg-001: component hp: 99 is out of range",
        ]
    );
    assert!(changed.findings.iter().all(|finding| finding.code == FindingCode::OddTag));
    let text = log.log().message(1).unwrap().text();
    assert_eq!(text.matches("<tool:").count(), 5, "{text}");
    assert_eq!(state(&log, 1)["mood"], "");
    assert_eq!(state(&log, 1)["hp"], 99);
    // Others than the narrator only talk about tags.
    let said = tree(r#"{"type": "protagonist", "text": "<tool:update id=hp value=1>"}"#);
    assert!(log.append(&said, at(3)).unwrap().findings.is_empty());
    assert_eq!(state(&log, 2)["hp"], 99);
}

#[test]
fn tools_of_the_example_go_on_as_strings() {
    let store = example();
    let mut log = writer(&store);
    tell(
        &mut log,
        "Dead. <tool:update id=\"death-counter\" value=\"1\" reason=\"Elsa\"><tool:add id=timeline-log value=\"Timeline 2\">",
        5,
    );
    // Two changes in the same second are both there.
    tell(
        &mut log,
        "Dead again. <tool:update id=\"death-counter\" value=\"2\"><tool:add id=timeline-log value=\"Timeline 3\">",
        5,
    );
    for folded in [false, true] {
        if folded {
            log.fold().unwrap();
        }
        let values = |number| {
            let states = log.log().states(number).unwrap().0.to_value().unwrap();
            let tool = states["rezero-timeline-tracker"].clone();
            (tool["death-counter"].clone(), tool["timeline-log"].as_array().unwrap().len())
        };
        assert_eq!(values(3), (json!("0"), 1));
        assert_eq!(values(4), (json!("1"), 2));
        assert_eq!(values(5), (json!("2"), 3));
    }
}

#[test]
fn states_in_the_shape_of_the_database_are_read_and_kept() {
    let store = example();
    let state = r#""state": {"death-counter": 3, "timeline-log": ["x"]}, "changes": {"death-counter": {"from": 2, "to": 3, "reason": "r"}}"#;
    let snapshot = format!(
        r#"{{"id": "state-1", "timestamp": "2023-05-18 12:03:00", "message_id": "msg-003", "tool_id": "rezero-timeline-tracker", {state}}}"#
    );
    let text = crate::chatlog::support::EXAMPLE.replace(
        "      \"changes\": []\n    }\n  ],",
        &format!("      \"changes\": []\n    }},\n    {snapshot}\n  ],"),
    );
    put(&store, TALE, &text);
    let mut log = writer(&store);
    tell(&mut log, "<tool:update id=death-counter value=4 reason=x>", 5);
    log.close().unwrap();
    let last = document(&store)["tool_snapshots"][2].clone();
    assert_eq!(last["state"], json!({"death-counter": 4, "timeline-log": ["x"]}));
    assert_eq!(last["changes"], json!({"death-counter": {"from": 3, "to": 4, "reason": "x"}}));
}

#[test]
fn definitions_may_stand_in_files_of_their_own() {
    let store = memory();
    put(
        &store,
        "tools/bell.json",
        r#"{"type": "support-tool", "components": [{"id": "tolls", "type": "numeric", "default_value": 0}]}"#,
    );
    put(&store, "tools/broken.json", "{");
    let mut new = NewChat::new("tale");
    new.fields = tree(
        r#"{"session": {"support_tools": [{"id": "bell", "name": "Bell"}, {"id": "broken"}, {"id": "../x"}]}}"#,
    );
    let mut log = ChatWriter::create(&store, &new, at(0)).unwrap();
    tell(&mut log, "Dong. <tool:update id=tolls value=1>", 1);
    assert_eq!(log.log().states(1).unwrap().0.to_value().unwrap()["bell"]["tolls"], 1);
    let (tools, findings) = log.log().tools().unwrap();
    assert_eq!((tools.len(), findings.len()), (3, 1));
    assert_eq!(findings[0].code, FindingCode::BadDocument);
    let changed = log
        .update_tool(&ToolTag::new(TagAction::Update, "tolls", "5", Some("by hand")), at(2))
        .unwrap();
    assert_eq!(changed.id, "snapshot-0002");
    assert_eq!(log.log().states(1).unwrap().0.to_value().unwrap()["bell"]["tolls"], 5);
    assert!(log.update_tool(&ToolTag::new(TagAction::Add, "tolls", "5", None), at(2)).is_err());
}

#[test]
fn an_edit_keeps_what_was_there() {
    let store = example();
    let mut log = writer(&store);
    log.edit(2, "A quiet market. <tool:update id=x value=y>", at(1)).unwrap();
    let changed = log.edit(2, "A loud market.", at(2)).unwrap();
    assert_eq!((changed.number, changed.id.as_str()), (2, "msg-002"));
    log.close().unwrap();
    let message = document(&store)["messages"][1].clone();
    assert_eq!(message["content"], json!({"text": "A loud market."}));
    assert_eq!(message["metadata"]["is_edited"], true);
    let history = message["metadata"]["edit_history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert!(
        history[0]["content"]["formatted_text"].as_str().unwrap().starts_with("<p>The bustling")
    );
    assert_eq!(history[1]["timestamp"], "2026-01-01T10:00:02Z");
    assert_eq!(message["metadata"]["tokens"], 4, "the new text is counted");
}

#[test]
fn a_message_told_anew_takes_the_tools_with_it() {
    let (_, mut log) = with_tool();
    tell(&mut log, "You wait.", 1);
    tell(&mut log, "You trip. <tool:update id=hp value=7>", 2);
    log.regenerate(2, "You leap. <tool:update id=mood value=proud>", at(3)).unwrap();
    assert_eq!(
        (state(&log, 2)["hp"].clone(), state(&log, 2)["mood"].clone()),
        (json!(10), json!("proud"))
    );
    assert_eq!(log.log().message(2).unwrap().text(), "You leap.");
    for _ in 0..2 {
        log.choose(2, 1, at(4)).unwrap();
        assert_eq!(log.log().message(2).unwrap().text(), "You trip.");
        assert_eq!(
            (state(&log, 2)["hp"].clone(), state(&log, 2)["mood"].clone()),
            (json!(7), json!("calm"))
        );
        log.choose(2, 1, at(5)).unwrap();
        assert_eq!(log.log().message(2).unwrap().text(), "You leap.");
        assert_eq!(
            (state(&log, 2)["hp"].clone(), state(&log, 2)["mood"].clone()),
            (json!(10), json!("proud"))
        );
        log.fold().unwrap();
    }
    assert_eq!(state(&log, 1)["hp"], 10);
    // What others follow is told anew without the tools.
    let changed = log.regenerate(1, "You sleep. <tool:update id=hp value=1>", at(6)).unwrap();
    assert_eq!(changed.findings.len(), 1);
    assert_eq!(state(&log, 2)["hp"], 10);
    assert!(log.choose(1, 2, at(7)).is_err());
    assert!(log.choose(3, 1, at(7)).is_err());
    let metadata =
        log.log().message(1).unwrap().tree.value_at(&["metadata"]).unwrap().to_value().unwrap();
    assert_eq!(metadata["is_regenerated"], true);
    assert_eq!(metadata["regeneration_history"][0]["content"]["text"], "You wait.");
}

#[test]
fn a_message_that_is_thrown_away_comes_back_with_all_that_was_its() {
    for place in 1..=4 {
        for fold in [false, true] {
            let (store, mut log) = with_tool();
            for number in 1..=4 {
                tell(
                    &mut log,
                    &format!("Number {number}. <tool:update id=hp value={number}>"),
                    number,
                );
            }
            for number in [2, 3] {
                log.add_mark(
                    &NewChatMark { kind: "bookmark", name: "b", description: None, number },
                    at(6),
                )
                .unwrap();
                log.add_mark(
                    &NewChatMark { kind: "scene", name: "s", description: None, number },
                    at(6),
                )
                .unwrap();
            }
            log.fold().unwrap();
            let before = told(log.log());
            let states: Vec<_> = (1..=4).map(|number| state(&log, number)).collect();
            let gone = log.delete(place, at(7)).unwrap();
            assert_eq!((log.log().len(), log.log().discarded_messages().unwrap().len()), (3, 1));
            let left: Vec<_> = (1..=3).map(|number| state(&log, number)).collect();
            let unfolded = told(log.log());
            assert_eq!(log.log().check().unwrap(), []);
            if fold {
                log.fold().unwrap();
                assert_eq!(told(log.log()), unfolded);
                assert_eq!(log.log().check().unwrap(), []);
            }
            // Every message that is left has the states it had, but the one before what is gone has its states.
            for number in 1..=3_u64 {
                let was = if number < place - 1 { number } else { number + 1 };
                assert_eq!(
                    left[usize::try_from(number - 1).unwrap()],
                    states[usize::try_from(was - 1).unwrap()]
                );
            }
            assert!(log.restore("nothing", at(8)).is_err());
            let back = log.restore(&gone.name, at(8)).unwrap();
            assert_eq!(back.number, place);
            // Marks of one list may stand in another order.
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(sorted(&told(log.log())), sorted(&before));
            assert_eq!(log.log().check().unwrap(), []);
            assert!(log.log().discarded_messages().unwrap().is_empty());
            log.close().unwrap();
            assert_eq!(sorted(&told(&reader(&store))), sorted(&before));
        }
    }
}

#[test]
fn what_is_shown_is_made_from_markdown_and_made_safe() {
    let store = example();
    let log = reader(&store);
    let shown = log.message(2).unwrap().formatted_text();
    assert!(
        shown.starts_with("<p>The bustling sounds") && shown.contains("you're standing"),
        "{shown}"
    );
    assert!(
        log.message(1).unwrap().formatted_text().starts_with("<p>Welcome to Re:Zero - Beginning")
    );
    let mut log = writer(&store);
    let given = json!({"type": "npc", "content": {"text": "x", "formatted_text": "<p onclick='a()'>hi<script>b()</script></p>"}});
    log.append(&JsonTree::from_value(&given).unwrap(), at(1)).unwrap();
    assert_eq!(log.log().message(4).unwrap().formatted_text(), "<p>hi</p>");
}

#[test]
fn the_common_view_has_messages_changes_and_states() {
    let store = example();
    let mut log = writer(&store);
    tell(&mut log, "Dead. <tool:update id=\"death-counter\" value=\"1\">", 5);
    log.release().unwrap();
    let chatlog = format::find("chatlog").unwrap();
    let place = SessionRef { id: "tale".to_owned(), path: path(TALE) };
    let summary = chatlog.summary(&store, &place).unwrap();
    assert_eq!(
        (summary.title.as_str(), summary.turns),
        ("Beginning Life in Another World", Some(4))
    );
    assert_eq!(summary.updated, Some(at(5)));
    let reader = chatlog.open(&store, &place).unwrap();
    let mut entries = reader.entries(2..=4).unwrap();
    let all: Vec<_> = std::iter::from_fn(|| entries.next().map(Result::unwrap)).collect();
    let shown: Vec<(u64, &str, &str)> =
        all.iter().map(|e| (e.seq, e.speaker.as_str(), e.kind.as_str())).collect();
    assert_eq!(
        shown,
        [(2, "Narrator", "narrator"), (3, "Subaru Natsuki", "user"), (4, "Narrator", "narrator")]
    );
    let mut changes = reader.changes(0..=4).unwrap();
    let change = changes.next().unwrap().unwrap();
    assert_eq!((change.turn, change.scope.as_str()), (4, "tools"));
    assert_eq!(
        change.delta.to_line(),
        r#"{"op":"set","path":["rezero-timeline-tracker","death-counter"],"value":"1","previousValue":"0","shown":{"place":"Return by Death Tracker: death-counter"}}"#
    );
    assert!(changes.next().is_none());
    assert_eq!(
        reader.state(Some(3)).unwrap().get("tools").unwrap().to_value().unwrap()["rezero-timeline-tracker"]
            ["death-counter"],
        "0"
    );
    assert!(reader.state(Some(5)).is_err());
    assert_eq!(reader.turn_of("msg-003").unwrap(), Some(3));
    assert_eq!(reader.marks().unwrap().len(), 2);
}
