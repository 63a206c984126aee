//! Exports in difficult conditions: an unwritable session, a damaged session, an interruption.

#![expect(clippy::disallowed_methods, reason = "a test makes the files that the binary meets")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::everturn;

const TALE: &str = include_str!("../../../../docs/pictures/tale.json");

fn root(tale: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("root/chats")).unwrap();
    fs::write(dir.path().join("root/chats/tale.json"), tale).unwrap();
    dir
}

fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = everturn::command(dir);
    command.args(["--root", "root", "export", "tale"]).args(words);
    command
}

fn export(dir: &Path, words: &[&str]) -> Output {
    everturn::run(command(dir, words), "")
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn everturn_in(dir: &Path, words: &[&str]) -> Output {
    let mut command = everturn::command(dir);
    command.args(words);
    everturn::run(command, "")
}

/// All files below a directory, with their bytes.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn an_export_changes_nothing_that_it_reads() {
    let dir = root(TALE);
    let newer = TALE.replace("\"modified\": \"20", "\"modified\": \"21");
    assert_ne!(newer, TALE);
    fs::write(dir.path().join("root/chats/newer.json"), newer).unwrap();
    let before = contents(&dir.path().join("root"));
    let latest =
        |dir: &Path| everturn_in(dir, &["--root", "root", "show", "latest", "--json"]).stdout;
    let shown = latest(dir.path());
    for file in ["tale.txt", "tale.md", "tale.html", "tale.pdf", "copy.json"] {
        let output = export(dir.path(), &["-o", file, "--no-system-fonts"]);
        assert_eq!(output.status.code(), Some(0), "{file}: {output:?}");
    }
    assert_eq!(contents(&dir.path().join("root")), before);
    assert_eq!(latest(dir.path()), shown);
}

#[test]
fn a_file_that_is_exported_by_its_path_stays_as_it_is_and_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("theirs")).unwrap();
    fs::write(dir.path().join("theirs/my.json"), TALE).unwrap();
    let output = everturn_in(dir.path(), &["export", "theirs/my.json", "-o", "my.html"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::read_to_string(dir.path().join("theirs/my.json")).unwrap(), TALE);
    assert_eq!(names(&dir.path().join("theirs")), ["my.json"]);
}

/// A chat log that says how it wants to be exported.
fn with_settings() -> String {
    let member = r#""export": {"formats": ["txt"], "last_exported": "2020-01-01T00:00:00Z", "export_settings":
        {"include_metadata": false, "include_tool_snapshots": false, "include_ooc_messages": true,
         "formatting_style": "minimal"}},"#;
    let tale = TALE.replacen("\"messages\": [", &format!("{member} \"messages\": ["), 1);
    let ooc = r#"{"id":"o","timestamp":"2026-01-01T10:00:00Z","type":"ooc","content":{"text":"Aside."}},"#;
    tale.replacen("\"messages\": [", &format!("\"messages\": [{ooc}"), 1)
}

