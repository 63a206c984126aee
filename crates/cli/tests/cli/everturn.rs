//! Runs the binary isolated from the caller's environment.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The binary with an empty environment and a fixed width, in `directory`.
pub(crate) fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
    command.current_dir(directory).env_clear().env("COLUMNS", "80");
    command.env("EVERTURN_MOUNTINFO", "/dev/null");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs `command` to its end with `input` on its stdin.
pub(crate) fn run(mut command: Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A command that needs no input may have ended already.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

/// Returns the stdout of a command that must succeed without messages.
pub(crate) fn stdout_of(words: &[&str]) -> String {
    let mut command = command(Path::new("."));
    command.args(words);
    let output = run(command, "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the names of the commands, as listed by `everturn -h`.
pub(crate) fn command_names() -> Vec<String> {
    let names = commands_below(&[]);
    assert!(names.iter().any(|name| name == "help"), "no list of commands: {names:?}");
    names
}

/// Returns the names of a command's subcommands, as listed by its help; most have none.
pub(crate) fn commands_below(command: &[&str]) -> Vec<String> {
    let help = stdout_of(&[command, &["-h"]].concat());
    // At the top they stand in groups, each with a heading of its own; below, in one list.
    let (first, end) = if command.is_empty() { ("", "Options:") } else { ("Commands:", "") };
    let commands = help.lines().skip_while(|line| *line != first).skip(1);
    commands
        .take_while(|line| *line != end)
        // What is said about a command goes on further to the right.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}
