//! Sessions of other programs through the binary: they are found, distinguished, and never changed.

#![expect(clippy::disallowed_methods, reason = "the folders of other programs are made here")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::everturn;

pub(crate) const ID: &str = "3f0c9a52-6b1e-4c58-9d3a-0e7a11223344";

pub(crate) fn put(home: &Path, file: &str, text: &str) {
    let file = home.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

pub(crate) fn claude_line(kind: &str, id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"timestamp":"2026-01-01T10:00:00Z","message":{{"role":"{kind}","content":"{text}"}}}}"#
    )
}

/// Creates a home with a session of each program, most of them slightly damaged.
fn populate(home: &Path) {
    let claude = [
        claude_line("user", "u1", None, "One."),
        claude_line("assistant", "a1", Some("u1"), "First."),
        "noise".to_owned(),
        claude_line("user", "u2", Some("gone"), "Two."),
        r#"{"type":"us"#.to_owned(),
    ];
    put(home, &format!(".claude/projects/-srv-app/{ID}.jsonl"), &claude.join("\n"));
    let codex = r#"{"timestamp":"2026-01-02T10:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/srv/app"}}
{"timestamp":"2026-01-02T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello."}]}}
"#;
    put(home, &format!(".codex/sessions/2026/01/02/rollout-2026-01-02T10-00-00-{ID}.jsonl"), codex);
    put(
        home,
        ".gemini/tmp/h/chats/session-1.jsonl",
        "{\"sessionId\":\"gem\",\"projectHash\":\"h\",\"startTime\":\"2026-01-01T10:00:00Z\"}\n\
         {\"id\":\"m1\",\"type\":\"user\",\"content\":\"Hi\",\"timestamp\":\"2026-01-01T10:00:00Z\"}\n",
    );
    put(
        home,
        "SillyTavern/data/default-user/chats/Mira/first.jsonl",
        r#"{"chat_metadata":{},"user_name":"unused","character_name":"unused"}
{"name":"Ana","is_user":true,"send_date":1685631845000,"mes":"Hello."}"#,
    );
    put(
        home,
        ".pi/agent/sessions/--srv-app--/2026_pi-one.jsonl",
        r#"{"type":"session","version":3,"id":"pi-one","timestamp":"2026-01-01T10:00:00Z","cwd":"/srv/app"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T10:00:00Z","message":{"role":"user","content":"Hi"}}
"#,
    );
    let storage = ".local/share/opencode/storage";
    put(
        home,
        &format!("{storage}/session/p/ses_1.json"),
        r#"{"id":"ses_1","projectID":"p","directory":"/srv/app","title":"T","time":{"created":1767261600000}}"#,
    );
    put(
        home,
        &format!("{storage}/message/ses_1/msg_1.json"),
        r#"{"id":"msg_1","role":"user","sessionID":"ses_1"}"#,
    );
    put(
        home,
        &format!("{storage}/part/msg_1/prt_1.json"),
        r#"{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"Hi"}"#,
    );
    put(
        home,
        ".local/share/goose/sessions/g1.jsonl",
        r#"{"description":"G","working_dir":"/srv/app","message_count":1}
{"role":"user","created":1767261600,"content":[{"type":"text","text":"Hi"}]}
"#,
    );
    put(
        home,
        ".aider.chat.history.md",
        "\n# aider chat started at 2024-05-01 10:20:30\n\n#### hi\n\nHello.\n",
    );
}

/// Returns every file below a directory, with its content and modification time, and every directory.
fn picture(dir: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            if path.is_dir() {
                waiting.push(path.clone());
                found.insert(path, (None, changed));
            } else {
                found.insert(path.clone(), (Some(fs::read(&path).unwrap()), changed));
            }
        }
    }
    found
}

/// Runs the binary with that home; returns stdout, stderr and the exit code.
pub(crate) fn run(home: &Path, words: &[&str], input: &str) -> (String, String, Option<i32>) {
    let mut command = everturn::command(home);
    command.env("HOME", home).env("EVERTURN_CONFIG_PATH", home.join("../own.json"));
    command.env("EVERTURN_NOW", "2026-01-05T10:00:00Z").args(words);
    let output = everturn::run(command, input);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn home() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    populate(&home);
    (dir, home)
}

