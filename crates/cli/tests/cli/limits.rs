//! The binary with few system resources: few open files, and a full disk.
#![expect(clippy::disallowed_methods, reason = "the test looks at the files that were written")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::everturn::{command, run};

/// Runs a script in which `everturn` is the binary, through another program if one is given.
fn shell(dir: &Path, program: &[&str], script: &str, input: &str) -> Output {
    let everturn = env!("CARGO_BIN_EXE_everturn");
    let script = format!("everturn() {{ {everturn} \"$@\"; }}\n{script}");
    let mut shell = Command::new("env");
    shell.args(program).args(["sh", "-e", "-c", &script]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    shell.current_dir(dir).env_clear().env("PATH", path).env("HOME", dir);
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    run(shell, input)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns a batch that appends to some files and replaces others.
fn batch(files: usize) -> String {
    let step = |number: usize| match number % 3 {
        0 => json!({"append": {"file": format!("s/{number}.jsonl"), "lines": [{"n": number}]}}),
        1 => json!({"replace": {"file": format!("s/{number}.json"), "text": "{}"}}),
        // Large enough to be staged beside the log.
        _ => json!({"replace": {"file": format!("s/{number}.json"), "text": "x".repeat(70_000)}}),
    };
    let steps: Vec<Value> = (0..files).map(step).collect();
    format!("{}\n", json!({"steps": steps}))
}

#[test]
fn a_batch_of_a_thousand_files_needs_few_open_files() {
    for limit in [256, 64] {
        let dir = tempfile::tempdir().unwrap();
        let script = format!("ulimit -n {limit}; everturn commit --root r s");
        // Created, then changed.
        let output = shell(dir.path(), &[], &script, &batch(1000).repeat(2));
        assert_eq!(stderr(&output), "", "{limit}");
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(fs::read_dir(dir.path().join("r/s")).unwrap().count(), 1000);
        let appended = fs::read_to_string(dir.path().join("r/s/999.jsonl")).unwrap();
        assert_eq!(appended, "{\"n\":999}\n{\"n\":999}\n");
    }
}

/// On a separate disk, fills the remaining space and then runs commands that should free some.
const FULL: &str = r#"
mount -t tmpfs -o size=6m none mnt
in_root() { everturn "$@" --root mnt/root; }
in_root new game --id g --name Vex
in_root new campaign --id c --party a
in_root new codelia --id d
in_root new linggen --id l
in_root new chatlog --id t --name S
for session in g c d l t; do in_root show $session > /dev/null; done
echo '{"role":"user","content":"hello"}' | in_root append d
echo hello | in_root append t --type npc --name L
fill() { cat /dev/zero > mnt/fill || true; cat /dev/zero >> mnt/fill2 || true; }
for session in g c d l t; do
    fill 2> /dev/null
    echo "trash $session"; in_root trash $session
    fill 2> /dev/null
    echo "restore $session"; in_root restore $session
    fill 2> /dev/null
    echo "trash $session again"; in_root trash $session
    fill 2> /dev/null
    echo "purge $session"; in_root purge $session --yes
done
echo "all done"
"#;

#[test]
fn on_a_full_disk_sessions_are_trashed_restored_and_purged() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mnt")).unwrap();
    let namespaces: [&[&str]; 2] = [&["unshare", "-m"], &["unshare", "-r", "-m"]];
    let may_mount = |program: &&[&str]| {
        let mounted = shell(dir.path(), program, "mount -t tmpfs none mnt", "");
        mounted.status.success()
    };
    let Some(program) = namespaces.into_iter().find(may_mount) else {
        eprintln!("skipped: this user may not mount a file system");
        return;
    };
    let output = shell(dir.path(), program, FULL, "");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}\n{}", stderr(&output));
    assert!(told.ends_with("all done\n"), "{told}");
}

