//! Completions of shells: what the script offers for a line that is being typed.

use std::process::Command;

use crate::everturn;

/// What bash would offer at the end of some words.
fn offered(directory: &std::path::Path, words: &[&str]) -> Vec<String> {
    let script = everturn::stdout_of(&["completions", "bash"]);
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_everturn"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let list: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let ask = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_everturn_sessions everturn '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        list.join(" "),
        words.len() - 1,
        words.last().unwrap(),
        words.get(words.len().wrapping_sub(2)).unwrap_or(&""),
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &ask])
        .env_clear()
        .env("PATH", path)
        .env("EVERTURN_ROOT", directory)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_the_ids_of_sessions_where_a_session_is_meant() {
    let directory = tempfile::tempdir().unwrap();
    for id in ["session-one", "session-two", "tale"] {
        let mut command = everturn::command(directory.path());
        command.args(["--root", ".", "new", "game", "--id", id]);
        assert!(everturn::run(command, "").status.success());
    }
    let offers = |words: &[&str]| offered(directory.path(), words);
    let mut sessions = offers(&["everturn", "show", "sess"]);
    sessions.sort();
    assert_eq!(sessions, ["session-one", "session-two"]);
    assert_eq!(offers(&["everturn", "convert", "ta"]), ["tale"]);
    assert_eq!(offers(&["everturn", "fork", "lat"]), ["latest"]);
    assert!(offers(&["everturn", "sho"]).contains(&"show".to_owned()));
    assert!(offers(&["everturn", "show", "--ra"]).contains(&"--raw".to_owned()));
    assert!(!offers(&["everturn", "man", "ta"]).contains(&"tale".to_owned()));
}

#[test]
fn the_scripts_of_other_shells_ask_for_sessions_too() {
    let fish = everturn::stdout_of(&["completions", "fish"]);
    assert!(fish.contains("using_subcommand convert\" -a \"latest (everturn completions --sessions"));
    let zsh = everturn::stdout_of(&["completions", "zsh"]);
    let asked = zsh.lines().filter(|line| line.contains(":_everturn_sessions'")).count();
    assert!(asked > 20, "{asked} arguments of zsh are sessions");
    assert!(zsh.contains("_everturn_sessions() {"));
}
