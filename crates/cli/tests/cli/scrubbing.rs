//! `scrub` and `scan`: everything below a root is covered, what is left is named, and nothing stops the rest.
#![expect(clippy::disallowed_methods, reason = "the tests look at the files as anybody would")]

use std::fs;
use std::path::Path;

use crate::everturn::{command, run};

/// A token that is assembled here, so that it is in no source file.
fn token() -> String {
    format!("gsk_{}", "aB3dE5gH7jK9mN1p".repeat(4).get(..52).unwrap())
}

/// Runs a command in a root; returns its exit code, stdout and stderr.
fn everturn(root: &Path, words: &[&str], input: &str) -> (i32, String, String) {
    let mut command = command(root);
    command.env("EVERTURN_ROOT", root).env("HOME", root.join("no-home")).args(words);
    let done = run(command, input);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

#[track_caller]
fn fine(root: &Path, words: &[&str], input: &str) {
    let (code, out, err) = everturn(root, words, input);
    assert_eq!(code, 0, "{words:?}: {out}{err}");
}

/// The files below a directory that hold the token.
fn holding(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            let token = token();
            if bytes.windows(token.len()).any(|window| window == token.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

fn put(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A game with a turn that holds the token.
fn game(root: &Path, id: &str) {
    fine(root, &["new", "game", "--id", id], "");
    let turn = format!(r#"{{"actor":"gm","narration":"The key is {}."}}"#, token());
    fine(root, &["append", id], &turn);
}

#[test]
fn archived_and_trashed_sessions_are_scrubbed_with_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    for id in ["live", "packed", "gone"] {
        game(root, id);
    }
    fine(root, &["complete", "packed"], "");
    fine(root, &["archive", "packed"], "");
    fine(root, &["trash", "gone"], "");
    put(root, "tools.json", &format!(r#"{{"note":"{}"}}"#, token()));
    let (code, _, err) = everturn(root, &["scrub", "packed", "--dry-run"], "");
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = everturn(root, &["scrub", "--all", "--purge", "--yes"], "");
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("no secrets left"), "{err}");
    assert_eq!(holding(root), Vec::<String>::new());
    // All of them are whole sessions.
    fine(root, &["unarchive", "packed"], "");
    let (_, list, _) = everturn(root, &["trash", "--list"], "");
    let name = list.split_whitespace().find(|word| word.ends_with("-gone"));
    if let Some(name) = name {
        fine(root, &["restore", name], "");
    }
    fine(root, &["check"], "");
    let (_, shown, _) = everturn(root, &["show", "packed"], "");
    assert!(shown.contains("[secret:groq-key:"), "{shown}");
}

#[test]
fn everything_else_in_a_home_is_scrubbed_and_can_be_undone() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let session = "sessions/sess-1700000000-abc12345";
    put(root, &format!("{session}/session.yaml"), "id: sess-1700000000-abc12345\ntitle: x\n");
    let message = format!(r#"{{"from":"user","content":"{}","timestamp":1}}"#, token());
    put(root, &format!("{session}/messages.jsonl"), &format!("{message}\n"));
    let files = [
        "projects/p/runs/run-ling-1700000000-1.json",
        "projects/p/missions/1700000000.json",
        "projects/p/memory/notes.md",
        "plans/plan.md",
        "logs/linggen-agent.2026-01-31",
    ];
    for file in files {
        put(root, file, &format!("{{\"text\":\"{}\"}}\n", token()));
    }
    let words = ["--layout", "linggen", "scrub", "--all", "--yes"];
    let (code, out, err) = everturn(root, &words, "");
    assert_eq!(code, 0, "{out}{err}");
    let kept = holding(root);
    assert!(kept.iter().all(|file| file.contains("/.everturn/")), "{kept:?}");
    fine(root, &["--layout", "linggen", "scrub", "--all", "--undo"], "");
    for file in files {
        let text = fs::read_to_string(root.join(file)).unwrap();
        assert_eq!(text, format!("{{\"text\":\"{}\"}}\n", token()), "{file}");
    }
    let (code, out, err) = everturn(root, &[&words[..], &["--purge"]].concat(), "");
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(holding(root), Vec::<String>::new());
}

#[test]
fn what_cannot_be_scrubbed_is_named_and_does_not_stop_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    game(root, "live");
    put(root, "sessions/archives/broken.tar.gz", "not an archive");
    put(root, &format!("notes/{}.txt", token()), "the name is the secret");
    put(root, "settings.json", &format!(r#"{{"k":"{}"}}"#, token()));
    let (code, out, err) = everturn(root, &["scrub", "--all", "--purge", "--yes"], "");
    assert_eq!(code, 3, "{out}{err}");
    for part in
        ["broken.tar.gz", "left, in the name: 1 groq-key", "settings.json: left: 1 groq-key"]
    {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert!(!err.contains(&token()) && !out.contains(&token()), "a secret was printed: {err}");
    let left = holding(root);
    assert_eq!(left.len(), 1, "{left:?}");
    let (code, out, _) = everturn(root, &["--json", "scrub", "--all", "--purge", "--yes"], "");
    assert_eq!(code, 3);
    let last = out.lines().last().unwrap();
    assert!(last.contains("\"in_name\":true") && last.contains("\"not_scanned\":[{"), "{last}");
}

#[cfg(unix)]
#[test]
fn a_scan_names_every_file_that_it_did_not_read() {
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fine(root, &["new", "game", "--id", "one"], "");
    for name in ["CON.jsonl", "back\\slash.jsonl", "a\nb.jsonl"] {
        put(root, &format!("sessions/active/{name}"), &token());
    }
    fs::write(root.join(std::ffi::OsStr::from_bytes(b"bad\xff.txt")), token()).unwrap();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    let (code, out, err) = everturn(root, &["scan"], "");
    assert_eq!(code, 4, "{out}{err}");
    for part in ["CON.jsonl", "back\\slash.jsonl", "a\\nb.jsonl", "bad\u{fffd}.txt", "loop"] {
        let is_named = |line: &str| line.contains(part) && line.contains("not scanned");
        let joined = err.replace("a\nb", "a\\nb");
        assert!(joined.lines().any(is_named), "{part}: {err}");
    }
    assert!(err.contains("5 not scanned"), "{err}");
    // The session beside the odd names is still there.
    let (code, list, err) = everturn(root, &["ls"], "");
    assert!(list.contains("one"), "{code}: {list}{err}");
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_hides_no_session() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fine(root, &["new", "game", "--id", "one"], "");
    std::os::unix::fs::symlink("loop", root.join("sessions/active/loop")).unwrap();
    let (_, list, err) = everturn(root, &["ls"], "");
    assert!(list.contains("one"), "{list}{err}");
    fine(root, &["append", "one"], r#"{"actor":"gm","narration":"It works."}"#);
    let home = root.join("h");
    let claude = home.join(".claude/projects/-w");
    fs::create_dir_all(&claude).unwrap();
    let id = "1af7fc5e-0000-4000-8000-000000000001";
    let line = format!(
        r#"{{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"{id}","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"{}"}}}}"#,
        token()
    );
    fs::write(claude.join(format!("{id}.jsonl")), format!("{line}\n")).unwrap();
    std::os::unix::fs::symlink("loop.jsonl", claude.join("loop.jsonl")).unwrap();
    let mut ls = command(root);
    ls.env("HOME", &home).env_remove("EVERTURN_ROOT").arg("ls");
    let done = run(ls, "");
    let list = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(list.contains("1af7fc5e"), "{list}{}", String::from_utf8_lossy(&done.stderr));
    // A scan without a session looks there, too.
    let mut scan = command(root);
    scan.env("HOME", &home).env_remove("EVERTURN_ROOT").arg("scan");
    let done = run(scan, "");
    assert_eq!(done.status.code(), Some(3), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Text of others that would drive a terminal.
const HOSTILE: &str = "\\u001b]0;pwned\\u0007\\u009b2J\\u202enimda\\u2028\\u007f";

#[track_caller]
fn is_harmless(words: &[&str], bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let bad = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    assert!(!text.contains(bad), "{words:?}: {text:?}");
}

#[test]
fn no_field_of_a_document_reaches_the_screen_unescaped() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    fine(root, &["new", "game", "--id", "one", "--name", "A tale"], "");
    fine(root, &["append", "one"], r#"{"actor":"gm","narration":"A door."}"#);
    fine(root, &["mark", "one", "--name", "here"], "");
    put(
        root,
        ".everturn/config.json",
        &format!(r#"{{"version":1,"narrator":{{"model":"{HOSTILE}"}}}}"#),
    );
    let dir = root.join("sessions/active/one");
    let mut documents: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    documents
        .extend([dir.join("turns/turns-0001-0100.jsonl")].into_iter().filter(|it| it.exists()));
    let commands: &[&[&str]] = &[
        &["check"],
        &["ls"],
        &["show", "one"],
        &["show", "one", "--toc"],
        &["mark", "one", "list"],
        &["branches", "one"],
        &["state", "one"],
        &["stats"],
        &["config", "get", "narrator.model"],
        &["config", "explain"],
        &["export", "one", "--format", "txt"],
        &["export", "one", "--format", "md"],
        &["--json", "show", "one"],
        &["--json", "ls"],
        &["--json", "check"],
        &["export", "one", "--format", "json"],
    ];
    for document in documents {
        let original = fs::read_to_string(&document).unwrap();
        let mut fields = Vec::new();
        let mut from = 0;
        // Every string value, one at a time.
        while let Some(at) = original[from..].find(": \"").or_else(|| original[from..].find(":\""))
        {
            let start = from + at + original[from + at..].find('"').unwrap() + 1;
            let end = start + original[start..].find('"').unwrap();
            fields.push(start..end);
            from = end + 1;
        }
        for field in fields.into_iter().take(12) {
            let mut changed = original.clone();
            changed.replace_range(field, HOSTILE);
            fs::write(&document, changed).unwrap();
            for words in commands {
                let mut words: Vec<&str> = words.to_vec();
                if !words.contains(&"--json") {
                    words.extend(["--color", "always"]);
                }
                let mut command = command(root);
                command.env("EVERTURN_ROOT", root).env("HOME", root.join("no-home")).args(&words);
                let done = run(command, "");
                is_harmless(&words, &done.stdout);
                let own = ["\u{1b}[1m", "\u{1b}[0m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"];
                let mut err = String::from_utf8_lossy(&done.stderr).into_owned();
                own.iter().for_each(|style| err = err.replace(style, ""));
                is_harmless(&words, err.as_bytes());
            }
        }
        fs::write(&document, original).unwrap();
    }
}

#[test]
fn a_wrong_name_of_a_state_file_is_found_and_repaired() {
    for wrong in ["WORLD.STATE.JSON", "turns"] {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        fine(root, &["new", "game", "--id", "one"], "");
        let turn = r#"{"actor":"gm","narration":"A door."}"#;
        fine(root, &["append", "one"], turn);
        let meta = root.join("sessions/active/one/session.meta.json");
        let text = fs::read_to_string(&meta).unwrap();
        fs::write(&meta, text.replace("\"world.state.json\"", &format!("\"{wrong}\""))).unwrap();
        assert_ne!(everturn(root, &["append", "one"], turn).0, 0, "{wrong}");
        let (code, out, err) = everturn(root, &["check"], "");
        assert_eq!(code, 3, "{wrong}: {out}{err}");
        assert!(out.contains("files.worldState"), "{wrong}: {out}");
        fine(root, &["repair", "one", "--yes"], "");
        fine(root, &["append", "one"], turn);
        fine(root, &["check"], "");
    }
}

#[test]
fn new_ids_that_mislead_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    for id in ["-x", "a\u{202e}b", "a\u{200b}b"] {
        let given = format!("--id={id}");
        let (code, out, err) = everturn(root, &["new", "game", &given], "");
        assert_ne!(code, 0, "{id:?}: {out}{err}");
    }
    fine(root, &["new", "game", "--id", "one"], "");
    let (code, _, err) = everturn(root, &["fork", "one", "--id=--help"], "");
    assert_ne!(code, 0, "{err}");
}
