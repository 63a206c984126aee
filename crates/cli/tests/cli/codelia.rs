//! The home of Codelia through the binary: many processes on one session, damage, and secrets.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use crate::everturn::{command, run};

const PROCESSES: usize = 4;
const MESSAGES: usize = 25;

fn everturn(dir: &Path, words: &str, input: &str) -> (Option<i32>, String, String) {
    let mut command = command(dir);
    command.args(words.split(' ')).env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
    let output = run(command, input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn processes_that_append_to_one_session_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(everturn(dir.path(), "new codelia --id one --root home", "").0, Some(0));
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let dir = dir.path();
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    let text = format!(r#"{{"role":"user","content":"p{process}-{number}"}}"#);
                    let (code, _, said) = everturn(dir, "append one --root home --wait 60", &text);
                    assert_eq!(code, Some(0), "{said}");
                }
            });
        }
    });
    let log = fs::read_to_string(dir.path().join("home/sessions/messages/one.jsonl")).unwrap();
    let lines: BTreeSet<&str> = log.lines().collect();
    assert_eq!((log.lines().count(), lines.len()), (PROCESSES * MESSAGES, PROCESSES * MESSAGES));
    let (_, listed, _) = everturn(dir.path(), "ls --root home --json", "");
    assert!(listed.contains("\"turns\":100"), "{listed}");
}

#[test]
fn damage_is_found_and_mended_and_the_repair_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    everturn(dir.path(), "new codelia --id one --root home", "");
    everturn(dir.path(), "append one --root home", r#"{"role":"user","content":"a"}"#);
    let log = dir.path().join("home/sessions/messages/one.jsonl");
    let damaged = format!("{}noise\n", fs::read_to_string(&log).unwrap());
    fs::write(&log, &damaged).unwrap();
    let (code, found, _) = everturn(dir.path(), "check home", "");
    assert_eq!(code, Some(3));
    assert!(found.contains("bad-line"), "{found}");
    let (code, planned, _) = everturn(dir.path(), "repair one --dry-run --root home", "");
    assert_eq!((code, planned.lines().count()), (Some(0), 1), "{planned}");
    assert_eq!(everturn(dir.path(), "repair one --root home", "").0, Some(0));
    assert_eq!(everturn(dir.path(), "check home", "").0, Some(0));
    assert_eq!(everturn(dir.path(), "repair one --undo --root home", "").0, Some(0));
    assert_eq!(fs::read_to_string(&log).unwrap(), damaged);
}

#[test]
fn a_secret_is_in_its_file_and_nowhere_else() {
    const KEY: &str = "sk-very-secret-0123456789";
    let dir = tempfile::tempdir().unwrap();
    let mut said = String::new();
    for words in [
        "credentials set openai --layout codelia --root home",
        "credentials set openai --layout codelia --root home --json",
        "credentials list --layout codelia --root home",
        "credentials list --layout codelia --root home --json",
        "config get --layout codelia --root home --json",
        "check home",
        "check home --json",
        "credentials set open\nai --layout codelia --root home",
    ] {
        let (_, out, err) = everturn(dir.path(), words, KEY);
        said.push_str(&out);
        said.push_str(&err);
    }
    let auth = dir.path().join("home/auth.json");
    assert!(fs::read_to_string(&auth).unwrap().contains(KEY));
    assert_eq!(fs::metadata(&auth).unwrap().permissions().mode() & 0o777, 0o600);
    // A damaged file is named, not quoted.
    fs::write(&auth, format!("{{\"version\":1,\"providers\":\"{KEY}\"")).unwrap();
    for words in ["credentials list --layout codelia --root home", "check home --json"] {
        let (code, out, err) = everturn(dir.path(), words, "");
        assert_ne!(code, Some(0), "{words}");
        said.push_str(&out);
        said.push_str(&err);
    }
    assert!(!said.contains("very-secret"), "{said}");
    assert!(said.contains("***6789"), "{said}");
}

#[test]
fn a_secret_is_asked_for_without_being_shown() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
import os, pty, sys, time, select
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "credentials", "set", "openai", "--root", "home"])
shown = b""
def until(text):
    global shown
    end = time.time() + 60
    while text not in shown and time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                shown += os.read(fd, 4096)
            except OSError:
                return
until(b"(not shown)")
time.sleep(0.3)
os.write(fd, b"sk-typed-0123456789zyxwX\x7f\r")
until(b"was stored as")
_, status = os.waitpid(pid, 0)
sys.stdout.write(shown.decode())
sys.exit(os.waitstatus_to_exitcode(status))
"#;
    let mut python = std::process::Command::new("python3");
    python.args(["-c", script, env!("CARGO_BIN_EXE_everturn")]).current_dir(dir.path());
    let output = python.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("***zyxw") && !shown.contains("typed"), "{shown}");
    let kept = fs::read_to_string(dir.path().join("home/auth.json")).unwrap();
    assert!(kept.contains("sk-typed-0123456789zyxw\""), "{kept}");
}
