//! SillyTavern 1.19, pi 0.87 and goose 1.52.

use serde_json::{Value, json};

use crate::support::{format, open, sessions, store_of, summary, told};

fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

#[test]
fn hidden_messages_of_the_user_are_the_users_and_thoughts_come_first() {
    let file = lines(&[
        json!({"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}),
        json!({"name": "Ann", "is_user": true, "is_system": true, "mes": "Who?", "send_date": "2026-01-01T10:00:00Z"}),
        json!({"name": "Vex", "is_user": false, "is_system": false, "mes": "I.", "send_date": "2026-01-01T10:00:01Z",
            "extra": {"reasoning": "Hm."}}),
        json!({"name": "Ann", "is_user": true, "is_system": false, "mes": "Why?", "send_date": "2026-01-01T10:00:02Z"}),
    ]);
    let store = store_of(&[("user/chats/Vex/one.jsonl", &file)]);
    let reader = open(format("sillytavern"), &store, "");
    assert_eq!(
        told(&*reader),
        ["1 user: Who?", "1 thinking: Hm.", "1 assistant: I.", "2 user: Why?"]
    );
}

#[test]
fn a_group_chat_names_its_speakers() {
    let message = |name: &str, user: bool, text: &str| {
        json!({"name": name, "is_user": user, "is_system": false, "mes": text, "send_date": "2026-01-01T10:00:00Z",
            "original_avatar": format!("{name}.png")})
    };
    let file = lines(&[
        json!({"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}),
        message("Ann", true, "All?"),
        message("Vex", false, "Yes."),
        message("Orm", false, "No."),
    ]);
    let store = store_of(&[("user/group chats/1700000000.jsonl", &file)]);
    let reader = open(format("sillytavern"), &store, "");
    let mut stream = reader.entries(1..=1).unwrap();
    let speakers: Vec<String> =
        std::iter::from_fn(|| stream.next()).map(|entry| entry.unwrap().speaker).collect();
    assert_eq!(speakers[speakers.len() - 3..], ["Ann", "Vex", "Orm"]);
}

#[test]
fn a_system_prompt_in_sections_has_a_text() {
    let file = lines(&[
        json!({"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T10:00:00Z", "cwd": "/srv/app"}),
        json!({"type": "message", "id": "00000001", "parentId": null, "timestamp": "2026-01-01T10:00:00Z",
            "message": {"role": "system", "sections": [{"id": "base", "text": "Be brief."}, {"id": "tools", "text": "Use tools."}]}}),
        json!({"type": "message", "id": "00000002", "parentId": "00000001", "timestamp": "2026-01-01T10:00:01Z",
            "message": {"role": "user", "content": "Hi."}}),
    ]);
    let store = store_of(&[("sessions/--srv-app--/2026_s1.jsonl", &file)]);
    let reader = open(format("pi"), &store, "");
    assert_eq!(told(&*reader), ["1 system: Be brief.\nUse tools.", "1 user: Hi."]);
}

#[test]
fn an_export_of_goose_is_a_session() {
    let export = json!({"id": "20260101_1", "working_dir": "/srv/app", "name": "Listing", "session_type": "user",
        "created_at": "2026-01-01T10:00:00Z", "updated_at": "2026-01-01T10:01:00Z", "message_count": 2,
        "accumulated_input_tokens": 100, "accumulated_output_tokens": 20,
        "model_config": {"model_name": "sonnet"},
        "conversation": [
            {"id": "m1", "role": "user", "created": 1_767_261_600, "content": [{"type": "text", "text": "List."}],
             "metadata": {"userVisible": true, "agentVisible": true}},
            {"id": "m2", "role": "assistant", "created": 1_767_261_601, "content": [{"type": "text", "text": "One."}],
             "metadata": {"userVisible": true, "agentVisible": true}}]});
    let text = serde_json::to_vec_pretty(&export).unwrap();
    let store = store_of(&[("export.json", &text)]);
    assert_eq!(sessions(format("goose"), &store).len(), 1);
    let reader = open(format("goose"), &store, "20260101_1");
    assert_eq!(told(&*reader), ["1 user: List.", "1 assistant: One."]);
    let (model, spent) = &reader.usage().unwrap().models[0];
    assert_eq!((model.as_str(), spent.input, spent.output), ("sonnet", 100, 20));
    let shown = summary(format("goose"), &store, "20260101_1");
    assert_eq!((shown.title.as_str(), shown.turns), ("Listing", Some(1)));
}
