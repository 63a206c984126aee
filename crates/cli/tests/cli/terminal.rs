//! The replay on a real terminal: a pseudo-terminal of 80 columns and 24 rows, driven by a script.

use std::path::Path;
use std::process::Command;

use crate::everturn::{command, run};

/// Starts the binary on a terminal, sends keys when a text has appeared, and reports the result.
pub(crate) const SCRIPT: &str = include_str!("terminal.py");

/// The result of a run on a terminal.
pub(crate) struct Run {
    /// Whether each expected text has appeared.
    pub(crate) found: Vec<bool>,
    pub(crate) exit: i64,
    pub(crate) seen: String,
    /// Whether the terminal was in raw mode: before, during, and after the run.
    pub(crate) raw: serde_json::Value,
}

const NEXT: &str = "\u{1b}[C";
const BACK: &str = "\u{1b}[D";
const ENTER_SCREEN: &str = "\u{1b}[?1049h";
const LEAVE_SCREEN: &str = "\u{1b}[?1049l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

pub(crate) fn on_terminal(root: &Path, words: &[&str], steps: &[&str]) -> Run {
    on_terminal_with(root, words, steps, &[])
}

/// Runs on a terminal with environment variables.
pub(crate) fn on_terminal_with(
    root: &Path,
    words: &[&str],
    steps: &[&str],
    env: &[(&str, &str)],
) -> Run {
    let mut python = Command::new("python3");
    python.arg("-c").arg(SCRIPT).arg(env!("CARGO_BIN_EXE_everturn")).args(words);
    python.arg("--").args(steps).current_dir(root).envs(env.iter().copied());
    python.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let output = run(python, "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let value: serde_json::Value = serde_json::from_str(&text).expect(&told);
    let field = |name: &str| value.get(name).cloned().unwrap_or_default();
    let found = field("found").as_array().cloned().unwrap_or_default();
    Run {
        found: found.iter().map(|found| found.as_bool() == Some(true)).collect(),
        exit: field("exit").as_i64().unwrap(),
        seen: field("seen").as_str().unwrap().to_owned(),
        raw: field("raw"),
    }
}

/// Creates a root with a session of three turns.
fn session() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let everturn = |words: &[&str], input: &str| {
        let mut everturn = command(dir.path());
        everturn.args(words).env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
        assert_eq!(run(everturn, input).status.code(), Some(0), "{words:?}");
    };
    everturn(&["new", "game", "--root", ".", "--id", "session-one"], "");
    let turns = r#"{"actor":"gm","narration":"The gate opens."}
{"actor":"player","narration":"彼女は笑う。","deltas":[{"scope":"world","deltas":[{"op":"set","path":"npcs.luna.trust","value":5}]}]}
{"actor":"luna","narration":"The end is near."}
"#;
    everturn(&["append", "session-one", "--root", ".", "--lines"], turns);
    dir
}

/// Asserts that the terminal was taken over, and restored at the end.
fn assert_restored(run: &Run) {
    assert_eq!(run.raw, serde_json::json!([false, true, false]), "keys came one by one");
    let enter = run.seen.find(ENTER_SCREEN).expect("the screen of its own is entered");
    let leave = run.seen.rfind(LEAVE_SCREEN).expect("and left");
    assert!(enter < leave);
    assert!(run.seen.rfind(SHOW_CURSOR).is_some_and(|at| at > enter), "the cursor is hidden");
}

#[test]
fn the_replay_steps_forth_and_back_and_quits() {
    let dir = session();
    let steps = [
        "turn 1 of 3",
        NEXT,
        "turn 2 of 3",
        "",
        "彼女は笑う。",
        "",
        "world npcs.luna: new {\"trust\":5}",
        BACK,
        "turn 1 of 3",
        "G",
        "turn 3 of 3",
        "",
        "The end is near.",
        "q",
    ];
    let run = on_terminal(dir.path(), &["replay", "session-one", "--root", "."], &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.exit, 0);
    assert!(run.seen.contains("q quit"), "the keys are shown");
    assert_restored(&run);
}

#[test]
fn the_replay_plays_by_itself_until_the_end() {
    let dir = session();
    let words = ["replay", "session-one", "--root", ".", "--speed", "8"];
    let steps = ["turn 1 of 3", "", "turn 2 of 3", "", "turn 3 of 3  paused", "q"];
    let run = on_terminal(dir.path(), &words, &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.exit, 0);
    assert_restored(&run);
}

#[test]
fn the_terminal_is_given_back_however_the_replay_ends() {
    let dir = session();
    for end in ["\u{3}", "SIGTERM"] {
        let words = ["replay", "session-one", "--root", "."];
        let run = on_terminal(dir.path(), &words, &["turn 1 of 3", end]);
        assert_restored(&run);
        assert_eq!((run.found, run.exit), (vec![true], 0), "{end:?}");
    }
}

#[test]
fn the_browser_lists_searches_opens_replays_exports_and_quits() {
    let dir = session();
    // Only changed cells are sent, so the expected texts are those in which every letter has changed.
    let steps = [
        "1 sessions in .",
        "",
        "near.",
        "gate",
        "session-one#1",
        "\r",
        "PgUp",
        "\u{5}",
        "session-one.md",
        "\u{12}",
        "turn 1 of 3",
        "q",
        "PgUp PgDn",
        "\u{1b}",
        "type to",
        "\u{3}",
    ];
    let run = on_terminal(dir.path(), &["browse", "--root", "."], &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.exit, 0);
    assert_restored(&run);
    assert!(dir.path().join("session-one.md").exists());
}

#[test]
fn the_browser_finds_what_is_new_and_shows_a_long_session_to_both_ends() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    let everturn = |words: &[&str], input: &str| {
        let mut everturn = command(dir.path());
        everturn.args(words).env("EVERTURN_ROOT", root).env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
        assert_eq!(run(everturn, input).status.code(), Some(0), "{words:?}");
    };
    let said = |text: &str| format!("{{\"actor\":\"gm\",\"narration\":\"{text}\"}}\n");
    everturn(&["new", "game", "--id", "session-one"], "");
    let first = said("zzyzx") + &said("mmmm").repeat(299);
    everturn(&["append", "session-one", "--lines"], &first);
    // The index does not contain the turns that follow.
    everturn(&["search", "zzyzx"], "");
    let rest = said("quokka waits") + &said("mmmm").repeat(299) + &said("xylophone");
    everturn(&["append", "session-one", "--lines"], &rest);
    // Only changed cells are sent, so the expected texts are those in which every letter has changed.
    let steps = [
        "1 sessions",
        "quokka",
        "quokka waits",
        "\r",
        "PgUp",
        "g",
        "zzyzx",
        "G",
        "xylophone",
        "\u{3}",
    ];
    let run = on_terminal_with(dir.path(), &["browse"], &steps, &[("EVERTURN_ROOT", root)]);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.exit, 0);
    assert_restored(&run);
}

#[test]
fn the_terminal_is_given_back_however_the_browser_ends() {
    let dir = session();
    for end in ["\u{3}", "\u{1b}", "SIGTERM"] {
        let run = on_terminal(dir.path(), &["browse", "--root", "."], &["1 sessions", end]);
        assert_restored(&run);
        assert_eq!((run.found, run.exit), (vec![true], 0), "{end:?}");
    }
}
