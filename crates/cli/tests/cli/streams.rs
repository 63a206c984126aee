//! Unusual stdin, stdout and stderr.

use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;

use crate::everturn;

const PRINTERS: &[&[&str]] =
    &[&["man"], &["completions", "bash"], &["--help"], &["--version"], &["man", "--help"]];

fn everturn(words: &[&str]) -> Command {
    let mut command = everturn::command(Path::new("."));
    command.args(words);
    command
}

#[test]
fn a_closed_pipe_ends_the_command_quietly_and_well() {
    for words in PRINTERS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = everturn(words).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
}

#[test]
fn without_a_stderr_the_exit_code_still_tells() {
    for (words, code) in [(["man", "nothing"], 1), (["--unknown", "man"], 2)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = everturn(&words).stderr(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for words in PRINTERS {
        let full = open_device("/dev/full");
        let output = everturn(words).stdout(full).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "error: cannot write to standard output: No space left on device (os error 28)\n",
            "{words:?}"
        );
        assert_eq!(output.status.code(), Some(1), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a device, not stored data")]
fn open_device(device: &str) -> std::fs::File {
    std::fs::OpenOptions::new().write(true).open(device).unwrap()
}

#[test]
fn input_that_is_not_asked_for_is_left_alone() {
    for words in PRINTERS {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(b"for somebody else").unwrap();
        input.rewind().unwrap();
        // Both handles share one position, so a read by the command would move that of the test.
        let output = everturn(words).stdin(input.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(input.stream_position().unwrap(), 0, "{words:?} read its stdin");
    }
}

#[test]
fn colour_is_for_terminals_and_for_those_who_insist() {
    let coloured = |words: &[&str], variable: Option<(&str, &str)>| {
        let mut command = everturn(words);
        command.envs(variable);
        let output = command.output().unwrap();
        [output.stdout, output.stderr].concat().contains(&0x1b)
    };
    let no_color = Some(("NO_COLOR", "1"));
    // An error of Everturn, an error of clap, and a help text.
    for words in [&["man", "nothing"][..], &["--unknown"], &["--help"]] {
        let always = [&["--color", "always"], words].concat();
        let never = [&["--color=never"], words].concat();
        assert!(!coloured(words, None), "{words:?}");
        assert!(coloured(&always, None), "{words:?}");
        assert!(coloured(&always, no_color), "{words:?}");
        assert!(coloured(words, Some(("CLICOLOR_FORCE", "1"))), "{words:?}");
        assert!(!coloured(&never, Some(("CLICOLOR_FORCE", "1"))), "{words:?}");
    }
}
