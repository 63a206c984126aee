//! Runs the examples of the README and of the page about playing, and compares their output.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::everturn::run;

const PAGES: [&str; 2] =
    [include_str!("../../../../README.md"), include_str!("../../../../docs/play.md")];

const COMMANDS: &str = include_str!("../../../../docs/commands.md");

/// Returns the commands of the `console` blocks of each part, each with its expected output.
fn examples() -> Vec<Vec<(String, String)>> {
    PAGES.iter().flat_map(|page| page.split("\n## ")).map(examples_of).collect()
}

fn examples_of(part: &str) -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    let mut lines = part.lines();
    while let Some(line) = lines.next() {
        match (inside, line.strip_prefix("$ ")) {
            (false, _) => inside = line == "```console",
            (true, _) if line == "```" => inside = false,
            (true, Some(command)) => {
                // A command continues while a quote is open.
                let mut command = command.to_owned();
                while command.matches('\'').count() % 2 == 1 {
                    command.push_str(&format!("\n{}", lines.next().unwrap()));
                }
                examples.push((command, String::new()));
            }
            (true, None) => {
                let (_, printed) = examples.last_mut().expect("a command comes first");
                printed.push_str(&format!("{line}\n"));
            }
        }
    }
    examples
}

#[test]
fn the_examples_print_what_the_readme_says() {
    let parts = examples();
    assert!(parts.iter().flatten().count() > 10, "{parts:?}");
    parts.into_iter().for_each(run_all);
}

/// Runs the examples of one part, in a directory of their own.
fn run_all(examples: Vec<(String, String)>) {
    let dir = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_everturn"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    for (command, printed) in examples {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{{ {command}; }} 2>&1")).current_dir(dir.path()).env_clear();
        shell.env("EVERTURN_MOUNTINFO", "/dev/null");
        shell
            .env("PATH", &path)
            .env("HOME", dir.path())
            .env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
        shell.stdout(Stdio::piped());
        let output = run(shell, "");
        assert_eq!(String::from_utf8_lossy(&output.stdout), printed, "$ {command}");
    }
}

#[test]
fn the_page_of_commands_names_every_command() {
    for name in crate::everturn::command_names().iter().filter(|name| *name != "help") {
        assert!(
            COMMANDS.contains(&format!("everturn {name}")),
            "the page of commands lacks {name}"
        );
    }
}
