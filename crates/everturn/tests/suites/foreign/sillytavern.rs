//! SillyTavern.

use everturn::format::SessionReader;
use serde_json::{Value, json};

use crate::foreign::support::{branch_lines, codes, counts, layout, open, store, told, told_along};

const FILE: &str = "default-user/chats/Mira/Mira - 2024-01-02@10h00m00s.jsonl";

fn header() -> Value {
    json!({"chat_metadata": {"integrity": "x", "main_chat": "Mira - first"}, "user_name": "unused",
        "character_name": "unused"})
}

fn line(name: &str, is_user: bool, text: &str) -> Value {
    json!({"name": name, "is_user": is_user, "is_system": false, "send_date": "June 1, 2023 3:04pm",
        "mes": text, "extra": {"api": "openai", "model": "m"}})
}

/// The file as the program writes it, without a newline at its end.
fn file(records: &[Value]) -> Vec<u8> {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    lines.join("\n").into_bytes()
}

fn read(records: &[Value]) -> Box<dyn SessionReader> {
    open("sillytavern", FILE, &file(records))
}

#[test]
fn a_chat_has_speakers_and_needs_no_newline_at_its_end() {
    let mut thinks = line("Mira", false, "Welcome.");
    thinks["extra"]["reasoning"] = json!("A guest.");
    let mut system = line("System", false, "Saved.");
    system["is_system"] = json!(true);
    let mut narrator = line("Narrator", false, "Night falls.");
    narrator["extra"]["type"] = json!("narrator");
    let reader = read(&[header(), thinks, line("Ana", true, "Hello."), system, narrator]);
    assert_eq!(
        told(&*reader),
        [
            "1 thinking: A guest.",
            "1 assistant: Welcome.",
            "1 user: Hello.",
            "1 system: Saved.",
            "1 narrator: Night falls.",
        ]
    );
    assert_eq!((reader.findings(), counts(&*reader)), (vec![], [5, 5, 0, 0, 0]));
}

#[test]
fn other_versions_of_a_message_are_branches() {
    let mut told_anew = line("Mira", false, "Second.");
    told_anew["swipes"] = json!(["First.", "Second.", "Third."]);
    told_anew["swipe_id"] = json!(1);
    let reader = read(&[header(), line("Ana", true, "Go."), told_anew, line("Ana", true, "On.")]);
    assert_eq!(told(&*reader), ["1 user: Go.", "1 assistant: Second.", "2 user: On."]);
    let found = branch_lines(&*reader);
    assert_eq!(found.len(), 2);
    assert!(found[0].ends_with(" 1+1: First.") && found[1].ends_with(" 1+1: Third."), "{found:?}");
    let id = found[1].split(' ').next().unwrap();
    assert_eq!(told_along(&*reader, id), ["1 user: Go.", "2 assistant: Third."]);
    assert_eq!((counts(&*reader), reader.warnings()), ([4, 4, 0, 0, 0], vec![]));
}

#[test]
fn a_message_that_is_not_the_version_that_was_chosen_is_noticed() {
    let check = |swipe: Value, branches: usize| {
        let mut edited = line("Mira", false, "Edited.");
        edited["swipes"] = json!(["First.", "Second."]);
        edited["swipe_id"] = swipe;
        let reader = read(&[header(), edited]);
        assert_eq!(codes(&reader.warnings()), ["2 choice-differs"]);
        assert_eq!((told(&*reader).len(), branch_lines(&*reader).len()), (1, branches));
    };
    check(json!(1), 2);
    check(json!(7), 2);
    check(Value::Null, 2);
}

#[test]
fn chats_of_every_age_groups_and_branches_are_listed() {
    let old =
        json!({"user_name": "Ana", "character_name": "Mira", "create_date": 1_685_631_845_000_i64});
    let mut named = line("Mira", false, "Hi.");
    named["is_name"] = json!(true);
    named["send_date"] = json!(1_685_631_846_000_i64);
    let group = line("Bo", false, "We are two.");
    let store = store(&[
        (FILE, &file(&[header(), line("Ana", true, "Hi.")])),
        ("default-user/chats/Mira/old.jsonl", &file(&[old, named])),
        ("default-user/group chats/17.jsonl", &file(&[group])),
        ("default-user/settings.json", b"{}"),
    ]);
    let (mut summaries, findings) = layout("sillytavern").list(&store).unwrap();
    assert_eq!(findings, []);
    summaries.sort_by(|a, b| a.session.cmp(&b.session));
    let listed: Vec<(&str, Option<&str>)> = summaries
        .iter()
        .map(|summary| (summary.title.as_str(), summary.parent.as_deref()))
        .collect();
    assert_eq!(
        listed,
        [("17", None), ("Mira - 2024-01-02@10h00m00s", Some("Mira - first")), ("old", None)]
    );
    assert_eq!(summaries[2].created.unwrap().to_string(), "2023-06-01T15:04:05Z");
    assert_eq!(summaries[1].updated.unwrap().to_string(), "2023-06-01T15:04:00Z");
}

#[test]
fn a_byte_order_mark_before_the_header_is_no_damage() {
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(file(&[header(), line("Ana", true, "Hi.")]));
    let reader = open("sillytavern", FILE, &bytes);
    assert_eq!((told(&*reader), reader.findings()), (vec!["1 user: Hi.".to_owned()], vec![]));
}

#[test]
fn other_versions_have_times_of_their_own() {
    let mut told_anew = line("Mira", false, "Second.");
    told_anew["swipes"] = json!(["First.", "Second."]);
    told_anew["swipe_id"] = json!(1);
    told_anew["swipe_info"] = json!([{"send_date": "2023-05-01T10:00:00.000Z"}, {}]);
    let reader = read(&[header(), line("Ana", true, "Go."), told_anew]);
    let branch = reader.branches().unwrap().remove(0);
    assert_eq!(branch.updated.unwrap().to_string(), "2023-05-01T10:00:00Z");
}
