//! A campaign at the prompt: on a pseudo-terminal, through a pipe, and with unusual input.

#![expect(clippy::indexing_slicing, reason = "a test that cannot go on should say where")]

use std::path::Path;

use crate::everturn::{command, run};
use crate::terminal::{Run, on_terminal};

/// Thirty lines of input.
const LINES: [&str; 30] = [
    "look around",
    "where can I go?",
    "talk to somebody",
    "take it",
    "/map",
    "/party",
    "explore",
    "/map",
    "go on",
    "/look",
    "attack",
    "attack",
    "/log 1",
    "/mark before the rest",
    "rest",
    "search",
    "/marks",
    "/actor Joss",
    "look",
    "/actor Mira",
    "go back",
    "/undo",
    "/rewind 9",
    "/fork",
    "/settings rollback.max_checkpoints=3",
    "/settings rollback",
    "what are the rules?",
    "summarise",
    "/dance",
    "/quit",
];

const WORDS: [&str; 5] = ["play", "--root", "storage", "--seed", "7"];

/// Returns the output for these lines through a pipe, and the exit code.
fn through_a_pipe(dir: &Path, input: &str) -> (String, Option<i32>) {
    let mut everturn = command(dir);
    everturn.args(WORDS);
    let output = run(everturn, input);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

/// Returns the pages of a session: all output but the lines of the player.
fn pages(printed: &str) -> Vec<String> {
    let mut pages = vec![String::new()];
    for line in printed.lines() {
        if line.starts_with("> ") {
            pages.push(String::new());
        } else if let Some(page) = pages.last_mut() {
            page.push_str(&format!("{line}\n"));
        }
    }
    pages
}

/// Returns the content of the terminal, without colours and keys.
fn plain(seen: &str) -> String {
    let mut text = String::new();
    let mut rest = seen.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                rest.next();
                while rest.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
                rest.next();
            }
            '\r' => {}
            other => text.push(other),
        }
    }
    text
}

