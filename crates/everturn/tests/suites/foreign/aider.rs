//! aider.

use std::fmt::Write;

use crate::foreign::support::{codes, converts, counts, layout, store, told};

const FILE: &str = ".aider.chat.history.md";

const TALK: &str = "
# aider chat started at 2024-05-01 10:20:30

> Aider v0.35.0
> Main model: gpt-4o with diff edit format

#### add a test
#### for zero

Here is the test.

```
> not a quote of the program, but aider reads it so
```

Done.

> Tokens: 2.1k sent, 134 received. Cost: $0.01 message, $0.05 session.

#### thanks
";

fn read(text: &[u8], session: usize) -> Box<dyn everturn::format::SessionReader> {
    let store = store(&[(FILE, text)]);
    let places = layout("aider").locate(&store).unwrap();
    converts(layout("aider"), &store, &places.sessions[session]);
    layout("aider").open(&store, &places.sessions[session]).unwrap()
}

#[test]
fn lines_tell_by_their_beginnings_who_speaks() {
    let reader = read(TALK.as_bytes(), 0);
    assert_eq!(
        told(&*reader),
        [
            "1 event: Aider v0.35.0\nMain model: gpt-4o with diff edit format",
            "1 user: add a test\nfor zero",
            "1 assistant: Here is the test.\n\n```",
            "1 event: not a quote of the program, but aider reads it so",
            "1 assistant: ```\n\nDone.",
            "1 event: Tokens: 2.1k sent, 134 received. Cost: $0.01 message, $0.05 session.",
            "2 user: thanks",
        ]
    );
    assert_eq!(counts(&*reader), [8, 8, 0, 0, 0]);
    let (model, spent) = &reader.usage().unwrap().models[0];
    assert_eq!(
        (model.as_str(), spent.input, spent.output, spent.cost),
        ("gpt-4o", 2100, 134, Some(0.01))
    );
}

#[test]
fn a_file_has_many_sessions_and_some_begin_at_the_same_moment() {
    let text = format!("some notes\n{TALK}{TALK}# aider chat started at 2024-06-01 00:00:00\n");
    let store = store(&[(FILE, text.as_bytes())]);
    let (summaries, _) = layout("aider").list(&store).unwrap();
    let ids: Vec<&str> = summaries.iter().map(|summary| summary.session.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "aider-before",
            "aider-20240501-102030",
            "aider-20240501-102030-2",
            "aider-20240601-000000"
        ]
    );
    assert_eq!(summaries[1].title, "add a test for zero");
    assert_eq!(summaries[1].created.unwrap().to_string(), "2024-05-01T10:20:30Z");
    assert_eq!(summaries[1].turns, Some(2));
    assert_eq!(told(&*read(text.as_bytes(), 0)), ["1 assistant: some notes"]);
    assert_eq!(told(&*read(text.as_bytes(), 2)).len(), 7);
}

#[test]
fn more_than_a_thousand_sessions_in_one_file_are_told_apart() {
    let mut text = String::new();
    for number in 0..1133 {
        let (minute, second) = (number / 60, number % 60);
        write!(text, "\n# aider chat started at 2024-05-01 10:{minute:02}:{second:02}\n\n#### ask {number}\n\nsay {number}\n").unwrap();
    }
    let store = store(&[(FILE, text.as_bytes())]);
    let places = layout("aider").locate(&store).unwrap().sessions;
    assert_eq!(places.len(), 1133);
    let reader = layout("aider").open(&store, &places[1000]).unwrap();
    assert_eq!(told(&*reader), ["1 user: ask 1000", "1 assistant: say 1000"]);
}

#[test]
fn carriage_returns_and_odd_bytes_are_read() {
    let reader = read(TALK.replace('\n', "\r\n").as_bytes(), 0);
    assert_eq!(told(&*reader).len(), 7);
    assert_eq!(told(&*reader)[1], "1 user: add a test\nfor zero");
    let mut bytes = TALK.as_bytes().to_vec();
    bytes.extend_from_slice(b"\nh\xff!\n");
    let reader = read(&bytes, 0);
    assert_eq!(told(&*reader).last().unwrap(), "2 assistant: h\u{fffd}!");
    assert_eq!(codes(&reader.findings()), ["not-utf8"]);
    assert_eq!(counts(&*reader), [9, 8, 1, 0, 0]);
}

#[test]
fn what_was_cached_was_sent_and_counts_once() {
    let text =
        format!("{TALK}\n> Tokens: 5k sent, 3k cache write, 1.5k cache hit, 150 received.\n");
    let spent = read(text.as_bytes(), 0).usage().unwrap().total();
    assert_eq!((spent.input, spent.cache_write, spent.cache_read), (2100 + 500, 3000, 1500));
}

#[test]
fn a_file_right_in_the_root_may_have_any_name() {
    let text = TALK.as_bytes();
    let store = store(&[("talk.log", text), ("deep/talk.log", text), ("notes", b"Nothing.")]);
    let places = layout("aider").locate(&store).unwrap().sessions;
    let paths: Vec<&str> = places.iter().map(|place| place.path.as_str()).collect();
    assert_eq!(paths, ["talk.log/aider-20240501-102030"]);
}