/// On a file system whose blocks are smaller than a page of memory, at every amount of free space, uses a home of Codelia.
/// There SQLite cannot allocate all of the file that it maps into memory, and a write to it would be fatal.
const SMALL_BLOCKS: &str = r#"
export HOME="$PWD/mnt"
everturn new codelia --id d
echo '{"role":"user","content":"hello"}' | everturn append d > /dev/null
for free in $(seq 0 24); do
    for words in "append d" "show d" "ls" "trash d" "restore d"; do
        rm -f mnt/fill
        rm -f mnt/.codelia/sessions/state.db-shm
        sync
        blocks=$(( $(stat -f -c %a mnt) - free ))
        dd if=/dev/zero of=mnt/fill bs=1024 count=$blocks 2> /dev/null
        sync
        status=0
        echo '{"role":"user","content":"hello"}' | everturn $words > out 2> err || status=$?
        if [ $status -gt 5 ]; then echo "$words with $free free blocks: exit $status"; cat err; exit 1; fi
    done
done
rm -f mnt/fill
everturn check "$HOME/.codelia"
echo "all done"
"#;

#[test]
fn on_a_full_disk_of_small_blocks_no_command_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mnt")).unwrap();
    let image = "truncate -s 8m image && mkfs.ext4 -q -b 1024 -O ^has_journal image && mount -o loop image mnt";
    if !shell(dir.path(), &["unshare", "-m"], image, "").status.success() {
        eprintln!("skipped: this user may not mount an image of a file system");
        return;
    }
    let script = format!("mount -o loop image mnt\n{SMALL_BLOCKS}");
    let output = shell(dir.path(), &["unshare", "-m"], &script, "");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.ends_with("all done\n"), "{told}\n{}", stderr(&output));
}

/// A copy of a home whose index has changes in its log, on a read-only disk.
const READ_ONLY: &str = r#"
mkdir ro
mount --bind backup ro
mount -o remount,ro,bind ro
everturn ls --root ro --layout codelia
everturn check ro
"#;

#[test]
fn a_home_on_a_read_only_disk_is_listed_and_checked_with_the_log_of_its_index() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("mnt")).unwrap();
    if !shell(dir.path(), &["unshare", "-m"], "mount -t tmpfs none mnt", "").status.success() {
        eprintln!("skipped: this user may not mount a file system");
        return;
    }
    let made = shell(dir.path(), &[], "everturn new codelia --id c --root home", "");
    assert!(made.status.success(), "{}", stderr(&made));
    let database = rusqlite::Connection::open(dir.path().join("home/sessions/state.db")).unwrap();
    database.execute_batch("UPDATE session_state SET last_user_message = 'of the log'").unwrap();
    let copy = "mkdir -p backup/sessions; cp -r home/sessions/messages backup/sessions; \
                cp home/sessions/state.db home/sessions/state.db-wal backup/sessions";
    assert!(shell(dir.path(), &[], copy, "").status.success());
    let output = shell(dir.path(), &["unshare", "-m"], READ_ONLY, "");
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}\n{}", stderr(&output));
    assert!(told.contains("of the log"), "{told}\n{}", stderr(&output));
}

#[test]
fn a_check_warns_of_a_file_system_on_which_commits_may_be_lost() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let warned = |options: &str| {
        let table = format!("42 27 7:0 / {} rw - ext4 /dev/none {options}\n", root.display());
        fs::write(root.join("mounts"), table).unwrap();
        let mut check = command(dir.path());
        check.args(["check", "."]).env("EVERTURN_MOUNTINFO", "mounts");
        let output = run(check, "");
        assert_eq!(output.status.code(), Some(0), "a warning is no damage");
        stderr(&output).lines().find_map(|line| line.strip_prefix("warning: ").map(str::to_owned))
    };
    assert_eq!(warned("rw,data=journal"), None);
    let text = format!(
        "{} is ext4 with data=writeback: a power cut can lose committed turns; mount it with data=ordered",
        root.display()
    );
    assert_eq!(warned("rw,data=writeback"), Some(text));
}
