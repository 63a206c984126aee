//! `latest` is the session that was changed last, in every format.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::path::Path;

use everturn_samples::{formats, sample};

use crate::everturn::{command, run};

/// A root, and a clock that goes on by a second with each command unless it is stopped.
struct ClockedRoot {
    dir: tempfile::TempDir,
    format: &'static str,
    seconds: u32,
    is_stopped: bool,
}

impl ClockedRoot {
    fn new(format: &'static str) -> ClockedRoot {
        let dir = tempfile::tempdir().unwrap();
        ClockedRoot { dir, format, seconds: 0, is_stopped: false }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs a command; returns its exit code, its stdout and its stderr.
    fn run(&mut self, words: &str, input: &str) -> (Option<i32>, String, String) {
        self.seconds += u32::from(!self.is_stopped);
        let now = format!("2026-01-01T10:{:02}:{:02}Z", self.seconds / 60, self.seconds % 60);
        let mut everturn = command(self.path());
        everturn.args(words.split(' ')).env("HOME", self.path()).env("EVERTURN_NOW", now);
        everturn.args(["--root", self.path().join("root").to_str().unwrap()]);
        let output = run(everturn, input);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Runs a command that must succeed; returns its stdout.
    fn done(&mut self, words: &str, input: &str) -> String {
        let (code, stdout, stderr) = self.run(words, input);
        assert_eq!(code, Some(0), "{} {words}: {stderr}", self.format);
        stdout
    }

    fn create(&mut self, id: &str) {
        self.done(&format!("new {} --id {id}", self.format), "");
    }

    fn append(&mut self, id: &str) {
        let turn = sample(self.format).message("Hi.");
        self.done(&format!("append {id}"), &turn);
    }

    #[track_caller]
    fn check(&mut self, after: &str, latest: &str) {
        let listed = self.done("ls --json", "");
        let first = listed.lines().next().unwrap().to_owned();
        assert!(
            first.contains(&format!("{{\"id\":\"{latest}\"")),
            "{} after {after}: {first}",
            self.format
        );
        let shown = self.done("export latest --format json", "");
        assert!(shown.contains(latest), "{} after {after}: {shown}", self.format);
    }

    /// Runs a command and checks which session is the latest, if the format supports it.
    #[track_caller]
    fn change(&mut self, words: &str, latest: &str) {
        let (code, _, stderr) = self.run(words, "");
        if code == Some(0) {
            self.check(words, latest);
        } else {
            assert!(stderr.contains("support"), "{} {words}: {stderr}", self.format);
        }
    }
}

#[test]
fn every_change_makes_a_session_the_latest() {
    for format in formats() {
        let mut root = ClockedRoot::new(format);
        for id in ["s1", "s2"] {
            root.create(id);
            root.append(id);
            root.check("append", id);
        }
        root.change("mark add s1 gate", "s1");
        root.change("mark add s2 gate", "s2");
        root.change("mark remove s1 gate", "s1");
        root.append("s2");
        root.change("pause s1", "s1");
        root.append("s2");
        root.change("resume s1", "s1");
        root.append("s2");
        root.change("undo s1", "s1");
        root.append("s2");
        root.change("fork s1 --id s3", "s3");
        root.append("s2");
        root.change("rewind s1 0", "s1");
        root.append("s2");
        root.change("complete s1", "s1");
    }
}

#[test]
fn commands_that_read_do_not_change_the_latest_session() {
    for format in formats() {
        let mut root = ClockedRoot::new(format);
        for id in ["s1", "s2"] {
            root.create(id);
            root.append(id);
        }
        for words in [
            "show s1",
            "state s1",
            "diff s1 0 1",
            "branches s1",
            "mark list s1",
            "replay s1",
            "stats",
            "search Hi",
            "check s1",
            "scan s1",
            "export s1 --format text",
            "export s1 --format html --out page.html",
            "retention --dry-run",
            "repair s1 --dry-run",
        ] {
            root.run(words, "");
            root.check(words, "s2");
        }
    }
}

#[test]
fn the_latest_session_of_one_second_is_found_by_its_files() {
    let mut root = ClockedRoot::new("linggen");
    root.create("s1");
    root.create("s2");
    root.is_stopped = true;
    for id in ["s1", "s2", "s1", "s2"] {
        root.append(id);
        root.check("append", id);
    }
}

/// What stands after the text `with: everturn `, or is the whole hint.
fn next_command(stderr: &str) -> Option<String> {
    let line = stderr.lines().find(|line| line.contains("everturn "))?;
    Some(line.split_once("everturn ")?.1.to_owned())
}

#[test]
fn a_printed_command_works_when_it_is_pasted() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let everturn = |words: &str| {
        let script = format!("\"$EVERTURN\" {words}");
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(home).env_clear().env("HOME", home).args(["-c", &script]);
        shell.env("EVERTURN", env!("CARGO_BIN_EXE_everturn"));
        shell.env("EVERTURN_MOUNTINFO", "/dev/null").env("EVERTURN_NOW", "2026-01-01T10:00:00Z");
        let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let root = "--root 'my saves'";
    std::fs::create_dir(home.join("my saves")).unwrap();
    for words in ["new game --id g1", "new game --id g2", "new campaign --id camp_0001"] {
        let (code, _, stderr) = everturn(&format!("{words} {root}"));
        assert_eq!(code, Some(0), "{words}: {stderr}");
    }
    for words in [
        "show g9",
        "show game:g9",
        "show g1 --from nowhere",
        "fork g1 --from nowhere",
        "mark remove g1 nowhere",
        "diff g1 0 0 --scope nowhere",
        "restore g9",
        "verify g1",
        "trash g2",
        "settings g1",
    ] {
        let (_, _, stderr) = everturn(&format!("{words} {root}"));
        let next = next_command(&stderr).unwrap_or_else(|| panic!("{words}: {stderr}"));
        let next = next.split(" lists all").next().unwrap();
        let (code, _, said) = everturn(next);
        assert_eq!(code, Some(0), "{words}: {stderr}\n{next}: {said}");
    }
    let (code, _, stderr) = everturn(&format!("pause g1 {root}"));
    assert_eq!(code, Some(0), "{stderr}");
    let (_, _, stderr) = everturn(&format!("undo g1 {root}"));
    let next = next_command(&stderr).unwrap();
    let (code, _, said) = everturn(&next);
    assert_eq!(code, Some(0), "{next}: {said}");
}

#[test]
fn the_branch_of_a_rewind_is_listed() {
    for format in formats() {
        let mut root = ClockedRoot::new(format);
        root.create("s1");
        root.append("s1");
        root.append("s1");
        root.done("rewind s1 1", "");
        root.done("fork s1 --id s3", "");
        let listed = root.done("branches s1 --json", "");
        let sessions = listed.lines().filter(|line| line.contains("\"kind\":\"session\""));
        assert_eq!(sessions.count(), 2, "{format}: {listed}");
        assert!(listed.contains("\"id\":\"s3\""), "{format}: {listed}");
        let branch = listed.lines().find(|line| !line.contains("\"s3\"")).unwrap();
        assert!(branch.contains("\"turns\":2"), "{format}: {branch}");
    }
}