#[test]
fn a_terminal_shows_what_a_pipe_prints() {
    let (dir, piped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (printed, exit) = through_a_pipe(piped.path(), &(LINES.join("\n") + "\n"));
    assert_eq!(exit, Some(1), "/dance cannot be done");
    let pages = pages(&printed);
    assert_eq!(pages.len(), LINES.len() + 1, "{printed}");
    let mut steps = Vec::new();
    for (page, line) in pages.iter().zip(LINES) {
        // The status line is the last line of a page.
        steps.push(page.lines().last().unwrap().to_owned());
        steps.push(format!("{line}\r"));
    }
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    let run = on_terminal(dir.path(), &WORDS, &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.exit, 0);
    assert_eq!(run.raw, serde_json::json!([false, true, false]), "keys came one by one");
    assert!(run.seen.contains("\u{1b}[1m"), "there is colour");
    let seen = plain(&run.seen);
    let mut rest = seen.as_str();
    for page in &pages {
        let page = page.trim_matches('\n');
        let at = rest.find(page).unwrap_or_else(|| panic!("{page:?} is not in {rest:?}"));
        rest = &rest[at + page.len()..];
    }
}

fn on_a_terminal(steps: &[&str]) -> (tempfile::TempDir, Run) {
    let dir = tempfile::tempdir().unwrap();
    let run = on_terminal(dir.path(), &WORDS, steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.raw[2], false, "the terminal is given back");
    (dir, run)
}

/// Returns what the player said. The opening scene has no line of the player.
fn rows(dir: &Path) -> Vec<String> {
    let mut everturn = command(dir);
    everturn.args(["show", "camp_0001", "--root", "storage", "--json"]);
    let output = run(everturn, "");
    let entries = String::from_utf8(output.stdout).unwrap();
    let entries = entries.lines().map(|line| serde_json::from_str(line).unwrap());
    let entries = entries.filter(|entry: &serde_json::Value| entry["kind"] == "user");
    let lines = entries.map(|entry| entry["text"].as_str().unwrap().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn ctrl_c_clears_the_line_and_twice_it_leaves() {
    // Keys arrive one by one once the prompt is shown.
    let (dir, run) = on_a_terminal(&[
        "[1] ",
        "",
        "> ",
        "half a li\u{3}",
        "Ctrl-C again",
        "",
        "> ",
        "look\r",
        "[2] ",
        "",
        "> ",
        "\u{3}",
        "Ctrl-C again",
        "",
        "> ",
        "\u{3}",
    ]);
    assert_eq!(run.exit, 0);
    assert!(run.seen.contains("Saved up to turn 2."), "{}", run.seen);
    assert_eq!(rows(dir.path()), ["look"]);
}

#[test]
fn ctrl_d_leaves_and_lines_can_be_edited_and_called_back() {
    let (dir, run) = on_a_terminal(&[
        "[1] ",
        "",
        "> ",
        "ook\u{1}l\u{5} around\r",
        "[2] ",
        "",
        // The up arrow recalls the last line, even after a restart.
        "> ",
        "\u{1b}[A\r",
        "[3] ",
        "",
        "> ",
        "\u{4}",
    ]);
    assert_eq!(run.exit, 0);
    assert_eq!(rows(dir.path()), ["look around", "look around"]);
    let again = on_terminal(
        dir.path(),
        &WORDS,
        &["[3] ", "", "> ", "\u{1b}[A\r", "[4] ", "", "> ", "\u{4}"],
    );
    assert!(again.found.iter().all(|found| *found), "{}", again.seen);
    assert_eq!(rows(dir.path()).len(), 3);
}

#[test]
fn a_line_of_a_megabyte_is_a_turn_and_a_longer_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let long = "I sing. ".repeat(125_000);
    let (printed, exit) = through_a_pipe(dir.path(), &format!("{long}\nlook\n"));
    assert_eq!(exit, Some(0), "{printed}");
    assert!(printed.len() < 10_000, "{} bytes", printed.len());
    assert!(printed.contains("[3] "), "{printed}");
    let said = rows(dir.path());
    assert_eq!((said[0].len(), said[1].as_str()), (long.len(), "look"));
    let longer = "x".repeat((1 << 20) + 1);
    let (printed, exit) = through_a_pipe(dir.path(), &format!("{longer}\nlook\n"));
    assert_eq!(exit, Some(1));
    assert!(printed.contains("the limit is 1 MiB"), "{printed}");
    assert_eq!(rows(dir.path()).len(), 3);
}

#[test]
fn what_was_typed_is_stored_as_it_was_typed() {
    let dir = tempfile::tempdir().unwrap();
    through_a_pipe(dir.path(), "  two  spaces  \r\n\tx\n");
    assert_eq!(rows(dir.path()), ["  two  spaces  ", "\tx"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test damages a file as another program would")]
fn a_damaged_campaign_is_never_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let campaigns = dir.path().join("storage/campaigns");
    let damage = |id: &str| {
        let file = campaigns.join(id).join("campaign.json");
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, &text[..text.len() - 10]).unwrap();
    };
    let play = |args: &[&str]| {
        let mut everturn = command(dir.path());
        everturn.args(WORDS).args(args);
        let output = run(everturn, "look\n");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(play(&[]).0, Some(0));
    damage("camp_0001");
    let (code, said) = play(&[]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("camp_0001 is damaged") && said.contains("repair camp_0001"), "{said}");
    assert!(!campaigns.join("camp_0002").exists());
    // Two campaigns, the newer one damaged.
    let mut everturn = command(dir.path());
    everturn.args(["repair", "camp_0001", "--root", "storage"]);
    assert!(run(everturn, "").status.success());
    assert_eq!(play(&["--new"]).0, Some(0));
    damage("camp_0002");
    let (code, said) = play(&[]);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("repair camp_0002"), "{said}");
}

#[test]
fn nothing_that_was_stored_can_drive_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let mut everturn = command(dir.path());
    everturn.args(["new", "campaign", "--root", "storage", "--party", "M\u{1b}[31m,Joss"]);
    assert_eq!(run(everturn, "").status.code(), Some(0));
    let mut everturn = command(dir.path());
    everturn.args(["append", "camp_0001", "--root", "storage"]);
    let turn =
        r#"{"user_input":"x\u001b[2J","assistant_text":"Silence.\u001b]0;gone\u0007\u009b2J\r!"}"#;
    assert_eq!(run(everturn, turn).status.code(), Some(0));
    let input = "I say \u{1b}[2Jred\n/log\n/party\n/map\n/look\n/mark \u{7}\n/marks\n";
    let (printed, exit) = through_a_pipe(dir.path(), input);
    assert_eq!(exit, Some(0), "{printed}");
    let wrong = |character: char| character.is_control() && character != '\n';
    assert!(!printed.contains(wrong), "{printed:?}");
    assert!(printed.contains("\\u{1b}]0;gone\\u{7}\\u{9b}2J\\r!"), "{printed}");
}

/// Starts an endpoint that gives these answers, one per connection, each after a delay in milliseconds.
fn endpoint(answers: Vec<(u64, String)>) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (wait, answer) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            std::thread::spawn(move || {
                let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
                while !request.ends_with(b"}") {
                    let count = std::io::Read::read(&mut stream, &mut buffer).unwrap();
                    request.extend_from_slice(&buffer[..count]);
                }
                std::thread::sleep(std::time::Duration::from_millis(wait));
                // A client that has stopped waiting is gone.
                std::io::Write::write_all(&mut stream, answer.as_bytes()).ok();
            });
        }
    });
    url
}

