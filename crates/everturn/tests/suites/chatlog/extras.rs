//! What a message has besides its text, in the common model and in prompts.

use everturn::chatlog::{self, ContextOptions};
use everturn::model::{Attachment, Entry, EntryAction, SessionRef};
use everturn::store::Store;
use std::sync::Arc;

use crate::chatlog::support::{TALE, at, example, memory, path, reader, tale, tree};

fn entries(store: &Arc<dyn Store>) -> Vec<Entry> {
    let place = SessionRef { id: "tale".to_owned(), path: path(TALE) };
    let reader = chatlog::FORMAT.open(store, &place).unwrap();
    let mut entries = reader.entries(1..=9).unwrap();
    std::iter::from_fn(|| entries.next()).map(Result::unwrap).collect()
}

#[test]
fn actions_formatted_text_and_avatars_of_the_example_are_in_its_entries() {
    let entries = entries(&example());
    let action =
        |kind: &str, text: &str| EntryAction { kind: kind.to_owned(), text: text.to_owned() };
    assert_eq!(
        entries[2].extras.actions,
        [
            action("action", "looks around in amazement"),
            action("thought", "Is this some kind of elaborate prank?"),
        ]
    );
    let formatted = entries[1].extras.formatted_text.as_deref().unwrap();
    assert!(formatted.starts_with("<p>The bustling sounds"), "{formatted}");
    assert_eq!(entries[0].extras.avatar.as_deref(), Some("path/to/system-avatar.png"));
    assert!(entries[2].readable_text().ends_with(
        "\"\n*looks around in amazement*\n*thinks: Is this some kind of elaborate prank?*"
    ));
    assert_eq!(entries[0].readable_text(), entries[0].text);
}

#[test]
fn a_message_that_is_only_a_picture_or_an_emote_says_something() {
    let store = memory();
    let mut log = tale(&store);
    for content in [
        r#"{"text": "", "attachments": [{"type": "image", "url": "map.png", "description": "A map"}]}"#,
        r#"{"text": "", "actions": [{"type": "emote", "text": "bows"}]}"#,
        r#"{"text": "", "formatted_text": "<p>Only <b>here</b>.</p>"}"#,
        r#"{"text": "", "attachments": [{"type": "image", "url": "data:image/png;base64,AAAABBBBCCCC"}]}"#,
        r#"{"text": ""}"#,
    ] {
        log.append(&tree(&format!(r#"{{"type": "npc", "content": {content}}}"#)), at(1)).unwrap();
    }
    log.close().unwrap();
    let entries = entries(&store);
    let told: Vec<String> =
        entries.iter().map(|entry| entry.readable_text().into_owned()).collect();
    assert_eq!(
        told,
        ["[image: A map (map.png)]", "*bows*", "Only here.", "[image: image/png, 9 bytes]", ""]
    );
    let blank: Vec<bool> = entries.iter().map(Entry::is_blank).collect();
    assert_eq!(blank, [false, false, false, false, true]);
    let map = Attachment {
        kind: "image".to_owned(),
        url: "map.png".to_owned(),
        description: "A map".to_owned(),
    };
    assert_eq!(entries[0].extras.attachments, [map]);
    let how = ContextOptions { size: 1000, ..ContextOptions::default() };
    let prompt = reader(&store).context(&how).unwrap().prompt();
    assert!(prompt.contains("[image: A map (map.png)]") && prompt.contains("*bows*"), "{prompt}");
}
