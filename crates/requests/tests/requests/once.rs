//! A turn that is sent again is stored once, in every format, in this process and in the next.

use everturn_requests::SessionHandler;
use serde_json::json;

use crate::conversation::{Conversation, KINDS, Kind, open_root};

fn texts(conversation: &mut Conversation) -> Vec<String> {
    let page = conversation.ok(r#"{"request":"entries","limit":1000}"#);
    let entries = page["entries"].as_array().unwrap();
    let texts = entries.iter().map(|entry| entry["text"].as_str().unwrap().to_owned());
    texts.filter(|text| text.starts_with("Step")).collect()
}

#[test]
fn a_key_stores_a_turn_once_in_every_format() {
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let root = open_root(dir.path());
        let id = kind.create(&root);
        let mut first = Conversation::open(&root, &id);
        assert_eq!(first.ok(r#"{"request":"info"}"#)["keys"], true);
        for turn in 1..=3 {
            let data = kind.turn(turn);
            let now = first.append(&data, &format!("key {turn}"));
            assert_eq!((&now["turn"], &now["stored"]), (&json!(turn), &json!("now")), "{kind:?}");
            let before = first.append(&data, &format!("key {turn}"));
            assert_eq!(
                (&before["turn"], &before["stored"]),
                (&json!(turn), &json!("before")),
                "{kind:?}"
            );
            assert_eq!(before["events"], now["events"], "{kind:?}");
        }
        // The process is gone, with and without a last word.
        drop(first);
        drop(root);
        let root = open_root(dir.path());
        let mut next = Conversation::open(&root, &id);
        for turn in [3, 1, 2] {
            let before = next.append(&kind.turn(turn), &format!("key {turn}"));
            assert_eq!(
                (&before["turn"], &before["stored"]),
                (&json!(turn), &json!("before")),
                "{kind:?}"
            );
        }
        assert_eq!(next.append(&kind.turn(4), "key 4")["turn"], 4, "{kind:?}");
        assert_eq!(texts(&mut next), ["Step 1.", "Step 2.", "Step 3.", "Step 4."], "{kind:?}");
    }
}

#[test]
fn a_key_of_another_turn_is_a_conflict() {
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let root = open_root(dir.path());
        let id = kind.create(&root);
        let mut conversation = Conversation::open(&root, &id);
        conversation.append(&kind.turn(1), "k");
        let other = format!(r#"{{"request":"append","key":"k","data":{}}}"#, kind.turn(2));
        assert_eq!(conversation.error(&other), "conflict", "{kind:?}");
        assert_eq!(texts(&mut conversation), ["Step 1."], "{kind:?}");
    }
}

#[test]
fn a_turn_with_its_number_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut game = Conversation::open(&root, &id);
    let turn = |number: u64, text: &str, value: u64| {
        format!(
            r#"{{"request":"append","data":{{"turnId":{number},"actor":"gm","narration":"{text}","deltas":[{{"scope":"world","deltas":[{{"op":"set","path":"n","value":{value}}}]}}]}}}}"#
        )
    };
    assert_eq!(game.ok(&turn(1, "One.", 1))["stored"], "now");
    assert_eq!(game.ok(&turn(2, "Two.", 2))["stored"], "now");
    let again = game.ok(&turn(1, "One.", 1));
    assert_eq!((&again["turn"], &again["stored"]), (&json!(1), &json!("before")));
    // Another turn of that number must not be acknowledged.
    assert_eq!(game.error(&turn(1, "Uno.", 1)), "conflict");
    assert_eq!(game.error(&turn(2, "Two.", 3)), "conflict");
    assert_eq!(game.error(&turn(4, "Four.", 4)), "conflict");
    assert_eq!(game.ok(&turn(3, "Three.", 3))["turn"], 3);
}

#[test]
fn the_turn_itself_may_contain_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Chat.create(&root);
    let mut chat = Conversation::open(&root, &id);
    let line =
        r#"{"request":"append","data":{"id":"hello","type":"npc","name":"Luna","text":"Hi."}}"#;
    assert_eq!(chat.ok(line)["events"], json!(["hello"]));
    assert_eq!(chat.ok(line)["stored"], "before");
    let other = r#"{"request":"append","key":"k","data":{"id":"hello","type":"npc","text":"Hi."}}"#;
    assert_eq!(chat.error(other), "bad_request");
    // An ID that another message got by itself is not taken for a repetition.
    chat.ok(r#"{"request":"append","data":{"type":"npc","text":"One."}}"#);
    let same_id = r#"{"request":"append","data":{"id":"msg-002","type":"npc","text":"Two."}}"#;
    assert_eq!(chat.error(same_id), "conflict");
}

#[test]
fn tags_and_edits_of_a_message_do_not_make_it_another_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Chat.create(&root);
    let mut chat = Conversation::open(&root, &id);
    let data = r#"{"type":"narrator","text":"It rains. <tool:add id=\"hp\" type=\"counter\" label=\"HP\" value=\"5\">"}"#;
    chat.append(data, "rain");
    assert_eq!(chat.append(data, "rain")["stored"], "before");
}

