//! What is told to a model, and what comes out of a database.

use everturn::chatlog::{ChatLog, ContextOptions, store_import};
use everturn::chatlog_import::{DatabaseImport, ImportedDocument};
use everturn::context::{ContextStrategy, ItemKind, SelectionReason};
use everturn::tree::JsonTree;
use serde_json::json;

use crate::chatlog::support::{
    EXAMPLE, TALE, at, document, example, exists, memory, path, put, read, reader, tell, tree,
    writer,
};

fn how(size: usize, strategy: ContextStrategy) -> ContextOptions {
    ContextOptions { size, strategy, ..ContextOptions::default() }
}

#[test]
fn messages_tools_cards_and_lore_are_told_as_far_as_they_fit() {
    let store = example();
    put(
        &store,
        "characters/cc-subaru-natsuki.json",
        r#"{"type": "character", "version": "1.0", "metadata": {"id": "cc-subaru-natsuki"}, "character": {"name": "Subaru"}, "name": "Subaru", "description": "A shut-in."}"#,
    );
    put(
        &store,
        "lorebooks/lb-rezero.json",
        r#"{"entries": [{"id": "lugnica", "keys": ["marketplace"], "content": "Lugnica is a kingdom."}, {"id": "witch", "keys": ["witch"], "content": "Never named."}]}"#,
    );
    let log = reader(&store);
    let all = log.context(&how(16384, ContextStrategy::Sliding)).unwrap();
    assert_eq!(all.selection.ids(ItemKind::Message), ["msg-001", "msg-002", "msg-003"]);
    assert_eq!(
        all.selection.ids(ItemKind::CharacterCard),
        ["cc-subaru-natsuki"],
        "{:?}",
        all.notes
    );
    assert_eq!(all.selection.ids(ItemKind::LorebookEntry), ["lugnica"]);
    assert_eq!(all.selection.ids(ItemKind::ToolSnapshot), ["rezero-timeline-tracker"]);
    assert!(all.prompt().contains("death-counter: 0"), "{}", all.prompt());
    assert!(all.prompt().starts_with("This is an immersive RPG experience"));
    assert_eq!(all.chat()[0]["role"], "system");
    // The prompts of the settings take their room first.
    assert!(all.selection.used_tokens() + all.selection.window.reserve() <= 16384);
    let few = log.context(&how(220, ContextStrategy::Sliding)).unwrap();
    assert_eq!(few.selection.ids(ItemKind::Message), ["msg-001", "msg-003"]);
    assert!(few.selection.left_out.iter().any(|left| left.id == "msg-002"));
    let fixed = log.context(&how(330, ContextStrategy::Fixed)).unwrap();
    assert_eq!(fixed.selection.ids(ItemKind::Message), ["msg-001", "msg-003"]);
    assert!(
        fixed
            .selection
            .included
            .iter()
            .any(|told| told.item.id == "msg-001" && told.why == SelectionReason::Pinned)
    );
    let adaptive = log
        .context(&ContextOptions { pins: vec![3], ..how(16384, ContextStrategy::Adaptive) })
        .unwrap();
    let why =
        |id: &str| adaptive.selection.included.iter().find(|told| told.item.id == id).unwrap().why;
    // The message before the newest has its turn by its age, before the share of marked messages.
    assert_eq!(
        (why("msg-001"), why("msg-002")),
        (SelectionReason::Referenced, SelectionReason::Recent)
    );
    assert!(log.context(&how(10, ContextStrategy::Sliding)).is_err());
}

#[test]
fn a_marked_message_stays_where_its_age_would_leave_it_out() {
    let store = example();
    let mut log = writer(&store);
    for second in 0..60 {
        tell(&mut log, "They walk along the wall, and the bells ring for the evening.", second);
    }
    let why = |strategy| {
        let chosen = log.log().context(&how(1200, strategy)).unwrap().selection;
        assert!(chosen.ids(ItemKind::Message).len() < 60);
        chosen.included.iter().find(|one| one.item.id == "msg-002").map(|one| one.why)
    };
    assert_eq!(why(ContextStrategy::Adaptive), Some(SelectionReason::Marked));
    assert_eq!(why(ContextStrategy::Sliding), None);
    log.close().unwrap();
}

#[test]
fn cards_and_lorebooks_that_are_not_there_are_notes() {
    let store = example();
    put(&store, "cards/cc-subaru-natsuki.png", "no picture");
    let told = reader(&store).context(&how(16384, ContextStrategy::Sliding)).unwrap();
    assert_eq!(told.notes.len(), 3, "{:?}", told.notes);
    assert!(told.notes[0].starts_with("cards/cc-subaru-natsuki.png cannot be used"));
    assert_eq!(told.notes[2], "there is no lorebook lb-rezero in lorebooks");
    put(&store, TALE, &EXAMPLE.replace("\"lb-rezero\"", "\"../../etc\""));
    let told = reader(&store).context(&how(16384, ContextStrategy::Sliding)).unwrap();
    assert!(told.notes.iter().any(|note| note.contains("is not a valid file name")));
}

#[test]
fn what_was_chosen_is_recorded() {
    let store = example();
    let mut log = writer(&store);
    tell(&mut log, "On. <tool:update id=death-counter value=1>", 1);
    let told = log.log().context(&how(4096, ContextStrategy::Adaptive)).unwrap();
    let window = JsonTree::from_value(&told.selection.context_window()).unwrap();
    log.set(&["context_window"], window, at(2)).unwrap();
    log.close().unwrap();
    let window = document(&store)["context_window"].clone();
    assert_eq!(
        (window["size"].clone(), window["strategy"].clone()),
        (json!(4096), json!("adaptive"))
    );
    assert_eq!(window["included_tool_snapshots"], json!(["snapshot-0002"]));
    let findings = reader(&store).check().unwrap();
    assert_eq!(
        findings.len(),
        1,
        "only the bookmark of the example still leads nowhere: {findings:?}"
    );
    let mut log = writer(&store);
    assert!(log.set(&["messages"], tree("[]"), at(3)).is_err());
    assert!(log.set(&[], tree("{}"), at(3)).is_err());
}

#[test]
fn what_came_out_of_a_database_is_put_in_its_place_once() {
    let made = |id: &str, text: &str| ImportedDocument {
        id: id.to_owned(),
        title: id.to_owned(),
        document: tree(text),
    };
    let log = EXAMPLE.trim();
    let found = DatabaseImport {
        logs: vec![made("cl-1", log), made("../out", log)],
        cards: vec![made("rem", r#"{"type": "character"}"#)],
        lorebooks: vec![made("lb", r#"{"entries": []}"#)],
        tools: vec![made("bell", r#"{"components": []}"#)],
        ..DatabaseImport::default()
    };
    let store = memory();
    put(&store, "tools/bell.json", "{\"own\": true}");
    let archiver = store_import(&store, &found).unwrap();
    let told: Vec<(bool, bool)> = archiver
        .others
        .iter()
        .chain(&archiver.logs)
        .map(|one| (one.new, one.note.is_some()))
        .collect();
    assert_eq!(told, [(true, false), (true, false), (false, true), (true, false), (false, true)]);
    assert_eq!(read(&store, "tools/bell.json"), "{\"own\": true}");
    assert!(exists(&store, "characters/rem.json") && exists(&store, "lorebooks/lb.json"));
    let log = ChatLog::open(&store, &path("chats/cl-1.json")).unwrap();
    assert_eq!(log.len(), 3);
    let again = store_import(&store, &found).unwrap();
    assert!(again.others.iter().chain(&again.logs).all(|one| !one.new));
}
