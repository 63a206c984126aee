//! What each format offers through the same requests.

use serde_json::{Value, json};

use crate::conversation::{Conversation, KINDS, Kind, open_root};

/// Sends a request that this format may lack; returns the code of the error, or `ok`.
fn outcome(conversation: &mut Conversation, line: &str) -> String {
    let answer = conversation.send(line.as_bytes());
    match answer["error"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None => "ok".to_owned(),
    }
}

#[test]
fn what_a_format_lacks_is_said_and_changes_nothing() {
    // The requests: undo, scene_start, snapshot, mark_add, state in the past, pause, then resume.
    let expected = [
        (Kind::Game, ["ok", "ok", "ok", "ok", "ok", "ok", "ok"]),
        (Kind::Campaign, ["ok", "unsupported", "unsupported", "ok", "ok", "ok", "ok"]),
        (
            Kind::Chat,
            ["unsupported", "unsupported", "unsupported", "ok", "ok", "unsupported", "unsupported"],
        ),
        (
            Kind::Codelia,
            [
                "unsupported",
                "unsupported",
                "unsupported",
                "unsupported",
                "unsupported",
                "unsupported",
                "unsupported",
            ],
        ),
        (
            Kind::Linggen,
            [
                "unsupported",
                "unsupported",
                "unsupported",
                "ok",
                "unsupported",
                "unsupported",
                "unsupported",
            ],
        ),
    ];
    for (kind, expect) in expected {
        let dir = tempfile::tempdir().unwrap();
        let root = open_root(dir.path());
        let id = kind.create(&root);
        let mut conversation = Conversation::open(&root, &id);
        for turn in 1..=2 {
            conversation.append(&kind.turn(turn), &format!("k{turn}"));
        }
        let lines = [
            r#"{"request":"undo"}"#,
            r#"{"request":"scene_start"}"#,
            r#"{"request":"snapshot"}"#,
            r#"{"request":"mark_add","name":"here"}"#,
            r#"{"request":"state","turn":1}"#,
            r#"{"request":"pause"}"#,
            r#"{"request":"resume"}"#,
        ];
        let found = lines.map(|line| outcome(&mut conversation, line));
        assert_eq!(found, expect, "{kind:?}");
        let next = conversation.append(&kind.turn(3), "k3");
        assert_eq!(next["stored"], "now", "{kind:?}");
    }
}

#[test]
fn every_format_is_read_rewound_and_forked() {
    for kind in KINDS {
        let dir = tempfile::tempdir().unwrap();
        let root = open_root(dir.path());
        let id = kind.create(&root);
        let mut conversation = Conversation::open(&root, &id);
        for turn in 1..=5 {
            conversation.append(&kind.turn(turn), &format!("k{turn}"));
        }
        let all = conversation.ok(r#"{"request":"entries","limit":1000,"raw":true}"#);
        assert_eq!(all["next"], Value::Null);
        let mut paged = Vec::new();
        let mut cursor = String::new();
        loop {
            let line = format!(r#"{{"request":"entries","limit":1,"raw":true{cursor}}}"#);
            let page = conversation.ok(&line);
            paged.extend(page["entries"].as_array().unwrap().iter().cloned());
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!(r#","cursor":"{next}""#);
        }
        assert_eq!(json!(paged), all["entries"], "{kind:?}");
        assert_eq!(conversation.ok(r#"{"request":"state"}"#)["turn"], 5, "{kind:?}");
        assert_eq!(conversation.ok(r#"{"request":"diff","from":5,"to":5}"#)["changes"], json!([]));
        let info = conversation.ok(r#"{"request":"info"}"#);
        assert_eq!((&info["turns"], &info["writable"]), (&json!(5), &json!(true)), "{kind:?}");
        let fork = conversation.ok(r#"{"request":"fork","turn":3}"#);
        assert_eq!(fork["turn"], 3, "{kind:?}");
        let rewound = conversation.ok(r#"{"request":"rewind","turn":4,"after":5}"#);
        assert_eq!(rewound["turn"], 4, "{kind:?}");
        let forks = conversation.ok(r#"{"request":"branches"}"#)["forks"].clone();
        let mut expect = vec![fork["session"].clone(), rewound["branch"].clone()];
        expect.sort_by_key(ToString::to_string);
        assert_eq!(forks, json!(expect), "{kind:?}");
        assert_eq!(conversation.append(&kind.turn(6), "k6")["turn"], 5, "{kind:?}");
        assert_eq!(conversation.ok(r#"{"request":"close"}"#)["turn"], 5, "{kind:?}");
    }
}

#[test]
fn several_sessions_of_one_root_are_served_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let root = open_root(dir.path());
    let ids = KINDS.map(|kind| (kind, kind.create(&root)));
    let paths: Vec<(Kind, String)> = ids
        .into_iter()
        .map(|(kind, id)| {
            let sessions = root.sessions().unwrap().into_iter();
            let mut own = sessions.filter(|found| {
                let name = format!("{kind:?}").to_lowercase();
                found.session.id == id && found.layout.starts_with(&name)
            });
            (kind, own.next().unwrap().session.path.to_string())
        })
        .collect();
    let mut all: Vec<(Kind, Conversation)> =
        paths.iter().map(|(kind, path)| (*kind, Conversation::open(&root, path))).collect();
    for turn in 1..=3 {
        for (kind, conversation) in &mut all {
            assert_eq!(conversation.append(&kind.turn(turn), &format!("k{turn}"))["turn"], turn);
        }
    }
    for (_, conversation) in &mut all {
        assert_eq!(conversation.ok(r#"{"request":"close"}"#)["turn"], 3);
    }
}