#[test]
fn the_export_settings_of_a_chat_log_are_the_defaults() {
    let dir = root(&with_settings());
    let text = |words: &[&str]| {
        let output = export(dir.path(), &[&["--format", "txt"], words].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let own = text(&[]);
    assert!(own.contains("Aside.") && !own.contains("Exported"), "{own}");
    assert_eq!(
        own,
        text(&["--style", "minimal", "--with", "ooc", "--without", "metadata,snapshots"])
    );
    let other = text(&["--style", "rich", "--without", "ooc", "--with", "metadata"]);
    assert!(!other.contains("Aside.") && other.contains("Exported"), "{other}");
}

#[test]
fn settings_are_saved_only_when_that_is_asked_for_and_formats_says_what_was_made() {
    let dir = root(&with_settings());
    let modified = |document: &serde_json::Value| document["metadata"]["modified"].clone();
    let document = || -> serde_json::Value {
        let text = fs::read_to_string(dir.path().join("root/chats/tale.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let before = document();
    let words = ["-o", "tale.md", "--style", "rich", "--save-settings", "--json"];
    let mut command = command(dir.path(), &words);
    command.env("EVERTURN_NOW", "2026-03-01T00:00:00Z");
    let output = everturn::run(command, "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"noted\":true"), "{output:?}");
    let after = document();
    assert_eq!(modified(&after), modified(&before));
    assert_eq!(after["session"]["end_time"], before["session"]["end_time"]);
    assert_eq!(after["session"]["duration_seconds"], before["session"]["duration_seconds"]);
    let export = &after["export"];
    assert_eq!(export["formats"], serde_json::json!(["txt", "md"]));
    assert_eq!(export["last_exported"], "2026-03-01T00:00:00Z");
    assert_eq!(export["export_settings"]["formatting_style"], "rich");
    assert_eq!(export["export_settings"]["include_ooc_messages"], true);
}

#[test]
fn a_session_that_cannot_be_written_is_exported_all_the_same() {
    let dir = root(TALE);
    // Something else is in the place of the write-ahead log.
    fs::create_dir(dir.path().join("root/.everturn")).unwrap();
    fs::write(dir.path().join("root/.everturn/wal"), "").unwrap();
    let output = export(dir.path(), &["-o", "tale.txt", "--save-settings", "--json"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("the settings were not saved in the session: "), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"noted\":false"));
    assert_eq!(output.status.code(), Some(1));
    assert!(fs::read_to_string(dir.path().join("tale.txt")).unwrap().contains("Not this ship."));
    assert_eq!(fs::read_to_string(dir.path().join("root/chats/tale.json")).unwrap(), TALE);
}

#[test]
fn a_context_is_in_the_document_when_the_command_ends() {
    let dir = root(TALE);
    let output = everturn_in(dir.path(), &["--root", "root", "context", "tale", "--size", "4096"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!dir.path().join("root/chats/tale.journal.jsonl").exists());
    let text = fs::read_to_string(dir.path().join("root/chats/tale.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["context_window"]["size"], 4096);
    assert_ne!(document["context_window"]["included_messages"], serde_json::json!([]));
}

#[test]
fn a_session_that_cannot_be_read_leaves_no_file() {
    let dir = root(&TALE[..TALE.len() / 2]);
    for file in ["tale.txt", "tale.md", "tale.html", "tale.pdf", "tale.json"] {
        let output = export(dir.path(), &["-o", file]);
        assert_eq!(output.status.code(), Some(4), "{file}");
    }
    assert_eq!(names(dir.path()), ["root"]);
}

#[test]
fn an_export_that_is_interrupted_leaves_no_file() {
    let message = r#"{"id":"m","timestamp":"2026-01-01T10:00:00Z","type":"narrator","content":{"text":"Words. "}},"#;
    let messages = message.repeat(20_000);
    let long = TALE.replacen("\"messages\": [", &format!("\"messages\": [{messages}"), 1);
    let dir = root(&long);
    let child = command(dir.path(), &["-o", "tale.pdf", "--no-system-fonts"]).spawn().unwrap();
    let start = Instant::now();
    while names(dir.path()) == ["root"] && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(names(dir.path()).len(), 2, "it is being written under another name");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "error: stopped; nothing was written\n");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names(dir.path()), ["root"]);
}

/// A chat log with a message that is only an emote, and one that is only a picture.
fn wordless() -> String {
    let messages = r#"{"id":"e1","timestamp":"2026-01-01T10:00:00Z","type":"npc","content":{"text":"",
        "actions":[{"type":"emote","text":"bows deeply"}]}},
        {"id":"e2","timestamp":"2026-01-01T10:00:00Z","type":"npc","sender":{"name":"Ink","avatar":"ink.png"},
        "content":{"text":"","attachments":[{"type":"image","url":"map.png","description":"A chart of reefs"}]}},"#;
    TALE.replacen("\"messages\": [", &format!("\"messages\": [{messages}"), 1)
}

#[test]
fn actions_and_attachments_are_shown_found_and_given_to_templates() {
    let dir = root(&wordless());
    let show = everturn_in(dir.path(), &["--root", "root", "show", "tale", "--turns", "1..2"]);
    let shown = String::from_utf8(show.stdout).unwrap();
    assert!(
        shown.contains("*bows deeply*") && shown.contains("[image: A chart of reefs (map.png)]"),
        "{shown}"
    );
    let show =
        everturn_in(dir.path(), &["--root", "root", "show", "tale", "--turns", "1..2", "--json"]);
    let lines = String::from_utf8(show.stdout).unwrap();
    assert!(lines.contains(r#""actions":[{"type":"emote","text":"bows deeply"}]"#), "{lines}");
    assert!(lines.contains(r#""attachments":[{"type":"image","url":"map.png","description":"A chart of reefs"}],"avatar":"ink.png""#), "{lines}");
    for words in ["reefs", "deeply"] {
        let mut command = everturn::command(dir.path());
        command.env("HOME", dir.path()).args(["--root", "root", "search", words]);
        let found = everturn::run(command, "");
        assert!(String::from_utf8_lossy(&found.stdout).contains(words), "{found:?}");
    }
    let template = "{% macro entry(entry) %}{% for one in entry.actions %}{{ one.text }}{% endfor %}|\
        {% for one in entry.attachments %}{{ one.url }}{% endfor %}|{{ entry.avatar or '' }};{% endmacro %}";
    fs::write(dir.path().join("own.txt"), template).unwrap();
    let output =
        export(dir.path(), &["--format", "txt", "--template", "own.txt", "--turns", "1..2"]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "bows deeply||;|map.png|ink.png;",
        "{output:?}"
    );
}

#[test]
fn tools_and_settings_of_a_chat_log_are_changed_by_commands() {
    let dir = tempfile::tempdir().unwrap();
    let example = include_str!("../../../everturn/tests/suites/chatlog/example.json");
    fs::create_dir_all(dir.path().join("root/chats")).unwrap();
    fs::write(dir.path().join("root/chats/tale.json"), example).unwrap();
    let run = |words: &[&str]| everturn_in(dir.path(), &[&["--root", "root"], words].concat());
    let output =
        run(&["tool", "set", "tale", "death-counter", "2", "--cause", "A miscount", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("\"snapshot\":\"snapshot-0002\""),
        "{output:?}"
    );
    let output = run(&["tool", "add", "tale", "timeline-log", "Timeline 2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(run(&["tool", "set", "tale", "nothing", "2"]).status.code(), Some(1));
    let words = [
        "settings",
        "tale",
        "metadata.title=7",
        "session.settings.temperature=0.9",
        "export.export_settings.include_ooc_messages=true",
    ];
    let output = run(&words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // All or nothing.
    assert_eq!(
        run(&["settings", "tale", "metadata.series=X", "session.settings.temperature=warm"])
            .status
            .code(),
        Some(1)
    );
    assert_eq!(run(&["settings", "tale", "messages.0=7"]).status.code(), Some(1));
    let text = fs::read_to_string(dir.path().join("root/chats/tale.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["metadata"]["title"], "7");
    assert_eq!(document["metadata"]["series"], "Re:Zero");
    assert_eq!(document["session"]["settings"]["temperature"], 0.9);
    assert_eq!(document["export"]["export_settings"]["include_ooc_messages"], true);
    let snapshots = &document["tool_snapshots"];
    assert_eq!(snapshots[1]["changes"][0]["cause"], "A miscount");
    assert_eq!(snapshots[1]["state"]["components"][0]["current_value"], "2");
    assert_eq!(snapshots[2]["message_id"], "msg-003");
    assert_eq!(document["session"]["end_time"], "2023-05-18T14:30:00Z");
}

#[test]
fn a_message_is_appended_with_actions_and_attachments() {
    let dir = root(TALE);
    fs::write(dir.path().join("map.png"), "").unwrap();
    let run = |words: &[&str]| {
        let mut command = everturn::command(dir.path());
        command
            .args(["--root", "root", "append", "tale", "--type", "npc", "--name", "Ink"])
            .args(words);
        everturn::run(command, "")
    };
    let output =
        run(&["--action", "emote:bows", "--action", "thought:Why?", "--attach", "map.png"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(run(&["--attach", "missing.png"]).status.code(), Some(1));
    assert_eq!(run(&["--action", "song:la"]).status.code(), Some(2));
    let text = fs::read_to_string(dir.path().join("root/chats/tale.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let content = document["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(content["text"], "");
    assert_eq!(content["actions"][1], serde_json::json!({"type": "thought", "text": "Why?"}));
    assert_eq!(content["attachments"][0]["type"], "image");
    assert_eq!(content["attachments"][0]["url"], "map.png");
}
