//! Transcripts: command lines with the complete output of the binary.
//!
//! A line `$ NAME=value everturn word word` runs the binary; lines `in| …` below it are its stdin. The rest is its
//! output: `out| …`, `err| …` and `exit …`. The commands of one file share a fresh directory, which is printed as
//! `[DIR]`, or `[-DIR]` and `[NAME]` where its path is encoded or only its name is printed; spaces at the end of a line are not compared. Lines that start with `#` are comments.
//!
//! `EVERTURN_BLESS=1 cargo test -p everturn-cli` rewrites the transcripts; read the difference before committing it.

#![expect(clippy::disallowed_methods, reason = "the transcripts are files of the repository")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::everturn;

pub(crate) fn transcripts() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension() == Some(OsStr::new("txt")));
    files.sort();
    assert!(!files.is_empty(), "there are no transcripts");
    files
}

/// Runs the commands of `script` and returns the current transcript.
fn replay(script: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut transcript = String::new();
    let mut lines = script.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("$ ") {
            let mut input = String::new();
            transcript.push_str(&format!("{line}\n"));
            while let Some(line) = lines.next_if(|line| line.starts_with("in|")) {
                input.push_str(line.trim_start_matches("in|").trim_start_matches(' '));
                input.push('\n');
                transcript.push_str(&format!("{line}\n"));
            }
            transcript.push_str(&answer(words, &input, directory.path()));
        } else if line.starts_with('#') || line.is_empty() {
            transcript.push_str(&format!("{line}\n"));
        }
    }
    transcript
}

/// Runs one command line and describes its complete output.
fn answer(words: &str, input: &str, directory: &Path) -> String {
    let mut words = words.split_whitespace();
    let mut command = everturn::command(directory);
    for word in words.by_ref().take_while(|word| *word != "everturn") {
        let (name, value) = word.split_once('=').expect("NAME=value or everturn");
        command.env(name, value);
    }
    command.args(words);
    let output = everturn::run(command, input);
    let show = |name: &str, bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let path = directory.to_str().unwrap();
        // Linggen names the directory of a project after its path.
        let text = text.replace(path, "[DIR]").replace(&path.replace('/', "-"), "[-DIR]");
        let own_name = directory.file_name().and_then(OsStr::to_str).unwrap();
        let text = text.replace(own_name, "[NAME]");
        let lines = text.lines().map(|line| format!("{name}| {line}").trim_end().to_owned() + "\n");
        let unfinished = !text.is_empty() && !text.ends_with('\n');
        lines.collect::<String>() + if unfinished { "(no newline at the end)\n" } else { "" }
    };
    let code = output.status.code().map_or("by signal".to_owned(), |code| code.to_string());
    show("out", &output.stdout) + &show("err", &output.stderr) + &format!("exit {code}\n")
}

#[test]
fn the_binary_answers_as_the_transcripts_say() {
    let bless = std::env::var_os("EVERTURN_BLESS").is_some();
    let mut changed = Vec::new();
    for file in transcripts() {
        let expected = fs::read_to_string(&file).unwrap();
        let actual = replay(&expected);
        if actual == expected {
            continue;
        }
        if bless {
            fs::write(&file, &actual).unwrap();
            continue;
        }
        let same = expected.lines().zip(actual.lines()).take_while(|(a, b)| a == b).count();
        changed.push(format!("{} differs from line {}:\n{actual}", file.display(), same + 1));
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn the_help_of_every_command_is_in_a_transcript_and_has_examples() {
    let all: String = transcripts().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for name in everturn::command_names().iter().filter(|name| *name != "help") {
        check_help(&all, name);
    }
}

/// Checks the help of a command and of its subcommands.
fn check_help(all: &str, command: &str) {
    let prompt = format!("$ everturn {command} --help\n");
    assert!(all.contains(&prompt), "no transcript has: {prompt}");
    let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let help = everturn::stdout_of(&words);
    assert!(help.contains(&format!("\nExamples:\n  everturn {command}")), "{help}");
    let within = help.split_once("\nCommands:\n").map(|(_, rest)| rest).unwrap_or_default();
    let names = within.lines().take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        if name != "help" {
            check_help(all, &format!("{command} {name}"));
        }
    }
}
