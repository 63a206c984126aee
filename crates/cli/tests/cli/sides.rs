//! Every command and subcommand succeeds and fails in some transcript.

#![expect(clippy::disallowed_methods, reason = "the transcripts are files of the repository")]

use std::fs;

use crate::everturn::{command_names, commands_below};
use crate::transcripts::transcripts;

/// Commands that need a terminal, a signal or an edited file to succeed, and are tested with one.
const TESTED_ELSEWHERE: [&str; 3] = ["adopt", "browse", "serve"];

/// Returns the runs in transcripts: the words after `everturn`, and the status.
fn runs() -> Vec<(Vec<String>, String)> {
    let mut runs = Vec::new();
    for file in transcripts() {
        let mut words = None;
        for line in fs::read_to_string(file).unwrap().lines() {
            if let Some(prompt) = line.strip_prefix("$ ") {
                let after = prompt.split_whitespace().skip_while(|word| *word != "everturn");
                words = Some(after.skip(1).map(str::to_owned).collect());
            } else if let Some(status) = line.strip_prefix("exit ") {
                runs.extend(words.take().map(|words| (words, status.to_owned())));
            }
        }
    }
    runs
}

/// Returns all commands, with subcommands after their command: `ls`, `mark add`.
fn commands() -> Vec<Vec<String>> {
    let is_own = |name: &String| name != "help";
    let mut commands = Vec::new();
    for name in command_names().into_iter().filter(is_own) {
        let below = commands_below(&[&name]);
        match below.is_empty() {
            true => commands.push(vec![name]),
            false => {
                let below = below.into_iter().filter(is_own);
                commands.extend(below.map(|other| vec![name.clone(), other]));
            }
        }
    }
    commands
}

#[test]
fn every_command_succeeds_in_one_transcript_and_fails_in_another() {
    let runs = runs();
    let mut missing = Vec::new();
    for command in commands() {
        let is_run = |words: &[String]| {
            let mut rest = words.iter();
            !words.iter().any(|word| word == "--help" || word == "-h")
                && command.iter().all(|name| rest.any(|word| word == name))
        };
        let has = |good: bool| {
            runs.iter().any(|(words, status)| (status == "0") == good && is_run(words))
        };
        let name = command.join(" ");
        if !has(true) && !TESTED_ELSEWHERE.contains(&name.as_str()) {
            missing.push(format!("{name} never succeeds"));
        }
        if !has(false) {
            missing.push(format!("{name} never fails"));
        }
    }
    assert!(missing.is_empty(), "in no transcript: {}", missing.join(", "));
}
