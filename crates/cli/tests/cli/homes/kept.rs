//! Nothing is taken away from a home, and nothing goes to another place than the one that was named.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::User;

const NEWER_ROLE: &str = "{\"role\":\"developer\",\"content\":\"of a newer program\"}\n";

#[test]
fn a_message_of_an_unknown_role_stays_in_its_session() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    user.ok("append c", r#"{"role":"user","content":"one"}"#);
    let log = ".codelia/sessions/messages/c.jsonl";
    let whole = format!("{}{NEWER_ROLE}", user.read(log));
    user.write(log, &whole);
    user.ok("append c", r#"{"role":"user","content":"three"}"#);
    for words in ["check c", "check ~/.codelia", "check ~/.codelia/sessions/messages/c.jsonl"] {
        let checked = user.run(words, "");
        assert_eq!(checked.code, Some(0), "{words}: {checked:?}");
        let warnings: Vec<&str> = checked.out.lines().collect();
        assert_eq!(warnings.len(), 1, "{words}: {checked:?}");
        assert!(warnings[0].contains("unknown role \"developer\""), "{words}: {checked:?}");
    }
    // Damage beside it is repaired, and the message stays.
    user.write(log, &format!("{}torn {{\"ro\n", user.read(log)));
    user.ok("repair c", "");
    assert!(user.read(log).starts_with(&whole), "{}", user.read(log));
    assert!(!user.read(log).contains("torn"));
    assert!(user.ok("show c", "").contains("of a newer program"));
}

#[test]
fn a_finding_names_the_index_by_its_own_path() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    let log = ".codelia/sessions/messages/c.jsonl";
    user.write(log, "{\"role\":\"user\",\"content\":\"one\"}\n");
    let index = user.path(".codelia/sessions/state.db");
    for words in ["check c", "check ~/.codelia", "check ~/.codelia/sessions/messages/c.jsonl"] {
        let found = user.run(words, "").out;
        assert!(found.starts_with(index.to_str().unwrap()), "{words}: {found}");
        assert!(found.contains("stale-index"), "{words}: {found}");
    }
}

#[test]
fn a_message_with_a_wrong_field_stays_and_stays_a_finding() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    let log = ".codelia/sessions/messages/c.jsonl";
    user.write(
        log,
        "{\"role\":\"user\",\"content\":{\"a\":1}}\n{\"role\":\"user\",\"content\":\"x\"}\n",
    );
    let mut seen = Vec::new();
    for words in ["check c", "check ~/.codelia", "check ~/.codelia/sessions/messages/c.jsonl"] {
        let checked = user.run(words, "");
        assert_eq!(checked.code, Some(3), "{words}: {checked:?}");
        seen.push(checked.out.lines().filter(|line| line.contains("bad-record")).count());
    }
    assert_eq!(seen, [1, 1, 1]);
    let before = user.read(log);
    for _ in 0..2 {
        user.run("repair c", "");
        assert_eq!(user.read(log), before);
    }
    let second = user.ok("repair c --dry-run", "");
    assert_eq!(second, "", "nothing is left to do");
}

