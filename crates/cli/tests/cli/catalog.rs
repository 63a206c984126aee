//! The catalog with real processes: killed while indexing, in parallel, over huge sessions, and without a writable
//! cache.
//!
//! `EVERTURN_LARGE_MB=2000 cargo test --release -p everturn-cli --test cli catalog` enlarges the huge session.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files as anybody would")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::everturn::{command, run};

/// The memory limit of the binary, in kilobytes.
const MEMORY_KB: u64 = 256 * 1024;

/// Creates a log in a Codelia home with this many messages of this many words.
fn log(root: &Path, id: &str, messages: usize, words: usize) {
    let dir = root.join("sessions/messages");
    fs::create_dir_all(&dir).unwrap();
    let mut file =
        std::io::BufWriter::new(fs::File::create(dir.join(format!("{id}.jsonl"))).unwrap());
    for number in 0..messages {
        let mut text = format!("message{number} of {id}");
        for word in 0..words {
            text.push_str(&format!(" w{}", (number * 7919 + word * 104_729) % 50_021));
        }
        writeln!(file, r#"{{"role":"user","content":"{text}"}}"#).unwrap();
    }
}

/// Returns the binary with a root and a cache of its own.
fn everturn(root: &Path, words: &[&str]) -> Command {
    let mut everturn = command(root);
    everturn.env("EVERTURN_ROOT", root).args(words);
    everturn
}

/// Returns the output of a search, which must succeed.
fn search(root: &Path, words: &[&str]) -> (String, String) {
    let words: Vec<&str> =
        ["search", "--json", "--sort", "date"].iter().chain(words).copied().collect();
    let done = run(everturn(root, &words), "");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(done.stderr));
    (text(done.stdout), text(done.stderr))
}

#[test]
fn a_search_that_is_killed_while_it_indexes_harms_nothing() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    for number in 0..40 {
        log(root, &format!("s{number:02}"), 200, 40);
    }
    let queries: [&[&str]; 3] =
        [&["message7"], &["w0", "--limit", "1000"], &["s17", "--limit", "1000"]];
    let expect: Vec<String> = queries.iter().map(|query| search(root, query).0).collect();
    assert!(expect.iter().all(|found| !found.is_empty()));
    let mut kills = 0;
    let mut pause = Duration::from_millis(5);
    for round in 0..24_u32 {
        if round % 6 == 0 {
            // A process that was killed early has created nothing yet.
            fs::remove_dir_all(root.join("cache")).ok();
        }
        // Each round adds something new, so that there is work to do.
        log(root, &format!("t{:02}", round % 3), 100 + usize::try_from(round).unwrap(), 40);
        let mut child = everturn(root, &["search", "message7"]).spawn().unwrap();
        thread::sleep(pause);
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        pause = if pause > Duration::from_millis(700) {
            Duration::from_millis(7)
        } else {
            pause * 3 / 2
        };
    }
    for number in 0..3 {
        fs::remove_file(root.join(format!("sessions/messages/t{number:02}.jsonl"))).unwrap();
    }
    for (query, expect) in queries.iter().zip(&expect) {
        let (found, said) = search(root, query);
        assert_eq!(&found, expect, "{query:?}");
        assert_eq!(
            said.replace("results are limited to 20; show more with --limit\n", ""),
            "",
            "{query:?}"
        );
    }
    println!("kill suite of the catalog: {kills} kills");
    assert!(kills > 8, "hardly any search was killed: {kills}");
}

