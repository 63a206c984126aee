//! T4: parents that are not there, several beginnings, and forks that nobody made.

use serde_json::{Value, json};

use crate::failures::foreign::{
    branch_lines, codes, counts, lines, open, reached, sorted, told, told_along,
};
use crate::failures::records::{answers, calls, file, progress, says, user};

/// Reads a session of Claude Code, of which every record must be reached.
fn read(records: &[Value]) -> Box<dyn everturn::format::SessionReader> {
    let reader = open("claude-code", &file(), &lines(records));
    assert_eq!(reached(&*reader), sorted(records), "every record is reached once");
    reader
}

#[test]
fn t04_dangling_parents_drop_nothing() {
    // Nine of ten parents are gone: the whole talk is there all the same, as one line.
    let mut records = Vec::new();
    for turn in 0..50 {
        let parent = if turn % 10 == 0 { format!("a{}", turn - 1) } else { format!("lost{turn}") };
        let parent = if turn == 0 { String::new() } else { parent };
        records.push(user(&format!("u{turn}"), &parent, &format!("Question {turn}.")));
        records.push(says(&format!("a{turn}"), &format!("u{turn}"), &format!("Answer {turn}.")));
    }
    let reader = read(&records);
    assert_eq!(told(&*reader).len(), 100);
    assert_eq!(branch_lines(&*reader), [""; 0]);
    let found = codes(&reader.findings());
    assert_eq!(found.len(), 45);
    assert!(found.iter().all(|code| code.ends_with("dangling-parent")), "{found:?}");
    // What is reached is counted.
    assert_eq!(counts(&*reader), [100, 55, 45, 0, 0]);
}

#[test]
fn t04_several_beginnings_are_all_shown() {
    let reader = read(&[
        user("u1", "", "One."),
        says("a1", "u1", "First."),
        user("u2", "", "Two."),
        says("a2", "u2", "Second."),
        user("u3", "", "Three."),
        says("a3", "u3", "Third."),
    ]);
    assert_eq!(told(&*reader), ["1 user: Three.", "1 assistant: Third."]);
    let others = branch_lines(&*reader);
    assert_eq!(others.len(), 2, "{others:?}");
    let along: Vec<Vec<String>> = others
        .iter()
        .map(|branch| told_along(&*reader, branch.split(' ').next().unwrap()))
        .collect();
    assert!(along.contains(&vec!["1 user: One.".to_owned(), "1 assistant: First.".to_owned()]));
    assert!(along.contains(&vec!["1 user: Two.".to_owned(), "1 assistant: Second.".to_owned()]));
}

#[test]
fn t04_a_hook_beside_a_reply_takes_nothing_out_of_the_main_line() {
    // A progress record is written as a sibling of the reply, and the talk goes on from either of them.
    for goes_on in ["p1", "a1"] {
        let reader = read(&[
            user("u1", "", "One."),
            calls("c1", "u1", "t1"),
            answers("r1", "c1", "t1"),
            says("a1", "r1", "First."),
            progress("p1", "r1"),
            user("u2", goes_on, "Two."),
            says("a2", "u2", "Second."),
        ]);
        let told = told(&*reader);
        assert_eq!(told.len(), 6, "{told:?}");
        assert_eq!(told[3], "1 assistant: First.");
        assert_eq!(branch_lines(&*reader), [""; 0]);
    }
}

#[test]
fn t04_a_tree_of_another_program_loses_nothing_either() {
    let entry = |id: &str, parent: Value, text: &str| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": text}});
    let records = [
        json!({"type": "session", "version": 3, "id": "x", "cwd": "/srv/app"}),
        entry("a1", Value::Null, "One."),
        entry("a2", json!("gone"), "Two."),
        entry("a3", Value::Null, "Three."),
        entry("a4", json!("a2"), "Four."),
    ];
    let reader = open("pi", "2026_x.jsonl", &lines(&records));
    assert_eq!(reached(&*reader), sorted(&records));
    assert_eq!(told(&*reader), ["1 user: One.", "2 user: Two.", "3 user: Four."]);
    assert_eq!(branch_lines(&*reader).len(), 1);
    assert_eq!(codes(&reader.findings()), ["3 dangling-parent"]);
}