#[test]
fn sessions_of_every_program_are_listed_and_shown() {
    let (_dir, home) = home();
    let (listed, said, code) = run(&home, &["ls", "--json"], "");
    assert_eq!(code, Some(0), "{said}");
    let mut layouts: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split("\"layout\":\"").nth(1)?.split('"').next())
        .collect();
    layouts.sort_unstable();
    assert_eq!(
        layouts,
        ["aider", "claude-code", "codex", "gemini-cli", "goose", "opencode", "pi", "sillytavern"]
    );
    for id in ["gem", "first", "pi-one", "ses_1", "g1", "aider-2024"] {
        let (shown, said, code) = run(&home, &["show", id], "");
        assert_eq!(code, Some(0), "{id}: {said}");
        assert!(shown.to_lowercase().contains("[1]"), "{id}: {shown}");
    }
    // Damage is reported, and affects the exit code.
    let (shown, said, code) = run(&home, &["show", &format!("claude-code:{ID}")], "");
    assert!(
        shown.contains("One.") && shown.contains("First.") && shown.contains("Two."),
        "{shown}"
    );
    assert!(
        said.contains("bad-line") && said.contains("torn-tail") && said.contains("dangling-parent"),
        "{said}"
    );
    assert_eq!(code, Some(4));
}

#[test]
fn an_id_that_several_programs_have_must_be_said_with_its_layout() {
    let (_dir, home) = home();
    let (_, said, code) = run(&home, &["show", ID], "");
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&format!("name one of claude-code:{ID} (One.), codex:{ID} (Hello.)")),
        "{said}"
    );
    let (shown, said, code) = run(&home, &["show", "codex:3f0c"], "");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert!(shown.contains("Hello."), "{shown}");
    let (shown, _, code) = run(&home, &["show", ID, "--layout", "codex"], "");
    assert_eq!(code, Some(0));
    assert!(shown.contains("Hello."), "{shown}");
}

#[test]
fn nothing_that_belongs_to_others_is_ever_changed() {
    let (_dir, home) = home();
    let before = picture(&home);
    let claude = format!("claude-code:{ID}");
    let file = home.join(".aider.chat.history.md");
    let file = file.to_str().unwrap();
    let commands: &[&[&str]] = &[
        &["ls"],
        &["ls", "--root", ".claude"],
        &["show", &claude],
        &["show", &claude, "--stats"],
        &["show", "latest"],
        &["show", &format!("{file}/aider-20240501-102030")],
        &["branches", &claude],
        &["replay", &claude],
        &["stats"],
        &["stats", &claude],
        &["sources", "list"],
        &["check", ".claude"],
        &["check", ".local"],
        &["import", "--dry-run", file],
        &["append", &claude],
        &["append", "g1"],
        &["edit", &claude, "1", "x"],
        &["fork", &claude],
        &["rewind", &claude, "1"],
        &["undo", &claude],
        &["snapshot", &claude],
        &["mark", "add", &claude, "here"],
        &["pause", &claude],
        &["archive", &claude],
        &["trash", &claude],
        &["repair", &claude],
        &["repair", &claude, "--dry-run"],
        &["state", &claude],
        &["diff", &claude, "0", "1"],
        &["append", "--root", ".codex", "3f0c"],
        &["scan", &claude],
        &["scrub", &claude],
        &["seal", &claude],
        &["pin", &claude],
        &["retention", "apply", "--layout", "codex", "--root", ".codex", "--keep", "0"],
        &["purge", "--layout", "codex", "--root", ".codex", "--all", "--yes"],
        &["export", &claude],
    ];
    for words in commands {
        let (_, said, code) = run(&home, words, r#"{"role":"user","content":"x"}"#);
        assert!(code.is_some_and(|code| code != 70), "{words:?}: {said}");
        assert_eq!(picture(&home), before, "{words:?}");
    }
    let (_, said, code) = run(&home, &["trash", &claude], "");
    assert_eq!(code, Some(1));
    assert!(said.contains("read-only") && said.contains("everturn convert"), "{said}");
}

#[test]
fn no_session_of_any_program_is_written_to_by_its_path_or_its_id() {
    let (_dir, home) = home();
    let talk = r#"{"sessionId":"old","projectHash":"h1","startTime":"2026-01-01T10:00:00Z","messages":
        [{"id":"m1","type":"user","content":"Hi","timestamp":"2026-01-01T10:00:00Z"}]}"#;
    put(&home, ".gemini/tmp/h1/chats/session-2026-legacy.json", talk);
    let prompts = r#"[{"sessionId":"s","messageId":0,"type":"user","message":"Hello"}]"#;
    put(&home, ".gemini/tmp/h1/logs.json", prompts);
    let export = r#"{"info":{"id":"ses_9","projectID":"p","directory":"/srv/app"},"messages":[]}"#;
    put(&home, "export.json", export);
    let storage = ".local/share/opencode/storage";
    put(
        &home,
        &format!("{storage}/message/ses_lost/msg_5.json"),
        r#"{"id":"msg_5","role":"user"}"#,
    );
    let before = picture(&home);
    let claude = format!(".claude/projects/-srv-app/{ID}.jsonl");
    let codex = format!(".codex/sessions/2026/01/02/rollout-2026-01-02T10-00-00-{ID}.jsonl");
    let sessions = [
        ("claude-code", ID, claude.as_str()),
        ("codex", ID, &codex),
        ("gemini-cli", "gem", ".gemini/tmp/h/chats/session-1.jsonl"),
        ("gemini-cli", "old", ".gemini/tmp/h1/chats/session-2026-legacy.json"),
        ("gemini-cli", "logs-h1", ".gemini/tmp/h1/logs.json"),
        ("sillytavern", "first", "SillyTavern/data/default-user/chats/Mira/first.jsonl"),
        ("pi", "pi-one", ".pi/agent/sessions/--srv-app--/2026_pi-one.jsonl"),
        ("opencode", "ses_1", ".local/share/opencode/storage/session/p/ses_1.json"),
        ("opencode", "ses_lost", ".local/share/opencode/storage/message/ses_lost"),
        ("opencode", "", "export.json"),
        ("goose", "g1", ".local/share/goose/sessions/g1.jsonl"),
        ("aider", "aider-20240501-102030", ".aider.chat.history.md"),
    ];
    for (layout, id, file) in sessions {
        let (path, by_id) = (home.join(file), format!("{layout}:{id}"));
        let mut names = vec![path.to_str().unwrap()];
        names.extend(Some(by_id.as_str()).filter(|_| !id.is_empty()));
        for name in names {
            let (shown, said, _) = run(&home, &["show", name, "--stats", "--json"], "");
            assert!(shown.contains(&format!("\"layout\":\"{layout}\"")), "{name}: {shown}{said}");
            let commands: [&[&str]; 6] = [
                &["append", name],
                &["trash", name],
                &["mark", "add", name, "here"],
                &["edit", name, "1"],
                &["fork", name],
                &["rewind", name, "1"],
            ];
            for words in commands {
                let turn = r#"{"type":"narrator","content":"x","speaker":"gm"}"#;
                let (_, said, code) = run(&home, words, turn);
                assert_eq!(code, Some(1), "{words:?}: {said}");
                assert!(said.contains("read-only"), "{words:?}: {said}");
                assert_eq!(picture(&home), before, "{words:?}");
            }
        }
    }
    let (listed, _, _) = run(&home, &["ls", "--json", "--root", ".gemini/tmp/h1"], "");
    assert_eq!((listed.matches("gemini-cli").count(), listed.contains("chatlog")), (2, false));
}