#[test]
fn searches_side_by_side_all_answer() {
    let place = tempfile::tempdir().unwrap();
    for number in 0..10 {
        log(place.path(), &format!("s{number}"), 100, 40);
    }
    let found: Vec<String> = thread::scope(|scope| {
        let one = || search(place.path(), &["message7"]).0;
        let all: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    // A search while another process indexes may find less, but never anything else.
    let last = search(place.path(), &["message7"]).0;
    assert_eq!(last.lines().count(), 10);
    for one in found {
        assert!(one.lines().all(|line| last.contains(line.split("\"score\"").next().unwrap())));
    }
}

/// Runs the binary; returns its peak memory in kilobytes, its output and the time.
fn measured(root: &Path, words: &[&str]) -> (u64, String, Duration) {
    let script = "import os, resource, subprocess, sys\n\
        done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n\
        sys.stdout.buffer.write(done.stdout)\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.returncode)";
    let mut python = Command::new("python3");
    python.args(["-c", script, env!("CARGO_BIN_EXE_everturn")]).args(words);
    python.env_clear().env("EVERTURN_ROOT", root).stdin(Stdio::null());
    let start = Instant::now();
    let done = python.output().unwrap();
    let out = String::from_utf8(done.stdout).unwrap();
    let (printed, last) = out.trim_end().rsplit_once('\n').unwrap_or(("", out.trim_end()));
    let (memory, code) = last.split_once(' ').unwrap();
    assert_eq!(code, "0", "{}", String::from_utf8_lossy(&done.stderr));
    (memory.parse().unwrap(), printed.to_owned(), start.elapsed())
}

#[test]
fn a_giant_among_small_sessions_is_indexed_last_and_in_little_memory() {
    let place = tempfile::tempdir().unwrap();
    let megabytes: usize =
        std::env::var("EVERTURN_LARGE_MB").map_or(200, |text| text.parse().unwrap());
    let small = 1000;
    for number in 0..small {
        log(place.path(), &format!("small{number:04}"), 4, 20);
    }
    let (_, listed, alone) = measured(place.path(), &["ls", "--json"]);
    assert_eq!(listed.lines().count(), small);
    // About 60 kilobytes per message.
    log(place.path(), "giant", megabytes * 16, 10_000);
    // The index is still empty; a search of the small sessions does not wait.
    let mut child = everturn(place.path(), &["search", "nothing"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let committed = || {
        let names = fs::read_dir(place.path().join("cache/catalog")).into_iter().flatten();
        names.flatten().any(|name| name.file_name().to_string_lossy().starts_with("ledger-"))
    };
    while !committed() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(300));
    let (found, _) = search(place.path(), &["message3", "small0007", "--no-update"]);
    assert!(found.contains("\"ref\":\"small0007#4\""), "{found}");
    assert!(child.try_wait().unwrap().is_none(), "the giant was done before anybody could ask");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (memory, found, _) = measured(place.path(), &["search", "message3", "giant", "--json"]);
    assert!(found.contains("\"ref\":\"giant#4\""), "{found}");
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    let (building, _, took) = measured(place.path(), &["search", "nothing", "--json"]);
    let (_, listed, beside) = measured(place.path(), &["ls", "--json"]);
    assert_eq!(listed.lines().count(), small + 1);
    println!(
        "giant of {megabytes} MB: indexed in {took:?} with {building} kB, asked with {memory} kB, ls {alone:?} and {beside:?}"
    );
    assert!(building < MEMORY_KB && memory < MEMORY_KB, "{building} kB, {memory} kB");
}

#[test]
fn where_nothing_can_be_kept_everything_works_and_says_so() {
    let place = tempfile::tempdir().unwrap();
    log(place.path(), "one", 3, 5);
    // A file in place of the directory, because the tests may run as a user who can write anywhere.
    fs::write(place.path().join("cache"), "in the way").unwrap();
    // Very recent changes are not cached anyway.
    thread::sleep(Duration::from_millis(3100));
    let (found, said) = search(place.path(), &["message2"]);
    assert!(found.contains("\"ref\":\"one#3\""), "{found}");
    assert!(said.contains("the index cannot be updated: "), "{said}");
    let listed = run(everturn(place.path(), &["ls", "--json"]), "");
    assert_eq!(listed.status.code(), Some(0));
    let said = String::from_utf8(listed.stderr).unwrap();
    assert!(said.starts_with("the list of sessions cannot be saved: "), "{said}");
}

/// Collects all bytes of all files below a directory.
fn all_bytes(dir: &Path, into: &mut Vec<u8>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_bytes(&path, into);
        } else {
            into.extend(fs::read(path).unwrap());
        }
    }
}

#[test]
fn t13_a_scrub_leaves_no_byte_of_a_secret_in_the_root_or_the_search_index() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let token = format!("gsk_{}", "aB3dE5gH7jK9mN1p".repeat(4).get(..52).unwrap());
    let done = |words: &[&str], input: &str| {
        let done = run(everturn(root, words), input);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    };
    done(&["new", "game", "--id", "session-one", "--name", &token], "");
    let turn = format!(r#"{{"actor":"gm","narration":"The key is {token}, keep it."}}"#);
    done(&["append", "session-one"], &turn);
    let holds = |dir: &Path| {
        let mut bytes = Vec::new();
        all_bytes(dir, &mut bytes);
        bytes.windows(token.len()).any(|window| window == token.as_bytes())
    };
    // Very recent changes are not considered stable, so they would not be cached.
    thread::sleep(Duration::from_millis(3100));
    assert!(search(root, &["keep"]).0.contains("session-one"));
    let cache = root.join("cache");
    assert!(holds(&cache), "the catalog knows the title");
    done(&["scrub", "session-one", "--yes", "--purge"], "");
    assert!(!holds(root), "something is left");
    // The index is rebuilt from the present sessions.
    assert!(search(root, &["keep"]).0.contains("session-one"));
    assert!(!holds(root));
}
