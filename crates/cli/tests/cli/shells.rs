//! Completion in real shells on a terminal.
#![expect(clippy::disallowed_methods, reason = "the test makes the files that are completed")]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::everturn::run;
use crate::terminal::SCRIPT;

const CLAUDE: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"ID","cwd":"/w","timestamp":"2026-01-02T00:00:00Z","message":{"role":"user","content":"The one that is found"}}
"#;

/// Types `lines` into a shell, each but the first after the prompt `ready>`, and returns what was seen.
fn type_into(shell: &[&str], home: &Path, lines: &[String]) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_everturn")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.display());
    let mut steps = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let prompt = if index == 0 { "" } else { "ready>" };
        steps.extend([prompt.to_owned(), line.clone()]);
    }
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, "/usr/bin/env", "-i", "TERM=dumb", &format!("PATH={path}")]);
    python.arg(format!("HOME={}", home.display())).args(shell).arg("--").args(&steps);
    python.current_dir(home).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = run(python, "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value.get("seen").unwrap().as_str().unwrap().to_owned()
}

/// A session ID of another program is not run as a command when it is completed and entered.
#[test]
fn ids_and_file_names_with_shell_syntax_do_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let sessions = home.join(".claude/projects/-w");
    std::fs::create_dir_all(&sessions).unwrap();
    for id in ["fix-$(touch pwned-id)", "good-1"] {
        std::fs::write(sessions.join(format!("{id}.jsonl")), CLAUDE.replace("ID", id)).unwrap();
    }
    std::fs::write(home.join("file-$(touch pwned-file)"), "").unwrap();
    let shells: [(&[&str], &str); 3] = [
        (
            &["bash", "--norc", "--noprofile", "-i"],
            "PS1='rea''dy>'; eval \"$(everturn completions bash)\"\n",
        ),
        (
            &["zsh", "-f", "-i"],
            "PS1='rea''dy>'; autoload -U compinit; compinit -u; eval \"$(everturn completions zsh)\"\n",
        ),
        (
            &["fish", "--no-config", "-i"],
            "function fish_prompt; echo -n rea''dy\\>; end; everturn completions fish | source\n",
        ),
    ];
    for (shell, setup) in shells {
        let name = shell[0];
        let lines = [
            "everturn show fix\t\n".to_owned(),
            "everturn import file\t\n".to_owned(),
            "everturn show goo\t\n".to_owned(),
            "exit\n".to_owned(),
        ];
        let mut all = vec![setup.to_owned()];
        all.extend(lines);
        let seen = type_into(shell, home, &all);
        for pwned in ["pwned-id", "pwned-file"] {
            assert!(!home.join(pwned).exists(), "{name} ran {pwned}: {seen}");
        }
        assert!(seen.contains("The one that is found"), "{name} completes: {seen}");
    }
}
