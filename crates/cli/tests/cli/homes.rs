//! The homes of Codelia and Linggen through the binary, as their users and their programs see them.
#![expect(clippy::disallowed_methods, reason = "the tests look at the files as anybody would")]

mod commands;
mod configuration;
mod kept;
mod lists;
mod parts;
mod runs;
mod secrets;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::everturn::{command, run};

/// What a command answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

/// A user with an empty home directory.
pub(super) struct User {
    dir: tempfile::TempDir,
    pub(super) variables: Vec<(&'static str, String)>,
}

impl User {
    pub(super) fn new() -> User {
        User { dir: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// A path below the home directory.
    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(below)
    }

    pub(super) fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).expect(below)
    }

    pub(super) fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn dir(&self, below: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// The command in a directory, with words split at spaces. `~` at the start of a word is the home.
    pub(super) fn command_in(&self, dir: &Path, words: &str) -> Command {
        let home = self.path("");
        let home = home.to_str().unwrap().trim_end_matches('/');
        let mut command = command(dir);
        let word = |word: &str| match word.strip_prefix('~') {
            Some(rest) => format!("{home}{rest}"),
            None => word.to_owned(),
        };
        command.args(words.split(' ').map(word)).env("HOME", home);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(super) fn run_in(&self, dir: &Path, words: &str, input: &str) -> Answer {
        answer(self.command_in(dir, words), input)
    }

    pub(super) fn run(&self, words: &str, input: &str) -> Answer {
        self.run_in(&self.path(""), words, input)
    }

    /// The output of a command that must succeed.
    #[track_caller]
    pub(super) fn ok(&self, words: &str, input: &str) -> String {
        let answer = self.run(words, input);
        assert_eq!(answer.code, Some(0), "{words}: {answer:?}");
        answer.out
    }

    #[track_caller]
    pub(super) fn ok_in(&self, below: &str, words: &str, input: &str) -> String {
        let answer = self.run_in(&self.path(below), words, input);
        assert_eq!(answer.code, Some(0), "{words}: {answer:?}");
        answer.out
    }
}

pub(super) fn answer(command: Command, input: &str) -> Answer {
    let output = run(command, input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Answer { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}