fn streamed(text: &str) -> String {
    let content = serde_json::json!({"assistant_text": text}).to_string();
    let (first, rest) = content.split_at(content.len() / 2);
    let event = |piece: &str| {
        let delta = serde_json::json!({"choices": [{"delta": {"content": piece}}]});
        format!("data: {delta}\n\n")
    };
    let body = format!("{}{}data: [DONE]\n\n", event(first), event(rest));
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn refused(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

fn with_model(url: &str) -> Vec<&str> {
    [&WORDS[..], &["--narrator", "openai", "--model", "m", "--narrator-url", url]].concat()
}

const TALE: &str = "A torch flares up, and for a moment the whole hall stands there as it was when the last \
                    of them left it.\n\nThen it is \u{1b}[31mdark.";

#[test]
fn a_model_is_shown_while_it_tells_and_a_line_that_failed_is_sent_again() {
    let url =
        endpoint(vec![(0, refused("401 No")), (0, streamed(TALE)), (0, streamed("Silence."))]);
    let dir = tempfile::tempdir().unwrap();
    let steps = [
        "[0] ",
        "I light a torch.\r",
        "does not accept the key",
        "",
        "Enter or /retry sends it again",
        "",
        "[0] ",
        "\r",
        "A torch flares up",
        "",
        "[1] ",
        "wait\r",
        "Silence.",
        "",
        "[2] ",
        "/quit\r",
    ];
    let run = on_terminal(dir.path(), &with_model(&url), &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    let seen = plain(&run.seen);
    assert_eq!(seen.matches("A torch flares up").count(), 1, "{seen}");
    assert!(seen.contains("stands there as it was when\nthe last of them left it."), "{seen}");
    assert!(seen.contains("Then it is \\u{1b}[31mdark.\n"), "{seen}");
    assert_eq!(rows(dir.path()), ["I light a torch.", "wait"]);
}

#[test]
fn ctrl_c_ends_the_wait_for_a_narrator_and_the_line_is_kept() {
    let url = endpoint(vec![(20_000, streamed("Too late.")), (0, streamed("Silence."))]);
    let dir = tempfile::tempdir().unwrap();
    let steps = [
        "[0] ",
        "I wait.\r",
        "Ctrl-C cancels",
        "\u{3}",
        "the request was cancelled",
        "",
        "[0] ",
        "/retry\r",
        "Silence.",
        "",
        "[1] ",
        "",
        "> ",
        "\u{4}",
    ];
    let start = std::time::Instant::now();
    let run = on_terminal(dir.path(), &with_model(&url), &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
    assert_eq!(run.exit, 0);
    assert!(start.elapsed().as_secs() < 19, "the wait was ended");
    assert_eq!(rows(dir.path()), ["I wait."]);
}

#[test]
fn through_a_pipe_a_model_that_is_down_ends_with_1_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let url = endpoint(vec![(0, refused("401 No")), (0, streamed(TALE))]);
    let mut everturn = command(dir.path());
    everturn.args(with_model(&url));
    let output = run(everturn, "I light a torch.\n/retry\n");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("does not accept the key"), "{printed}");
    assert!(printed.contains("stands there as it was when\nthe last of them"), "{printed}");
    assert_eq!(rows(dir.path()), ["I light a torch."]);
}

/// Returns the document of the first campaign.
#[expect(clippy::disallowed_methods, reason = "the test plays another program")]
fn document(dir: &Path) -> serde_json::Value {
    let file = dir.join("storage/campaigns/camp_0001/campaign.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn the_wizard_asks_and_an_empty_line_takes_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let mut everturn = command(dir.path());
    everturn.args(["play", "--wizard", "--root", "storage"]);
    let output = run(everturn, "9\n3\nde\nAnn\na smith\n-\nschau dich um\n/quit\n");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("Enter a number from 1 to 5."), "{printed}");
    let made = document(dir.path());
    assert_eq!(made["everturn"]["title"], "Die Laternenanzünder");
    assert_eq!(made["selected"]["party_character_ids"], serde_json::json!(["Ann"]));
    assert_eq!(made["everturn"]["characters"]["Ann"]["description"], "a smith");
    assert!(printed.contains("erlischt eine Laterne"), "the opening scene tells the premise");
    assert_eq!(made["everturn"]["world"]["language"], "de");
    let dir = tempfile::tempdir().unwrap();
    let mut everturn = command(dir.path());
    everturn.args(["play", "--wizard", "--root", "storage"]);
    run(everturn, "");
    let made = document(dir.path());
    assert_eq!(made["everturn"]["title"], "The Salt Coast");
    assert_eq!(made["selected"]["party_character_ids"], serde_json::json!(["Mira", "Joss"]));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test plays another program")]
fn presets_cards_and_lorebooks_begin_a_story() {
    let dir = tempfile::tempdir().unwrap();
    let card = r#"{"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Rem", "description": "{{char}} is a maid.",
        "scenario": "A manor.", "character_book": {"entries": [{"keys": ["oni"], "content": "Oni have one horn.", "enabled": true}]}}}"#;
    let book =
        r#"{"entries": [{"keys": ["crown"], "content": "The crown is cursed.", "enabled": true}]}"#;
    std::fs::write(dir.path().join("rem.json"), card).unwrap();
    std::fs::write(dir.path().join("book.json"), book).unwrap();
    let words = [
        "play",
        "--preset",
        "deep-road",
        "--rules",
        "2",
        "--card",
        "rem.json",
        "--lorebook",
        "book.json",
    ];
    let mut everturn = command(dir.path());
    everturn.args(words).args(["--root", "storage"]);
    let output = run(everturn, "inventory\n");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let made = document(dir.path());
    assert_eq!(made["everturn"]["title"], "The Deep Road");
    assert_eq!(made["actors"]["Rem"]["hp"], 10);
    let about = made["everturn"]["characters"]["Rem"]["description"].as_str().unwrap();
    assert!(about.contains("Rem is a maid."), "{about}");
    assert_eq!(made["everturn"]["lorebooks"].as_array().unwrap().len(), 2);
    let mut everturn = command(dir.path());
    everturn.args(["play", "--preset", "nonsense", "--root", "storage"]);
    let output = run(everturn, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("salt-coast"));
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let run = on_terminal(dir.path(), &WORDS, &["Mira 10 hp", "SIGTERM"]);
    assert_eq!(run.raw, serde_json::json!([false, true, false]), "{}", run.seen);
    assert_eq!(run.exit, -15, "{}", run.seen);
}

#[test]
fn tab_completes_commands_and_names() {
    let dir = tempfile::tempdir().unwrap();
    let steps = ["Mira 10 hp", "/inv\t\r", "carries", "/quit\r"];
    let run = on_terminal(dir.path(), &WORDS, &steps);
    assert!(run.found.iter().all(|found| *found), "{:?}\n{}", run.found, run.seen);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test plays another program")]
fn values_of_the_wrong_kind_name_the_repair_command() {
    let dir = tempfile::tempdir().unwrap();
    through_a_pipe(dir.path(), "look\n");
    let file = dir.path().join("storage/campaigns/camp_0001/campaign.json");
    let mut wrong = document(dir.path());
    wrong["hp"] = serde_json::json!([]);
    std::fs::write(&file, wrong.to_string()).unwrap();
    let mut everturn = command(dir.path());
    everturn.args(WORDS);
    let output = run(everturn, "attack\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("repair camp_0001"), "{said}");
    let mut everturn = command(dir.path());
    everturn.args(["repair", "camp_0001", "--root", "storage"]);
    assert!(run(everturn, "").status.success());
    assert_eq!(document(dir.path())["hp"], serde_json::json!({"Mira": 10, "Joss": 10}));
}
