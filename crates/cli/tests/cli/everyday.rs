//! Everyday use of many sessions of several programs: one meaning of "all sessions", lists, searches, costs, typos.

use std::path::Path;

use crate::everturn;
use crate::foreign::put;
use crate::terminal::on_terminal_with;

const NOW: &str = "2026-02-01T10:00:00Z";

/// The IDs of two sessions of Claude Code and one of Codex.
const PARSER: &str = "4fec7ea0-94b8-487b-a530-2aeb6098ae0e";
const LIST: &str = "755428a6-1111-4222-8333-444455556666";
const SERVER: &str = "019a2b3c-7000-7abc-8000-000000000001";

/// Returns a line of Claude Code.
fn claude(id: u32, kind: &str, time: &str, text: &str, usage: Option<(&str, u64)>) -> String {
    let parent = if id == 1 { "null".to_owned() } else { format!("\"u{}\"", id - 1) };
    let text = serde_json::to_string(text).unwrap();
    let used = usage.map_or_else(String::new, |(model, output)| {
        format!(
            r#","id":"msg-{time}-{id}","model":"{model}","usage":{{"input_tokens":1000000,"output_tokens":{output}}}"#
        )
    });
    format!(
        r#"{{"type":"{kind}","uuid":"u{id}","parentUuid":{parent},"cwd":"/srv/site","timestamp":"{time}","message":{{"role":"{kind}","content":{text}{used}}}}}"#
    )
}

