//! Channel values: each stored once, lists by what was added.

use super::{at, checkpoint, create, log, memory, reader, texts};

#[test]
fn a_channel_that_did_not_change_is_stored_once() {
    let store = memory();
    let mut thread = create(&store);
    thread.append(&checkpoint("c1", None, 1), at(1)).unwrap();
    thread.append(&checkpoint("c2", Some("c1"), 2), at(2)).unwrap();
    thread.append(&checkpoint("c3", Some("c2"), 3), at(3)).unwrap();
    thread.release().unwrap();
    assert_eq!(log(&store).matches("doors").count(), 1);
    for n in 1..=3 {
        assert_eq!(log(&store).matches(&format!("message {n}")).count(), 1, "message {n}");
    }
    let state = reader(&store).state(Some(2)).unwrap();
    assert_eq!(state.get("topic").unwrap().to_line(), "\"doors\"");
    let messages = state.get("messages").unwrap().to_line();
    assert_eq!(
        messages,
        r#"[{"role":"user","content":"message 1"},{"role":"user","content":"message 2"}]"#
    );
    assert_eq!(texts(&*reader(&store)), ["message 1", "message 2", "message 3"]);
}

#[test]
fn a_log_grows_with_its_contents_and_not_with_their_square() {
    let size = |turns: usize| {
        let store = memory();
        let mut thread = create(&store);
        let mut parent = None;
        for n in 1..=turns {
            let id = format!("c{n}");
            thread.append(&checkpoint(&id, parent.as_deref(), n), at(1)).unwrap();
            parent = Some(id);
        }
        thread.release().unwrap();
        let state = reader(&store).state(None).unwrap();
        assert_eq!(state.get("messages").unwrap().children().len(), turns);
        log(&store).len()
    };
    let (short, long) = (size(50), size(400));
    assert!(long < short * 12, "{short} bytes for 50 turns, {long} for 400");
}

#[test]
fn a_list_that_was_cut_and_a_value_that_changes_its_type_read_back() {
    let store = memory();
    let mut thread = create(&store);
    let values = ["[1,2,3,4]", "[1,2]", "[1,2,5]", "{\"a\":1.50}", "[]", "[7]", "null"];
    for (n, value) in values.iter().enumerate() {
        let record = format!(
            r#"{{"type":"checkpoint","id":"c{n}","versions":{{"x":{n}}},"values":{{"x":{value}}}}}"#
        );
        thread.append(&record, at(1)).unwrap();
    }
    for (n, value) in values.iter().enumerate() {
        let position = thread.thread().checkpoint("", &format!("c{n}")).unwrap();
        assert_eq!(thread.thread().channels(position).unwrap()[0].1.to_line(), *value);
    }
}

#[test]
fn one_version_with_two_values_on_two_branches_keeps_both() {
    let store = memory();
    let mut thread = create(&store);
    let put = |id: &str, value: &str| {
        format!(
            r#"{{"type":"checkpoint","id":"{id}","versions":{{"x":1}},"values":{{"x":{value}}}}}"#
        )
    };
    for (id, value) in [("a", "1"), ("b", "2"), ("c", "1")] {
        thread.append(&put(id, value), at(1)).unwrap();
    }
    for (id, value) in [("a", "1"), ("b", "2"), ("c", "1")] {
        let position = thread.thread().checkpoint("", id).unwrap();
        assert_eq!(thread.thread().channels(position).unwrap()[0].1.to_line(), value, "{id}");
    }
}

#[test]
fn a_value_without_a_version_and_a_second_header_are_refused() {
    let store = memory();
    let mut thread = create(&store);
    for bad in [
        r#"{"type":"checkpoint","id":"c","values":{"x":1}}"#,
        r#"{"type":"checkpoint"}"#,
        r#"{"type":"thread","id":"t1"}"#,
        r#"{"type":"writes","checkpoint":"c"}"#,
        r#"{"key":"","content":"x"}"#,
        "[]",
    ] {
        assert!(thread.append(bad, at(1)).is_err(), "{bad}");
    }
    thread.release().unwrap();
    assert_eq!(log(&store).lines().count(), 1);
}