#[test]
fn a_message_without_is_observation_gets_it() {
    let user = User::new();
    let id = user.ok("new linggen", "");
    let id = id.trim();
    user.ok(&format!("append {id}"), r#"{"content":"one"}"#);
    let dir = format!(
        ".linggen/projects/{}/sessions/{id}",
        user.path("").to_str().unwrap().trim_end_matches('/').replace('/', "-")
    );
    let log = format!("{dir}/messages.jsonl");
    let first = user.read(&log);
    let plain = r#"{"agent_id":"ling","from_id":"user","to_id":"ling","content":"two","timestamp":1700000000}"#;
    let other = r#"{"agent_id":"ling","content":"three","newer":true}"#;
    user.write(&log, &format!("{first}{plain}\n{other}\n"));
    for words in [format!("check {id}"), format!("check ~/{log}"), "check ~/.linggen".to_owned()] {
        let checked = user.run(&words, "");
        assert_eq!(checked.code, Some(3), "{words}: {checked:?}");
        let count = checked.out.lines().filter(|line| line.contains("bad-record")).count();
        assert_eq!(count, 2, "{words}: {checked:?}");
    }
    user.run(&format!("repair {id}"), "");
    let fixed = format!("{},\"is_observation\":false}}", plain.trim_end_matches('}'));
    assert_eq!(user.read(&log), format!("{first}{fixed}\n{other}\n"));
    user.ok(&format!("repair {id} --undo"), "");
    assert_eq!(user.read(&log), format!("{first}{plain}\n{other}\n"));
}

#[test]
fn latest_is_the_session_that_was_changed_last() {
    let user = User::new();
    let at = |second: u32, words: &str, input: &str| {
        let mut command = user.command_in(&user.path(""), words);
        command.env("EVERTURN_NOW", format!("2026-01-01T10:00:{second:02}Z"));
        let answer = super::answer(command, input);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        answer.out
    };
    let first = at(1, "new linggen", "");
    let second = at(2, "new linggen", "");
    at(3, &format!("append {}", first.trim()), r#"{"content":"to the first"}"#);
    let listed = at(4, "ls", "");
    assert!(listed.lines().next().unwrap().contains(first.trim()), "{listed}");
    assert!(at(4, "show latest", "").contains("to the first"));
    at(5, "append latest", r#"{"content":"again"}"#);
    assert!(at(6, &format!("show {}", first.trim()), "").contains("again"));
    assert!(!at(6, &format!("show {}", second.trim()), "").contains("again"));
}

#[test]
fn a_command_of_one_home_refuses_the_layout_of_another() {
    let user = User::new();
    user.ok("new linggen", "");
    user.ok("mission set watch", "");
    for words in [
        "permissions allow Bash --layout codelia",
        "linggen permissions allow Bash --layout codelia",
        "permissions list --layout codelia",
        "project list --layout codelia",
        "plan list --layout codelia",
        "plan list --layout game",
        "mission list --layout codelia",
        "linggen mission clear --layout codelia",
    ] {
        let answer = user.run(words, "");
        assert_eq!((answer.code, answer.out.as_str()), (Some(1), ""), "{words}: {answer:?}");
        assert!(answer.err.contains("linggen"), "{words}: {answer:?}");
    }
    assert!(!user.path(".linggen/permissions.json").exists());
    assert!(user.ok("linggen mission list --layout linggen", "").contains("watch"));
}

#[test]
fn check_looks_at_the_layout_that_was_named() {
    let user = User::new();
    user.ok("new linggen", "");
    user.ok("new codelia --id c", "");
    user.write(".codelia/sessions/messages/c.jsonl", "noise\n");
    let linggen = user.run("check --layout linggen", "");
    assert_eq!(linggen.code, Some(0), "{linggen:?}");
    let codelia = user.run("check --layout codelia", "");
    assert_eq!(codelia.code, Some(3), "{codelia:?}");
    // A path that is not of that layout is not checked as if it were.
    let other = user.run("check ~/.codelia --layout linggen", "");
    assert_eq!(other.code, Some(1), "{other:?}");
}

#[test]
fn the_root_of_everturn_does_not_redirect_the_homes_of_agents() {
    let mut user = User::new();
    user.variables.push(("EVERTURN_ROOT", user.path("data").to_str().unwrap().to_owned()));
    user.ok("credentials set openai --layout codelia", "sk-0123456789abcdefghij");
    assert!(user.path(".codelia/auth.json").is_file());
    user.ok("config set model.name gpt-5 --layout codelia", "");
    assert!(user.path(".codelia/config.json").is_file());
    user.ok("new codelia --id c", "");
    assert!(user.path(".codelia/sessions/messages/c.jsonl").is_file());
    user.variables.push(("LINGGEN_HOME", user.path("ling").to_str().unwrap().to_owned()));
    let id = user.ok("new linggen", "");
    assert!(user.path("ling/projects").is_dir());
    user.ok("mission set watch", "");
    user.ok("new game --id g", "");
    assert!(user.path("data/sessions").is_dir() && !user.path("data/projects").exists());
    for words in [
        "ls --layout codelia",
        "ls --layout linggen",
        "ls",
        "check",
        "check --layout codelia",
        "show c --layout codelia",
    ] {
        user.ok(words, "");
    }
    assert!(user.ok("ls", "").contains("g"));
    assert!(user.ok("ls --layout linggen", "").contains(id.trim()));
    // The option does.
    user.ok("new codelia --id d --root ~/other", "");
    assert!(user.path("other/sessions/messages/d.jsonl").is_file());
    user.ok("credentials set openai --layout codelia --root ~/other", "sk-0123456789abcdefghij");
    assert!(user.path("other/auth.json").is_file());
}

#[test]
fn nothing_is_written_through_a_linked_workspace_directory() {
    let user = User::new();
    let (elsewhere, project) = (user.dir("elsewhere"), user.dir("project"));
    for name in [".linggen", ".codelia"] {
        symlink(&elsewhere, project.join(name)).unwrap();
    }
    for words in [
        "linggen permissions allow Bash",
        "config set permissions.allow [] --layout codelia --scope project",
    ] {
        let refused = user.run_in(&project, words, "");
        assert_eq!(refused.code, Some(1), "{words}: {refused:?}");
        assert!(refused.err.contains("link"), "{words}: {refused:?}");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_configuration_that_is_a_link_is_read() {
    let user = User::new();
    user.write("dotfiles/codelia.json", "{\"version\":1,\"model\":{\"name\":\"linked\"}}");
    user.dir(".codelia");
    symlink(user.path("dotfiles/codelia.json"), user.path(".codelia/config.json")).unwrap();
    assert_eq!(user.ok("config get model.name --layout codelia", ""), "linked\n");
    let set = user.run("config set model.name other --layout codelia", "");
    assert_eq!(set.code, Some(1), "{set:?}");
    assert!(set.err.contains("dotfiles/codelia.json"), "{set:?}");
    assert!(user.read("dotfiles/codelia.json").contains("linked"));
}

#[test]
fn a_rehomed_project_has_one_active_mission_and_leaves_nothing_behind() {
    let user = User::new();
    for (second, project) in [(1, "p1"), (3, "p2")] {
        user.dir(project);
        for (more, words) in
            [(0, "new linggen".to_owned()), (1, format!("mission set of-{project}"))]
        {
            let mut command = user.command_in(&user.path(project), &words);
            command.env("EVERTURN_NOW", format!("2026-01-01T10:00:0{}Z", second + more));
            assert_eq!(super::answer(command, "").code, Some(0), "{words}");
        }
    }
    user.ok("linggen project rehome ~/p1 ~/p2", "");
    let missions = user.ok_in("p2", "mission list --json", "");
    assert_eq!(missions.matches("\"active\":true").count(), 1, "{missions}");
    assert!(missions.contains("of-p1") && missions.contains("of-p2"), "{missions}");
    let active = missions.lines().find(|line| line.contains("\"active\":true")).unwrap();
    assert!(active.contains("of-p2"), "{missions}");
    let projects = user.ok("linggen project list", "");
    assert_eq!(projects.lines().count(), 1, "{projects}");
    let checked = user.run("check ~/.linggen", "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(user.ok("ls --layout linggen", "").lines().count(), 2);
}

#[test]
fn what_trash_prints_puts_the_session_back() {
    let user = User::new();
    let id = user.ok("new linggen", "");
    let id = id.trim();
    user.ok("new codelia --id c", "");
    for (id, layout) in [(id, ""), ("c", ""), (id, " --layout linggen"), ("c", " --layout codelia")]
    {
        let trashed = user.run(&format!("trash {id}{layout}"), "");
        assert_eq!(trashed.code, Some(0), "{trashed:?}");
        let (_, words) = trashed.err.split_once("undo with: everturn ").unwrap();
        user.ok(words.trim(), "");
        assert!(user.ok("ls", "").contains(id));
    }
}

/// Another program holds the index for a while: `trash` and `restore` wait as long as they are asked to, and change
/// nothing if that is not enough.
#[test]
fn trash_and_restore_wait_for_a_locked_index() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    let database = user.path(".codelia/sessions/state.db");
    let hold = |time: Duration| {
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        thread::spawn(move || {
            thread::sleep(time);
            connection.execute_batch("ROLLBACK").unwrap();
        })
    };
    for words in ["trash c", "restore c"] {
        let holder = hold(Duration::from_secs(3));
        let start = Instant::now();
        let refused = user.run(&format!("{words} --wait 0"), "");
        assert_eq!(refused.code, Some(5), "{words}: {refused:?}");
        assert!(start.elapsed() < Duration::from_secs(2), "{words} waited {:?}", start.elapsed());
        assert_eq!(user.ok("ls", "").contains("codelia"), words == "trash c", "{words}");
        let waited = user.run(&format!("{words} --wait 30"), "");
        assert_eq!(waited.code, Some(0), "{words}: {waited:?}");
        assert!(!waited.err.contains("failed"), "{words}: {waited:?}");
        holder.join().unwrap();
    }
    assert_eq!(user.run("check ~/.codelia", "").code, Some(0));
}

/// A program that saves as Codelia does: it writes a whole file beside the log, and renames it.
#[test]
fn an_append_beside_a_program_that_replaces_the_log_tries_again() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    user.ok("append c", r#"{"role":"user","content":"first"}"#);
    let log = user.path(".codelia/sessions/messages/c.jsonl");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u64;
            while !done.load(Ordering::Relaxed) {
                number += 1;
                let text = fs::read_to_string(&log).unwrap();
                let temporary = log.with_extension(format!("{number}.tmp"));
                let more = format!("{{\"role\":\"assistant\",\"content\":\"f{number}\"}}\n");
                fs::write(&temporary, text + &more).unwrap();
                fs::rename(&temporary, &log).unwrap();
                thread::sleep(Duration::from_micros(700));
            }
        });
        for number in 0..25 {
            let message = format!("{{\"role\":\"user\",\"content\":\"m{number}\"}}");
            let answer = user.run("append c", &message);
            if answer.code != Some(0) {
                done.store(true, Ordering::Relaxed);
                panic!("{number}: {answer:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
