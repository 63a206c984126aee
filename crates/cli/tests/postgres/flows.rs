//! The same commands on a directory and on a server, with the same output.

use std::path::Path;

use everturn_samples::sample;

use crate::{everturn, new_address, run, succeed};

/// A command and its input. `[S]` stands for the session, `[F]` for its format.
const FLOW: &[(&str, &str)] = &[
    ("new [F] --id [S]", ""),
    ("new [F] --id [S]", ""),
    ("append [S] --json", "[TURN]"),
    ("append [S] --json", "[TURN]"),
    ("append [S] --json", "[TURN]"),
    ("append [S]", "{\"broken\""),
    ("ls", ""),
    ("ls --json", ""),
    ("show [S]", ""),
    ("show [S] --json", ""),
    ("show latest --json", ""),
    ("state [S]", ""),
    ("state [S] --turn 1", ""),
    ("diff [S] 1 2", ""),
    ("replay [S] --json", ""),
    ("search gate", ""),
    ("search gate --json", ""),
    ("stats [S]", ""),
    ("context [S]", ""),
    ("mark add [S] here --turn 2", ""),
    ("mark list [S]", ""),
    ("snapshot [S]", ""),
    ("branches [S]", ""),
    ("fork [S] --turn 2 --id [S]-two", ""),
    ("append [S]-two --json", "[TURN]"),
    ("show [S]-two --json", ""),
    ("undo [S]-two", ""),
    ("rewind [S]-two 1", ""),
    ("ls --json", ""),
    ("seal [S]", ""),
    ("verify [S]", ""),
    ("scan [S]", ""),
    ("scrub [S] --dry-run", ""),
    ("export [S] --format md", ""),
    ("export [S] --format txt", ""),
    ("export [S] --format json", ""),
    ("check", ""),
    ("check [S] --json", ""),
    ("repair [S] --dry-run", ""),
    ("repair [S]", ""),
    ("pin [S]", ""),
    ("pin", ""),
    ("retention plan --days 1", ""),
    ("unpin [S]", ""),
    ("session [S]", "{\"id\":1,\"op\":\"describe\"}\n"),
    ("pause [S]", ""),
    ("resume [S]", ""),
    ("convert [S] --to chatlog --id [S]-copy", ""),
    ("show [S]-copy --json", ""),
    ("complete [S]-two", ""),
    ("trash [S]-two", ""),
    ("trash", ""),
    ("restore [S]-two", ""),
    ("trash [S]-two", ""),
    ("purge [S]-two --yes", ""),
    ("ls --json", ""),
    ("check", ""),
    ("show nobody", ""),
];

/// Runs the flow of a format on a root; returns what each command printed, and how many succeeded.
fn transcript(dir: &Path, format: &str, turn: &str, root: &str) -> (Vec<String>, usize) {
    let mut lines = Vec::new();
    let mut succeeded = 0;
    for (number, (words, input)) in FLOW.iter().enumerate() {
        let words = words.replace("[S]", "tale").replace("[F]", format);
        let mut all: Vec<&str> = words.split(' ').collect();
        all.extend(["--root", root]);
        let mut command = everturn(dir, &all);
        // Each root has an index of its own.
        let home = dir.join(if root.contains(':') { "home-one" } else { "home-two" });
        command.env("HOME", home);
        command.env("EVERTURN_NOW", format!("2026-01-01T10:{number:02}:00Z"));
        let output = run(command, &input.replace("[TURN]", turn));
        let quoted = format!("'{root}'");
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&quoted, "[ROOT]").replace(root, "[ROOT]")
        };
        succeeded += usize::from(output.status.success());
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        lines.push(format!("$ {words}\n{out}{err}{}", output.status));
    }
    (lines, succeeded)
}

/// What Codelia's index knows besides the logs: times, the directory of the project; and what
/// a check says of the index itself.
const INDEXED: [&str; 6] =
    ["$ ls --json", "$ state", "$ export", "$ check", "$ repair", "$ convert"];

/// Replaces times; a time that is unknown counts as one.
fn without_times(text: &str) -> String {
    let is_time = |word: &&str| word.starts_with("2026-") && word.ends_with('Z');
    let mut words: Vec<&str> = text.split([' ', '"', '\n']).filter(is_time).collect();
    words.sort_unstable();
    words.dedup();
    let text = words.iter().rev().fold(text.to_owned(), |text, time| text.replace(time, "[TIME]"));
    text.replace("\"[TIME]\"", "[TIME]").replace("\"created\":null", "\"created\":[TIME]")
}

