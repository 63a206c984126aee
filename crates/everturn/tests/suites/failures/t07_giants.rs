//! T7: a session of hundreds of megabytes, with a line of twelve, is resumed in little memory, and slows down no list.
//!
//! `EVERTURN_LARGE_MB=5000 cargo test --release -p everturn --test suites failures::t07` makes it larger.
#![expect(clippy::disallowed_methods, reason = "children are told what to do by their environment")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use everturn::disk::{DirListing, FileStat};
use everturn::format;
use everturn::names::FilePath;
use everturn::store::{Store, StoreError, Writer};

use crate::common::capabilities::KnownCapabilities;
use crate::failures::kinds::{ALL, Kind, at};
use crate::failures::t06_two_writers::real;

/// The id of the session beside the giant, in every layout.
const SMALL: &str = "camp_0002";

/// How much memory a process may have had, in kilobytes.
const MEMORY_KB: u64 = 256 * 1024;

/// How many bytes a list of the giant and of other sessions may read; and of chats, whose journals are read.
const LISTED: u64 = 4 << 20;
const LISTED_CHATS: u64 = 24 << 20;

const LINE: usize = 50_000;
const LONG: usize = 12_000_000;

/// A store that counts what is read.
struct Counting {
    store: Arc<dyn Store>,
    bytes: AtomicU64,
}

impl Store for Counting {
    fn read(&self, file: &FilePath, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
        let bytes = self.store.read(file, range)?;
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }

    fn stat(&self, path: &FilePath) -> Result<Option<FileStat>, StoreError> {
        self.store.stat(path)
    }

    fn list(&self, dir: &FilePath) -> Result<DirListing, StoreError> {
        self.store.list(dir)
    }

    fn lock(&self, scopes: &[FilePath]) -> Result<Box<dyn Writer>, StoreError> {
        self.store.lock(scopes)
    }

    fn local_path(&self, path: &FilePath) -> Result<Option<PathBuf>, StoreError> {
        self.store.local_path(path)
    }
}

fn megabytes() -> usize {
    std::env::var("EVERTURN_LARGE_MB").map_or(200, |text| text.parse().unwrap())
}

/// Writes so many megabytes of lines; `line` makes one of its number and its text.
fn write(file: &Path, line: impl Fn(usize, &str) -> String) -> usize {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut out = BufWriter::new(File::options().append(true).create(true).open(file).unwrap());
    let (usual, long) = ("x".repeat(LINE), "x".repeat(LONG));
    let count = megabytes() * 1_000_000 / LINE;
    for number in 1..=count {
        let text = if number == count / 2 { &long } else { &usual };
        writeln!(out, "{}", line(number, text)).unwrap();
    }
    out.flush().unwrap();
    count
}

fn claude(number: usize, text: &str) -> String {
    let parent = if number == 1 { "null".to_owned() } else { format!("\"r{}\"", number - 1) };
    format!(
        r#"{{"type":"user","uuid":"r{number}","parentUuid":{parent},"timestamp":"2026-01-01T10:00:00Z","message":{{"role":"user","content":"{number} {text}"}}}}"#
    )
}

fn codex(number: usize, text: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-01-01T10:00:00Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{number} {text}"}}]}}}}"#
    )
}

/// Runs a part of the work in a process of its own, and returns what it says and how much memory it had.
fn child(dir: &Path, task: &str) -> (String, u64) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "failures::t07_giants::a_child_works", "--nocapture"]);
    let output = command.env("T07_DIR", dir).env("T07_TASK", task).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{task}: {text}{}", String::from_utf8_lossy(&output.stderr));
    let answer = text.lines().find_map(|line| line.strip_prefix("answer ")).unwrap_or_default();
    let memory = text.lines().find_map(|line| line.strip_prefix("memory ")).unwrap();
    (answer.to_owned(), memory.parse().unwrap())
}

