//! Runs the binary away from the caller's environment.

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
    // A command that needs no input may be gone already, and that is fine.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

/// What a command prints that has nothing to complain about.
pub(crate) fn stdout_of(words: &[&str]) -> String {
    let mut command = command(Path::new("."));
    command.args(words);
    let output = run(command, "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    assert_eq!(output.status.code(), Some(0), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of the commands, as `everturn -h` lists them.
pub(crate) fn command_names() -> Vec<String> {
    let names = commands_below(&[]);
    assert!(names.iter().any(|name| name == "help"), "no list of commands: {names:?}");
    names
}

/// The names of the commands below one, as its help lists them; most have none.
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
