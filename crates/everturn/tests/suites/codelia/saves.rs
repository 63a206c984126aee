//! Saving adds to the log; only a history that was changed is written anew.

use everturn::codelia::{CodeliaError, CodeliaWriter, SessionIndex};
use everturn::tree::JsonTree;

use crate::codelia::support::{at, id, memory, message, put, read, session, texts, user};

const LOG: &str = "sessions/messages/one.jsonl";

#[test]
fn a_history_that_goes_on_is_added_to() {
    let (store, index, home) = memory();
    let mut writer = session(&home, "one", &["a", "b"]);
    let before = read(&store, LOG);
    let history = [user("a"), user("b"), message("assistant", "c"), user("d")];
    let saved = writer.save(&history, at(2)).unwrap();
    assert_eq!((saved.messages, saved.rewritten), (4, false));
    let after = read(&store, LOG);
    assert!(after.starts_with(&before), "what was there stays");
    assert_eq!(after.lines().count(), 4);
    let row = index.row("one").unwrap().unwrap();
    assert_eq!((row.message_count, row.last_user_message.as_deref()), (Some(4), Some("d")));
    assert_eq!(row.updated_at, "2026-01-01T10:00:02.000Z");
    // Nothing new is nothing to write.
    assert!(!writer.save(&history, at(3)).unwrap().rewritten);
    assert_eq!(read(&store, LOG), after);
    assert_eq!(index.row("one").unwrap().unwrap().updated_at, "2026-01-01T10:00:02.000Z");
}

#[test]
fn a_history_that_was_changed_is_written_anew() {
    let (store, index, home) = memory();
    let mut writer = session(&home, "one", &["a", "b", "c"]);
    for history in [
        vec![user("[codelia.compaction.summary]\nall of it")],
        vec![user("a"), user("B")],
        vec![user("x"), user("y"), user("z"), user("more")],
        vec![],
    ] {
        let saved = writer.save(&history, at(4)).unwrap();
        assert!(saved.rewritten, "{history:?}");
        assert_eq!(read(&store, LOG).lines().count(), history.len());
        let row = index.row("one").unwrap().unwrap();
        assert_eq!(row.message_count, Some(i64::try_from(history.len()).unwrap()));
    }
    assert_eq!(index.row("one").unwrap().unwrap().last_user_message, None);
    assert!(writer.append(&[user("on")], at(5)).is_ok());
    assert_eq!(texts(&home, "one"), ["on"]);
}

#[test]
fn two_hundred_saves_of_a_growing_history_cost_what_they_add() {
    let (store, _, home) = memory();
    let mut writer = session(&home, "one", &[]);
    let mut history: Vec<JsonTree> = Vec::new();
    for number in 0..200 {
        history.push(user(&format!("message {number:04}")));
        assert!(!writer.save(&history, at(number)).unwrap().rewritten);
    }
    let each = history[0].to_line().len() + 1;
    assert_eq!(read(&store, LOG).len(), 200 * each);
}

#[test]
fn what_is_no_message_is_refused_and_changes_nothing() {
    let (store, index, home) = memory();
    let mut writer = session(&home, "one", &["a"]);
    let (log, row) = (read(&store, LOG), index.row("one").unwrap());
    for bad in [r#"{"role":"user"}"#, r#"{"content":"x"}"#, "[]", "7"] {
        let bad = JsonTree::parse(bad).unwrap();
        assert!(matches!(
            writer.append(std::slice::from_ref(&bad), at(9)),
            Err(CodeliaError::Input { .. })
        ));
        assert!(writer.append(&[user("b"), bad.clone()], at(9)).is_err());
        assert!(writer.save(&[user("a"), bad], at(9)).is_err());
    }
    assert!(writer.append(&[], at(9)).is_err());
    assert_eq!((read(&store, LOG), index.row("one").unwrap()), (log, row));
}

#[test]
fn a_message_is_stored_on_one_line_with_all_it_has() {
    let (store, _, home) = memory();
    let mut writer = session(&home, "one", &[]);
    let text =
        "{\n \"role\": \"user\",\n \"content\": \"a\\nb\",\n \"n\": 1.50, \"extra\": {\"x\": []}}";
    writer.append(&[JsonTree::parse(text).unwrap()], at(1)).unwrap();
    assert_eq!(
        read(&store, LOG),
        "{\"role\":\"user\",\"content\":\"a\\nb\",\"n\":1.50,\"extra\":{\"x\":[]}}\n"
    );
}

#[test]
fn the_row_is_brought_up_to_date_from_the_log() {
    let (store, index, home) = memory();
    drop(session(&home, "one", &["a", "b"]));
    let good = index.row("one").unwrap().unwrap();
    for damage in [None, Some(7), Some(0)] {
        index
            .change("one", &mut |row| {
                damage.map(|count| {
                    let mut row = row.clone().unwrap();
                    (row.message_count, row.last_user_message) = (Some(count), None);
                    row
                })
            })
            .unwrap();
        drop(CodeliaWriter::open(&home, &id("one")).unwrap());
        let row = index.row("one").unwrap().unwrap();
        assert_eq!(row.message_count, good.message_count, "{damage:?}");
        assert_eq!(row.last_user_message, good.last_user_message, "{damage:?}");
    }
    // A log without a row is a session, too; the program would not see it.
    put(&store, "sessions/messages/orphan.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
    drop(CodeliaWriter::open(&home, &id("orphan")).unwrap());
    assert_eq!(index.row("orphan").unwrap().unwrap().message_count, Some(1));
}

#[test]
fn metadata_of_the_program_stay_as_they_are() {
    let (_, index, home) = memory();
    let meta = JsonTree::parse(r#"{"codelia_workspace_root":" /work ","codelia_todos":[{"a":1}]}"#)
        .unwrap();
    let mut writer = CodeliaWriter::create(&home, &id("one"), Some(&meta), at(0)).unwrap();
    writer.append(&[user("a")], at(1)).unwrap();
    let row = index.row("one").unwrap().unwrap();
    assert_eq!(row.workspace_root.as_deref(), Some("/work"));
    let kept = JsonTree::parse(row.meta_json.unwrap()).unwrap();
    assert_eq!(kept.text_at(&["codelia_todos"]).unwrap(), r#"[{"a":1}]"#);
}