/// What a child does; by itself, nothing.
#[test]
fn a_child_works() {
    let Ok(dir) = std::env::var("T07_DIR") else { return };
    let task = std::env::var("T07_TASK").unwrap();
    let (name, what) = task.split_once(' ').unwrap();
    let counting = Arc::new(Counting { store: real(Path::new(&dir)), bytes: AtomicU64::new(0) });
    let store: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
    let layout = format::find(name).unwrap();
    let giant = || {
        let places = layout.locate(&store).unwrap().sessions;
        places.into_iter().find(|place| place.id != SMALL).unwrap()
    };
    let answer = match what {
        "list" => {
            let (listed, findings) = layout.list(&store).unwrap();
            assert_eq!(findings, []);
            format!("{} {}", listed.len(), counting.bytes.load(Ordering::Relaxed))
        }
        "resume" => {
            let kind = ALL.iter().find(|kind| kind.layout == name).unwrap();
            kind.say(&store, "And on.").unwrap();
            "said".to_owned()
        }
        turns => {
            let reader = layout.open(&store, &giant()).unwrap();
            let wanted = if turns == "last" {
                *reader.turns().unwrap().end()
            } else {
                turns.parse().unwrap()
            };
            let mut entries = reader.entries(wanted..=wanted).unwrap();
            let entry = entries.next().unwrap().unwrap();
            format!("{} {}", entry.turn, entry.text.len())
        }
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("\nanswer {answer}\nmemory {}", memory.trim().trim_end_matches(" kB"));
}

fn check(dir: &Path, task: &str, expect: impl Fn(&str) -> bool) {
    let (answer, memory) = child(dir, task);
    assert!(expect(&answer), "{task}: {answer}");
    assert!(memory < MEMORY_KB, "{task}: {memory} kB");
}

fn check_all(dir: &Path, name: &str, count: usize) {
    let turn = count / 2;
    check(dir, &format!("{name} {turn}"), |answer| {
        let (found, length) = answer.split_once(' ').unwrap();
        found == turn.to_string() && length.parse::<usize>().unwrap() >= LONG
    });
    let most = if name == "chatlog" { LISTED_CHATS } else { LISTED };
    check(dir, &format!("{name} list"), |answer| {
        let (sessions, bytes) = answer.split_once(' ').unwrap();
        sessions == "2" && bytes.parse::<u64>().unwrap() < most
    });
}

/// A giant beside a small session: it is resumed and read, and both are listed.
fn own(name: &str, build: impl Fn(&Kind, &Path) -> usize) {
    let kind = ALL.iter().find(|kind| kind.layout == name).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = real(dir.path());
    kind.create(&store).unwrap();
    kind.create_as(&store, SMALL).unwrap();
    drop(store);
    let count = build(kind, dir.path());
    check(dir.path(), &format!("{name} resume"), |answer| answer == "said");
    check_all(dir.path(), name, count);
    let last = format!("{} ", count + 1);
    check(dir.path(), &format!("{name} last"), |answer| answer.starts_with(&last));
}

/// Says so many megabytes, a megabyte at a time; `turn` makes a turn of a text.
fn spoken(kind: &Kind, dir: &Path, turn: fn(&str) -> String) -> usize {
    let store = real(dir);
    let (usual, long) = (turn(&"x".repeat(1_000_000)), turn(&"x".repeat(LONG)));
    let mut editor = kind.layout().editable().edit(&store, &kind.place(&store).unwrap()).unwrap();
    let count = megabytes().max(4);
    for number in 1..=count {
        let text = if number == count / 2 { &long } else { &usual };
        editor.append(text, at(1)).unwrap();
    }
    editor.release().unwrap();
    count
}

#[test]
fn t07_a_giant_of_codelia_is_resumed_in_little_memory() {
    own("codelia", |_, dir| {
        let line =
            |number: usize, text: &str| format!(r#"{{"role":"user","content":"{number} {text}"}}"#);
        write(&dir.join("sessions/messages/one.jsonl"), line)
    });
}

#[test]
fn t07_a_giant_of_linggen_is_resumed_in_little_memory() {
    own("linggen", |_, dir| {
        let line = |number: usize, text: &str| {
            format!(
                r#"{{"agent_id":"ling","from_id":"user","to_id":"ling","content":"{number} {text}","timestamp":1767261600,"is_observation":false}}"#
            )
        };
        write(&dir.join("projects/-srv-site/sessions/sess-1/messages.jsonl"), line)
    });
}

#[test]
fn t07_a_giant_game_is_resumed_in_little_memory() {
    let turn = |text: &str| format!(r#"{{"actor":"gm","narration":"{text}"}}"#);
    own("game", |kind, dir| spoken(kind, dir, turn));
}

#[test]
fn t07_a_giant_campaign_is_resumed_in_little_memory() {
    let turn = |text: &str| format!(r#"{{"user_input":"{text}"}}"#);
    own("campaign", |kind, dir| spoken(kind, dir, turn));
}

#[test]
fn t07_a_giant_chat_is_resumed_in_little_memory() {
    let turn = |text: &str| format!(r#"{{"type":"narrator","text":"{text}"}}"#);
    own("chatlog", |kind, dir| spoken(kind, dir, turn));
}

#[test]
fn t07_giants_of_other_programs_are_read_in_little_memory() {
    type Line = fn(usize, &str) -> String;
    let programs: [(&str, &str, Line); 2] =
        [("claude-code", "giant.jsonl", claude), ("codex", "rollout-giant.jsonl", codex)];
    for (name, file, line) in programs {
        let dir = tempfile::tempdir().unwrap();
        let count = write(&dir.path().join(file), line);
        let small = file.replace("giant", SMALL).replace("rollout-", "");
        fs::write(dir.path().join(small), line(1, "Hello.") + "\n").unwrap();
        check_all(dir.path(), name, count);
    }
}