#[test]
fn a_name_with_a_number_sign_is_a_session_before_it_is_a_turn() {
    let (_dir, home) = home();
    let file = "SillyTavern/data/default-user/chats/Mira/Mira - Branch #1.jsonl";
    let said =
        |text: &str| format!(r#"{{"name":"Ana","is_user":true,"send_date":1,"mes":"{text}"}}"#);
    put(&home, file, &[said("One."), said("Two."), said("Three.")].join("\n"));
    let path = home.join(file);
    let path = path.to_str().unwrap();
    for name in [path, "Mira - Branch #1", "Mira - Branch #"] {
        let (shown, said, code) = run(&home, &["show", name], "");
        assert_eq!(code, Some(0), "{name}: {said}");
        assert!(shown.contains("One.") && shown.contains("Three."), "{name}: {shown}");
    }
    for name in
        [format!("{path}#2"), "Mira - Branch #1#2".to_owned(), "sillytavern:first#1".to_owned()]
    {
        let (shown, said, code) = run(&home, &["show", &name], "");
        assert_eq!((code, shown.matches('[').count()), (Some(0), 1), "{name}: {shown}{said}");
    }
}

#[test]
fn a_file_here_is_meant_if_no_session_has_its_name() {
    let (_dir, home) = home();
    put(&home, "oc.json", r#"{"info":{"id":"ses_9","directory":"/srv/app"},"messages":[]}"#);
    let (shown, said, _) = run(&home, &["show", "oc.json", "--stats", "--json"], "");
    assert!(shown.contains("\"id\":\"ses_9\""), "{shown}{said}");
    put(&home, "camp_0005/campaign.json", r#"{"id":"camp_0005","turn":0}"#);
    let (shown, said, _) = run(&home, &["show", "./camp_0005", "--stats", "--json"], "");
    assert!(shown.contains("\"layout\":\"campaign\""), "{shown}{said}");
    let (_, said, code) = run(&home, &["trash", "./camp_0005"], "");
    assert_eq!(code, Some(1), "{said}");
    assert!(home.join("camp_0005/campaign.json").exists());
}

#[test]
fn a_name_that_is_almost_right_is_asked_back() {
    let (_dir, home) = home();
    let (_, said, code) = run(&home, &["show", "pi-oen"], "");
    assert_eq!(code, Some(1));
    assert!(said.contains("did you mean pi-one (Hi)?"), "{said}");
    let (_, said, _) = run(&home, &["show", "zzz"], "");
    assert!(said.contains("known sessions: ") && !said.contains("did you mean"), "{said}");
}

#[test]
fn documents_that_are_lost_show_in_the_status() {
    let (_dir, home) = home();
    put(&home, ".gemini/tmp/h1/chats/session-2.json", r#"{"sessionId":"cut","messages":[{"id""#);
    let (_, said, code) = run(&home, &["show", "cut"], "");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("bad-document"), "{said}");
    put(&home, ".local/share/opencode/storage/message/ses_1/msg_2.json", "");
    let (_, said, code) = run(&home, &["show", "ses_1"], "");
    assert_eq!(code, Some(4), "{said}");
}

#[test]
fn a_source_is_added_once() {
    let (dir, home) = home();
    for path in [".codex", ".codex/sessions", "."] {
        let words = ["sources", "add", path, "--layout", "codex", "--name", "dup"];
        let (_, said, code) = run(&home, &words, "");
        assert_eq!(code, Some(1), "{path}");
        assert!(said.contains("source codex already contains"), "{said}");
    }
    let other = dir.path().join("backup");
    put(&other, "sessions/x.jsonl", "");
    let words = ["sources", "add", other.to_str().unwrap(), "--layout", "codex", "--name", "dup"];
    let (_, said, code) = run(&home, &words, "");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn sessions_are_found_by_their_project() {
    let (_dir, home) = home();
    let (listed, said, _) = run(&home, &["ls", "--json", "--project", "srv"], "");
    let mut layouts: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split("\"layout\":\"").nth(1)?.split('"').next())
        .collect();
    layouts.sort_unstable();
    assert_eq!(layouts, ["claude-code", "codex", "goose", "opencode", "pi"], "{listed}{said}");
}

#[test]
fn files_that_are_neither_lines_nor_documents_are_checked() {
    let (_dir, home) = home();
    let (_, said, code) = run(&home, &["check", ".aider.chat.history.md"], "");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("nothing to check"), "{said}");
}

#[test]
fn a_source_that_cannot_be_read_hides_no_other() {
    let (dir, home) = home();
    let extra = dir.path().join("extra");
    put(&extra, "a/b.jsonl", "{}\n");
    let (_, said, code) =
        run(&home, &["sources", "add", extra.to_str().unwrap(), "--name", "extra"], "");
    assert_eq!(code, Some(0), "{said}");
    fs::remove_dir_all(&extra).unwrap();
    let (listed, said, code) = run(&home, &["ls"], "");
    assert_eq!((listed.lines().count(), code), (8, Some(0)), "{said}");
    assert!(said.contains("source extra"), "{said}");
    let (_, _, code) = run(&home, &["show", "gem"], "");
    assert_eq!(code, Some(0));
}

#[test]
fn a_session_of_ones_own_is_written_beside_those_of_others() {
    let (_dir, home) = home();
    assert_eq!(run(&home, &["new", "game", "--id", "own-one"], "").2, Some(0));
    let turn = r#"{"actor":"gm","narration":"Dawn."}"#;
    assert_eq!(run(&home, &["append", "own-one"], turn).2, Some(0));
    let (shown, said, _) = run(&home, &["show", "latest"], "");
    assert!(shown.contains("Dawn."), "{shown}{said}");
}

#[test]
fn a_directory_that_cannot_be_written_to_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let does = |words: &[&str]| {
        let mut command = everturn::command(dir.path());
        command.args(words);
        everturn::run(command, "")
    };
    assert!(does(&["--root", "root", "new", "chatlog", "--id", "tale"]).status.success());
    put(dir.path(), "full/.everturn", "a file, where a directory should be");
    let refused = does(&["--root", "root", "convert", "tale", "--to", "game", "full"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with("error: full: "), "{said}");
}