#[track_caller]
fn check_format(format: &str) {
    let turn = &sample(format).turn("The gate opens.");
    let dir = tempfile::tempdir().unwrap();
    let (plain, succeeded) = transcript(dir.path(), format, turn, "a-directory");
    let (served, _) = transcript(dir.path(), format, turn, &new_address());
    let mut differing = Vec::new();
    for (one, two) in plain.iter().zip(&served) {
        if format != "codelia" {
            assert_eq!(one, two);
            continue;
        }
        if without_times(one) != without_times(two) {
            differing.push(one.lines().next().unwrap_or_default().to_owned());
        }
    }
    let is_indexed = |line: &String| INDEXED.iter().any(|words| line.starts_with(words));
    assert!(differing.iter().all(is_indexed), "{differing:#?}");
    assert!(succeeded > FLOW.len() / 2, "{}", plain.join("\n"));
}

#[test]
fn games_are_the_same_on_both_kinds_of_root() {
    check_format("game");
}

#[test]
fn campaigns_are_the_same_on_both_kinds_of_root() {
    check_format("campaign");
}

#[test]
fn sessions_of_codelia_are_the_same_on_both_kinds_of_root() {
    check_format("codelia");
}

#[test]
fn sessions_of_linggen_are_the_same_on_both_kinds_of_root() {
    check_format("linggen");
}

#[test]
fn chat_logs_are_the_same_on_both_kinds_of_root() {
    check_format("chatlog");
}

#[test]
fn threads_are_the_same_on_both_kinds_of_root() {
    check_format("thread");
}

/// The password is in no output, and the hints can be pasted.
#[test]
fn a_password_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let address = new_address().replace("everturn@", "everturn:s3cret@");
    for words in ["new game --id a", "ls", "show nobody", "check", "search x", "stats", "trash"] {
        let mut all: Vec<&str> = words.split(' ').collect();
        all.extend(["--root", &address]);
        let output = run(everturn(dir.path(), &all), "");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!text.contains("s3cret"), "{words}: {text}");
    }
    let broken = "postgres://everturn:s3cret@127.0.0.1:1/x?root=a";
    let output = run(everturn(dir.path(), &["ls", "--root", broken]), "");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains("cannot open the root postgres://everturn@127.0.0.1:1/x?root=a"),
        "{text}"
    );
    assert!(!text.contains("s3cret"), "{text}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert!(left.iter().all(|entry| {
        !entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("postgres")
    }));
}

/// An address in `EVERTURN_ROOT`: its password is in no output and in no name or content of a file, and what does not
/// belong to sessions is stored in the user's home as usual.
#[test]
fn an_address_in_the_environment_is_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (home, here) = (dir.path().join("home"), dir.path().join("here"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&here).unwrap();
    let address = new_address().replace("everturn@", "everturn:s3cret@");
    let turn = r#"{"role":"user","content":"Open the gate."}"#;
    for (words, input) in [
        ("new thread --id tale", ""),
        ("append tale", turn),
        ("ls --json", ""),
        ("search gate --json", ""),
        ("check --json", ""),
        ("config path", ""),
        ("config get root", ""),
        ("config explain root", ""),
        ("sources list", ""),
        ("sources list --json", ""),
        ("stats", ""),
    ] {
        let all: Vec<&str> = words.split(' ').collect();
        let mut command = everturn(&here, &all);
        command.env("HOME", &home).env("EVERTURN_ROOT", &address);
        let output = run(command, input);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{words}: {text}");
        assert!(!text.contains("s3cret"), "{words}: {text}");
        assert!(
            !text.contains("(missing)") && !text.contains("\"there\":false"),
            "{words}: {text}"
        );
    }
    assert_eq!(
        std::fs::read_dir(&here).unwrap().count(),
        0,
        "a directory is named after the address"
    );
    assert!(home.join(".everturn/cache/catalog").is_dir());
    let mut waiting = vec![home];
    while let Some(at) = waiting.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.to_string_lossy().contains("s3cret"), "{}", path.display());
            if path.is_dir() {
                waiting.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                assert!(!bytes.windows(6).any(|part| part == b"s3cret"), "{}", path.display());
            }
        }
    }
}

/// A search finds what another process has written since the index was made.
#[test]
fn the_index_follows_a_root_on_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let address = new_address();
    let find = |word: &str| {
        let output = run(everturn(dir.path(), &["search", word, "--json", "--root", &address]), "");
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    for (session, word) in [("a", "gate"), ("b", "tower"), ("a", "river")] {
        run(everturn(dir.path(), &["new", "thread", "--id", session, "--root", &address]), "");
        let turn = format!("{{\"role\":\"user\",\"content\":\"the {word}\"}}");
        succeed(dir.path(), &["append", session, "--root", &address], &turn);
        assert_eq!(find(word), 1, "{word}");
    }
    assert_eq!((find("gate"), find("tower"), find("river"), find("nothing")), (1, 1, 1, 0));
}