/// Creates a home with sessions of Claude Code and Codex, and one of Everturn's own.
fn home() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let opus = Some(("claude-opus-4-5-20251101", 100_000));
    let parser = [
        claude(1, "user", "2026-01-05T10:00:00Z", "/clear", None),
        claude(2, "user", "2026-01-05T10:01:00Z", "Write a parser for the northern lights", None),
        claude(3, "assistant", "2026-01-05T10:02:00Z", "One\nfn parse_at(x)\nthree\nfour", opus),
    ];
    put(home, &format!(".claude/projects/-srv-site/{PARSER}.jsonl"), &(parser.join("\n") + "\n"));
    let own = Some(("house-model", 1000));
    let list = [
        claude(
            1,
            "user",
            "2026-01-20T10:00:00Z",
            "Implement the following plan:\n\n# Plan: A faster list\n\n1. Read",
            None,
        ),
        claude(2, "assistant", "2026-01-20T10:02:00Z", "The northern list is done", own),
        "noise".to_owned(),
    ];
    put(home, &format!(".claude/projects/-srv-site/{LIST}.jsonl"), &(list.join("\n") + "\n"));
    let server = format!(
        r#"{{"timestamp":"2026-01-21T10:00:00Z","type":"session_meta","payload":{{"id":"{SERVER}","cwd":"/srv/gate"}}}}
{{"timestamp":"2026-01-21T10:00:01Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"Start the northern server"}}]}}}}
"#
    );
    let file = format!(".codex/sessions/2026/01/21/rollout-2026-01-21T10-00-00-{SERVER}.jsonl");
    put(home, &file, &server);
    assert_eq!(run(home, &["new", "game", "--id", "tale", "--name", "Vex"]).0, "tale\n");
    dir
}

/// Runs a command at a fixed time; returns its data, its messages and its exit status.
fn run(home: &Path, words: &[&str]) -> (String, String, i32) {
    let mut command = everturn::command(home);
    command.args(words).env("HOME", home).env("EVERTURN_NOW", NOW);
    let output = everturn::run(command, "");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// Runs a command on a terminal of 80 columns until a text appears.
fn shown(home: &Path, words: &[&str], until: &str) -> String {
    let path = home.to_str().unwrap();
    let run = on_terminal_with(
        home,
        words,
        &[until, ""],
        &[("TERMINAL_HOME", path), ("EVERTURN_NOW", NOW)],
    );
    assert_eq!(run.found, [true], "{words:?}: {}", run.seen);
    run.seen
}

#[test]
fn every_command_says_how_many_sessions_it_has_covered() {
    let dir = home();
    let home = dir.path();
    let covered = "(claude-code 2, codex 1, root 1)";
    let (_, said, exit) = run(home, &["check"]);
    assert!(said.contains(&format!("4 sessions checked {covered}\n")), "{said}");
    assert!(
        said.contains("1 session has findings:\n  755428a6  1 finding  A faster list\n"),
        "{said}"
    );
    assert_eq!(exit, 3);
    let (_, said, _) = run(home, &["check", "--project", "gate"]);
    let filtered = "1 of 4 sessions checked (codex); 3 not: they do not match the filters";
    assert!(said.contains(filtered), "{said}");
    let (_, said, _) = run(home, &["stats"]);
    assert!(said.contains(&format!("4 sessions counted {covered}")), "{said}");
    let (_, said, _) = run(home, &["retention", "plan", "--days", "900"]);
    let kept = "1 of 4 sessions considered (root); 3 not: they belong to other programs (claude-code, codex)";
    assert!(said.contains(kept), "{said}");
    let (found, said, _) = run(home, &["search", "northern", "--project", "gate"]);
    assert!(found.starts_with(SERVER) && found.lines().count() == 2, "{found}");
    let filtered = "1 of 4 sessions searched (codex); 3 not: they do not match the filters";
    assert!(said.contains(filtered), "{said}");
    let (_, said, exit) = run(home, &["check", "--status", "activ"]);
    assert!(said.contains("unknown status \"activ\""), "{said}");
    assert_eq!(exit, 1);
}

#[test]
fn a_list_on_a_terminal_fits_and_a_list_in_a_pipe_is_whole() {
    let dir = home();
    let home = dir.path();
    let seen = shown(home, &["ls"], "listed");
    let line = |id: &str| seen.lines().find(|line| line.contains(id)).unwrap().to_owned();
    assert!(line("4fec7ea0").contains("site"), "{seen}");
    assert!(line("4fec7ea0").contains("Write a parser for the northern lights"), "{seen}");
    assert!(line("755428a6").contains("A faster list"), "{seen}");
    assert!(line("019a2b3c").contains("gate"), "{seen}");
    assert!(!seen.contains(PARSER), "{seen}");
    assert!(seen.contains("4 sessions listed (claude-code 2, codex 1, root 1)"), "{seen}");
    let (listed, ..) = run(home, &["ls"]);
    assert!(listed.contains(&format!("{PARSER}  claude-code  active")), "{listed}");
    let (listed, ..) =
        run(home, &["ls", "--layout", "claude-code", "--sort", "size", "--json", "--limit", "1"]);
    assert!(listed.contains(PARSER) && listed.contains("\"bytes\":"), "{listed}");
    let (listed, ..) = run(home, &["ls", "--sort", "cost", "--json", "--limit", "1"]);
    assert!(listed.contains(PARSER) && listed.contains("\"cost\":7.5"), "{listed}");
}

#[test]
fn hits_are_grouped_on_a_terminal_and_found_by_expression_and_with_their_lines() {
    let dir = home();
    let home = dir.path();
    let seen = shown(home, &["search", "northern"], "searched");
    assert!(seen.contains("1 result  Write a parser"), "{seen}");
    assert!(seen.contains("    #"), "{seen}");
    let (flat, ..) = run(home, &["search", "northern"]);
    assert!(flat.contains(&format!("{PARSER}#")), "{flat}");
    let (found, ..) = run(home, &["search", "--regex", r"parse_\w+\("]);
    assert!(found.contains("fn parse_at(x)"), "{found}");
    let (found, ..) = run(home, &["search", "--regex", "PARSE_"]);
    assert_eq!(found, "");
    let (_, said, exit) = run(home, &["search", "--regex", "("]);
    assert!(said.starts_with("error: invalid regular expression"), "{said}");
    assert_eq!(exit, 1);
    let (found, ..) = run(home, &["search", "parse_at", "--context", "1"]);
    assert!(found.ends_with("\n    One\n    fn parse_at(x)\n    three\n"), "{found}");
}

#[test]
fn costs_are_estimated_from_a_table_that_the_user_can_change() {
    let dir = home();
    let home = dir.path();
    let (table, said, _) = run(home, &["stats"]);
    assert!(table.contains("1,000,000  100,000"), "{table}");
    assert!(table.contains("~$7.50"), "{table}");
    assert!(said.contains("no price is known for house-model; add one to "), "{said}");
    assert!(said.contains("~ is an estimate from list prices of 2026-"), "{said}");
    // The same once more, from the cache.
    assert_eq!(run(home, &["stats"]).0, table);
    let prices = r#"{"models":[{"model":"house-model","input":2,"output":10}]}"#;
    put(home, ".everturn/prices.json", prices);
    let (days, said, _) = run(home, &["stats", "--by", "day"]);
    let rows: Vec<(&str, &str)> = days
        .lines()
        .skip(1)
        .filter_map(|line| Some((line.split_once(' ')?.0, line.rsplit_once(' ')?.1)))
        .collect();
    let expected = [("2026-01-05", "~$7.50"), ("2026-01-20", "~$2.01"), ("total", "~$9.51")];
    assert_eq!(rows, expected, "{days}");
    assert!(!said.contains("no price"), "{said}");
    let (late, ..) = run(home, &["stats", "--since", "2026-01-20", "--json"]);
    assert!(late.contains("\"estimate\":2.010000") && late.contains("\"cost\":null"), "{late}");
    let (projects, ..) = run(home, &["stats", "--by", "project", "--chart"]);
    assert!(projects.starts_with("/srv/site  ████"), "{projects}");
    let (changed, ..) = run(home, &["stats", "--prices", "--json"]);
    assert!(changed.contains("\"house-model\""), "{changed}");
}

#[test]
fn typos_get_help_and_errors_can_be_json() {
    let dir = home();
    let home = dir.path();
    let (_, said, exit) = run(home, &["show", "755428a5"]);
    assert!(said.contains(&format!("did you mean {LIST} (A faster list)?")), "{said}");
    assert_eq!(exit, 1);
    let (_, said, exit) = run(home, &["show", "755428a5", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((error["error"]["exit"].as_u64(), exit), (Some(1), 1));
    assert!(error["error"]["hint"].as_str().unwrap().contains(LIST));
    let (_, said, exit) = run(home, &["show", "--jsom", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((error["error"]["code"].as_str(), exit), (Some("usage"), 2));
    let (found, ..) = run(home, &["grep", "northern", "--layout", "codex"]);
    assert!(found.contains("Start the northern server"), "{found}");
    let (one, ..) = run(home, &["show", PARSER, "--turns", "1..2"]);
    assert_eq!(run(home, &["cat", PARSER, "--turns", "1-2"]).0, one);
    assert!(one.contains("northern lights"), "{one}");
    let (_, said, exit) = run(home, &["mark", "add", "tale", "x", "--kind", "chapterr"]);
    assert!(said.contains("chapter"), "{said}");
    assert_eq!(exit, 2);
    let (_, said, exit) = run(home, &["rm", "tale"]);
    assert!(said.contains("moved to trash"), "{said}");
    assert_eq!(exit, 0);
}

#[test]
fn any_session_can_be_given_a_title_and_keeps_its_files() {
    let dir = home();
    let home = dir.path();
    let (_, said, exit) = run(home, &["rename", "4fec", "Northern parser"]);
    assert_eq!((said.as_str(), exit), (&*format!("{PARSER} is called \"Northern parser\"\n"), 0));
    let title = "\"title\":\"Northern parser\"";
    let (listed, ..) = run(home, &["ls", "parser", "--json"]);
    assert!(listed.contains(title), "{listed}");
    let (listed, ..) = run(home, &["ls", "--limit", "9", "--json"]);
    assert!(listed.contains(title), "{listed}");
    let (found, ..) = run(home, &["search", "parse_at"]);
    assert!(found.contains("Northern parser"), "{found}");
    assert_eq!(run(home, &["rename", "4fec", " "]).2, 1);
    assert_eq!(run(home, &["rename", "4fec", "--remove", "--json"]).2, 0);
    let (listed, ..) = run(home, &["ls", "parser"]);
    assert!(listed.contains("Write a parser for the northern lights"), "{listed}");
    assert_eq!(run(home, &["rename", "4fec", "--remove"]).2, 1);
}

#[test]
fn a_session_is_continued_where_the_other_program_looks_for_it() {
    let dir = home();
    let home = dir.path();
    let words = ["continue", "4fec", "--in", "codex", "--project", "/srv/gate"];
    let (command, said, exit) = run(home, &words);
    assert_eq!((command.as_str(), exit), ("", 0));
    assert!(said.contains("nothing was written; re-run with --yes"), "{said}");
    let (command, said, exit) = run(home, &[&words[..], &["--yes"]].concat());
    assert_eq!(command, format!("cd /srv/gate && codex resume {PARSER}\n"));
    assert!(said.contains("3 entries: 3 kept, 0 changed, 0 left out"), "{said}");
    assert_eq!(exit, 0);
    let file = format!(".codex/sessions/2026/01/05/rollout-2026-01-05T10-00-00-{PARSER}.jsonl");
    assert!(home.join(file).is_file());
    let (listed, ..) = run(home, &["ls", "--layout", "codex", "--json"]);
    assert!(listed.contains(PARSER), "{listed}");
    // An existing file is not replaced.
    let (_, said, exit) = run(home, &[&words[..], &["--yes"]].concat());
    assert!(said.contains("error: "), "{said}");
    assert_eq!(exit, 1);
}