#[test]
fn messages_that_belong_together_have_one_key() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Codelia.create(&root);
    let mut agent = Conversation::open(&root, &id);
    let both =
        r#"{"messages":[{"role":"user","content":"Step 1."},{"role":"user","content":"Step 2."}]}"#;
    assert_eq!(agent.append(both, "k")["turn"], 2);
    let again = agent.append(both, "k");
    assert_eq!((&again["turn"], &again["stored"]), (&json!(2), &json!("before")));
    assert_eq!(texts(&mut agent), ["Step 1.", "Step 2."]);
}

#[test]
fn a_key_is_found_in_a_session_that_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let id = Kind::Game.create(&root);
    let mut game = Conversation::open(&root, &id);
    game.append(&Kind::Game.turn(1), "k");
    game.ok(r#"{"request":"complete"}"#);
    assert_eq!(game.append(&Kind::Game.turn(1), "k")["stored"], "before");
    let new = format!(r#"{{"request":"append","key":"n","data":{}}}"#, Kind::Game.turn(2));
    assert_eq!(game.error(&new), "wrong_status");
}

#[test]
fn a_key_goes_with_its_turn_when_the_session_is_rewound_or_forked() {
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let root = open_root(dir.path());
        let id = kind.create(&root);
        let mut conversation = Conversation::open(&root, &id);
        for turn in 1..=3 {
            conversation.append(&kind.turn(turn), &format!("k{turn}"));
        }
        let fork = conversation.ok(r#"{"request":"fork","turn":2}"#);
        let fork = fork["session"].as_str().unwrap().to_owned();
        conversation.ok(r#"{"request":"rewind","turn":1}"#);
        assert_eq!(conversation.append(&kind.turn(1), "k1")["stored"], "before", "{kind:?}");
        let again = conversation.append(&kind.turn(3), "k3");
        assert_eq!((&again["turn"], &again["stored"]), (&json!(2), &json!("now")), "{kind:?}");
        let mut branch = Conversation::new(SessionHandler::new(root.find(&fork).unwrap()));
        if branch.ok(r#"{"request":"info"}"#)["status"] == "paused" {
            branch.ok(r#"{"request":"resume"}"#);
        }
        assert_eq!(branch.append(&kind.turn(2), "k2")["stored"], "before", "{kind:?}");
        assert_eq!(branch.append(&kind.turn(3), "k3")["stored"], "now", "{kind:?}");
    }
}

#[test]
fn an_answer_that_waited_for_another_process_finds_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let (root, other) = (open_root(dir.path()), open_root(dir.path()));
    let id = Kind::Game.create(&root);
    let (mut one, mut two) = (Conversation::open(&root, &id), Conversation::open(&other, &id));
    one.append(&Kind::Game.turn(1), "k1");
    one.ok(r#"{"request":"sync"}"#);
    two.append(&Kind::Game.turn(2), "k2");
    // While the other one holds the lock, a turn that is stored is found, and a new one is not stored.
    assert_eq!(one.append(&Kind::Game.turn(2), "k2")["stored"], "before");
    let new = format!(r#"{{"request":"append","key":"k3","data":{}}}"#, Kind::Game.turn(3));
    assert_eq!(one.error(&new), "busy");
    two.ok(r#"{"request":"close"}"#);
    assert_eq!(one.ok(&new)["turn"], 3);
}
