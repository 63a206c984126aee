//! Claude Code 2.1.

use serde_json::{Value, json};

use crate::support::{format, open, store_of, summary, told};

const ID: &str = "4f558b39-987b-4aad-bd06-ef55ea2f695b";

fn chained(kind: &str, uuid: &str, parent: Option<&str>, more: &Value) -> Value {
    let mut record = json!({"parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid, "sessionId": ID,
        "timestamp": "2026-01-01T10:00:00.000Z", "cwd": "/srv/app", "version": "2.1.326"});
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

fn talk(first: usize) -> Vec<u8> {
    let user = |text: &str| json!({"message": {"role": "user", "content": text}});
    let answer =
        |block: &Value| json!({"message": {"id": "m1", "role": "assistant", "content": [block]}});
    let saved = "<persisted-output>\nOutput too large (106.3KB). Full output saved to: \
                 /home/u/.claude/projects/-srv-app/4f558b39-987b-4aad-bd06-ef55ea2f695b/tool-results/b1.txt\n\n1\n2";
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": saved}]);
    let records = [
        json!({"type": "queue-operation", "operation": "enqueue", "sessionId": ID, "content": "Count, please."}),
        json!({"type": "queue-operation", "operation": "dequeue", "sessionId": ID}),
        chained("user", "u1", None, &user("Count, please.")),
        chained(
            "attachment",
            "a1",
            Some("u1"),
            &json!({"attachment": {"type": "prompt_snapshot", "text": "x".repeat(first)}}),
        ),
        chained(
            "assistant",
            "a2",
            Some("a1"),
            &answer(&json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}})),
        ),
        chained("user", "u2", Some("a2"), &json!({"message": {"role": "user", "content": result}})),
        chained("assistant", "a3", Some("u2"), &answer(&json!({"type": "text", "text": "Done."}))),
        chained("user", "u3", Some("a3"), &user("Thanks.")),
    ];
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

#[test]
fn turns_are_counted_however_long_the_first_records_are() {
    for first in [10, 130 << 10, 3 << 20] {
        let path = format!("projects/-srv-app/{ID}.jsonl");
        let store = store_of(&[(&path, &talk(first))]);
        let shown = summary(format("claude-code"), &store, ID);
        assert_eq!((shown.turns, shown.title.as_str()), (Some(2), "Count, please."), "{first}");
    }
}

#[test]
fn a_queued_prompt_is_found_once_and_a_long_output_is_there() {
    let (path, saved) = (
        format!("projects/-srv-app/{ID}.jsonl"),
        format!("projects/-srv-app/{ID}/tool-results/b1.txt"),
    );
    let store = store_of(&[(&path, &talk(10)), (&saved, b"1\n2\n20000\n")]);
    let reader = open(format("claude-code"), &store, ID);
    let mut stream = reader.entries(0..=u64::MAX).unwrap();
    let texts: Vec<String> =
        std::iter::from_fn(|| stream.next()).map(|entry| entry.unwrap().text).collect();
    let times = |wanted: &str| texts.iter().filter(|text| text.contains(wanted)).count();
    assert_eq!(times("Count, please."), 1);
    assert_eq!(times("20000"), 1);
    // It is not said twice.
    assert_eq!(told(&*reader).iter().filter(|line| line.contains("tool_result")).count(), 1);
    assert_eq!(reader.record_counts().unwrap().read, 9);
}
