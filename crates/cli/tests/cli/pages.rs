//! Completion scripts and manual pages: too long to compare, so characteristic parts are checked.

use std::process::Command;

use crate::everturn::{self, command_names, run, stdout_of};

#[test]
fn every_shell_gets_a_script_that_asks_this_program() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout_of(&["completions", shell]);
        for name in ["everturn", "EVERTURN_COMPLETE"] {
            assert!(script.contains(name), "the script for {shell} lacks {name}");
        }
    }
}

#[test]
fn a_shell_that_asks_is_told_of_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let mut asking = everturn::command(directory.path());
    asking.env("EVERTURN_COMPLETE", "fish").args(["--", "everturn", ""]);
    let output = run(asking, "");
    let told = String::from_utf8_lossy(&output.stdout);
    let told: Vec<&str> = told.lines().filter_map(|line| line.split('\t').next()).collect();
    for name in command_names() {
        assert!(told.contains(&name.as_str()), "{name} is not offered in {told:?}");
    }
}

#[test]
fn bash_understands_its_script() {
    let mut bash = Command::new("bash");
    bash.arg("-n").stderr(std::process::Stdio::piped());
    let output = run(bash, &stdout_of(&["completions", "bash"]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn check_page(page: &str, title: &str) {
    let first = page.lines().find(|line| line.starts_with(".TH")).unwrap_or_default();
    assert!(first.starts_with(&format!(".TH {title} 1 ")), "{first:?} is not about {title}");
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"] {
        assert!(page.contains(&format!("\n.SH {section}\n")), "{title} lacks {section}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    for name in command_names().iter().filter(|name| *name != "help") {
        check_page(&stdout_of(&["man", name]), &format!("everturn-{name}"));
    }
}

#[test]
fn the_main_page_lists_the_commands_and_the_exit_codes() {
    let page = stdout_of(&["man"]);
    check_page(&page, "everturn");
    for name in command_names() {
        assert!(page.contains(&format!("\neverturn\\-{name}(1)\n")), "{name} is not listed");
    }
    let (_, codes) = page.split_once(".SH \"EXIT STATUS\"").expect("a section on exit codes");
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "70 "] {
        assert!(codes.lines().any(|line| line.starts_with(code)), "no exit code {code}");
    }
}
