//! The smaller parts of both homes: titles, missions, logs, the daemon, tool outputs, state files, completions.

use super::User;

#[test]
fn the_last_change_counts_within_one_second_too() {
    let user = User::new();
    let sessions: Vec<String> =
        (0..3).map(|_| user.ok("new linggen", "").trim().to_owned()).collect();
    // The messages have whole seconds, and all of these commands take less than one or two.
    for turn in 0..6 {
        let meant = &sessions[[2, 0, 1, 0, 2, 1][turn]];
        user.ok(&format!("append {meant}"), &format!(r#"{{"content":"turn {turn}"}}"#));
        let listed = user.ok("ls", "");
        assert!(listed.starts_with(meant.as_str()), "turn {turn}: {meant}\n{listed}");
        let shown = user.ok("show latest", "");
        assert!(shown.contains(&format!("turn {turn}")), "turn {turn}: {shown}");
    }
    let new = user.ok("new linggen", "");
    let listed = user.ok("ls", "");
    assert!(listed.starts_with(new.trim()), "{new}{listed}");
}

#[test]
fn a_project_is_an_existing_directory() {
    let user = User::new();
    for words in [
        "new linggen --project /nowhere/at/all",
        "mission set Watch --project /nowhere/at/all",
        "linggen workspace list --project /nowhere/at/all",
    ] {
        let refused = user.run(words, "");
        assert_eq!(refused.code, Some(1), "{words}: {refused:?}");
        assert!(refused.err.contains("there is no directory"), "{refused:?}");
    }
    assert!(!user.path(".linggen/projects").exists());
}

#[test]
fn titles_are_set_when_a_session_is_made_and_later() {
    let user = User::new();
    let id = user.ok("new linggen --title First", "");
    let id = id.trim();
    assert!(user.ok("ls", "").contains("First"));
    user.ok(&format!("edit {id} --title Second"), "");
    assert!(user.ok("ls", "").contains("Second"));
    user.ok("new codelia --id c", "");
    for words in ["new codelia --title No", "edit c --title No"] {
        let refused = user.run(words, "");
        assert_eq!(refused.code, Some(1), "{words}: {refused:?}");
    }
    assert_eq!(user.run(&format!("edit {id} 1 --title Both"), "").code, Some(2));
}

#[test]
fn missions_of_both_forms_are_shown() {
    let user = User::new();
    user.ok("linggen mission set Watch --agent ling:60:Look", "");
    let file = std::fs::read_dir(user.path(".linggen/projects")).unwrap().next().unwrap().unwrap();
    let file = std::fs::read_dir(file.path().join("missions")).unwrap().next().unwrap().unwrap();
    let name = file.file_name().into_string().unwrap();
    let id = name.strip_suffix(".json").unwrap();
    let shown = user.ok(&format!("linggen mission show {id}"), "");
    assert!(shown.contains("Watch") && shown.contains("agent ling, 60 s: Look"), "{shown}");
    let mission = "---\nschedule: 0 3 * * *\nenabled: true\n---\nClean up\n";
    user.write(".linggen/missions/nightly/mission.md", mission);
    user.write(".linggen/missions/nightly/runs.jsonl", "{\"run_id\":\"r1\"}\n");
    assert!(user.ok("linggen mission list", "").contains("nightly: Clean up"));
    let shown = user.ok("linggen mission show nightly", "");
    assert!(shown.contains("Clean up") && shown.contains("\"r1\""), "{shown}");
    assert_eq!(user.run("linggen mission show nothing", "").code, Some(1));
}

#[test]
fn logs_are_written_and_read() {
    let user = User::new();
    assert_eq!(user.ok("codelia log list", ""), "");
    assert_eq!(user.run("codelia log show", "").code, Some(1));
    user.ok("codelia log add", "one");
    user.ok("codelia log add", "two\n");
    assert_eq!(user.ok("codelia log show", ""), "one\ntwo\n");
    assert_eq!(user.ok("codelia log list", ""), "codelia.log  8 bytes\n");
    assert_eq!(user.run("codelia log add ../../evil", "x").code, Some(1));
    let path = user.ok("linggen log add", "INFO one");
    let again = user.ok("linggen log add", "INFO two");
    assert_eq!(path, again);
    assert_eq!(user.ok("linggen log show", ""), "INFO one\nINFO two\n");
}

#[test]
fn the_daemon_is_recorded_and_forgotten() {
    let user = User::new();
    user.ok("linggen daemon record 1", "");
    assert_eq!(user.read(".linggen/ling.pid"), "1");
    assert_eq!(user.ok("linggen daemon", ""), "stale  1\n", "process 1 is not Linggen");
    user.write(".linggen/ling.log", "listening\n");
    assert_eq!(user.ok("linggen daemon log", ""), "listening\n");
    user.ok("linggen daemon record 2", "");
    assert_eq!(user.read(".linggen/ling.log"), "listening\n", "its output stays");
    user.ok("linggen daemon forget", "");
    assert_eq!(user.ok("linggen daemon", ""), "stopped\n");
    assert_eq!(user.run("linggen daemon record 0", "").code, Some(2));
}

#[test]
fn limits_of_outputs_come_from_options_variables_and_settings() {
    let mut user = User::new();
    assert_eq!(user.ok("codelia output add call/1", "abcdefgh\nijklmnop\n"), "call_1\n");
    let shown = |user: &User, more: &str| user.ok(&format!("codelia output show call_1{more}"), "");
    assert_eq!(shown(&user, ""), "1: abcdefgh\n2: ijklmnop\n");
    user.ok("config set tool_output_cache.max_line_length 5 --layout codelia", "");
    assert_eq!(shown(&user, ""), "1: abcde…\n2: ijklm…\n");
    user.variables.push(("CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH", "3".to_owned()));
    assert_eq!(shown(&user, ""), "1: abc…\n2: ijk…\n");
    assert_eq!(shown(&user, " --chars 4"), "1: abcd…\n2: ijkl…\n");
    user.variables.push(("CODELIA_TOOL_OUTPUT_CACHE_MAX_READ_BYTES", "4".to_owned()));
    assert_eq!(shown(&user, ""), "1: abc…\n");
    assert_eq!(user.ok("codelia output grep call_1 i", ""), "2: ijk…\n");
    user.variables.push(("CODELIA_TOOL_OUTPUT_CACHE_MAX_GREP_BYTES", "x".to_owned()));
    assert_eq!(user.ok("codelia output grep call_1 i", ""), "2: ijk…\n", "as without it");
}

#[test]
fn state_files_of_a_workspace_are_listed_written_and_removed() {
    let user = User::new();
    user.dir("site");
    let set = |name: &str, text: &str| {
        user.run(&format!("linggen workspace set {name} --project site"), text)
    };
    assert_eq!(user.ok("linggen workspace list --project site", ""), "");
    let task = "---\ntype: pm_task\nid: 7\n---\n\nShip it\n";
    assert_eq!(set("task-7", task).code, Some(0));
    assert_eq!(user.read("site/.linggen/workspace/task-7.md"), task);
    let listed = user.ok("linggen workspace list --project site", "");
    assert_eq!(listed, "pm_task       task-7  Ship it\n");
    assert_eq!(user.ok("linggen workspace show task-7 --project site", ""), task);
    for (name, text) in [("../up", task), ("a/b", task), ("x", "no front matter")] {
        assert_eq!(set(name, text).code, Some(1), "{name}");
    }
    user.ok("linggen workspace remove task-7 --project site", "");
    assert_eq!(user.run("linggen workspace remove task-7 --project site", "").code, Some(1));
    assert!(!user.path("site/.linggen/.everturn").exists());
}

#[test]
fn completions_know_what_the_homes_hold() {
    let mut user = User::new();
    let spec =
        |name: &str| format!("---\nname: {name}\ndescription: d\ntools: [Read]\n---\nText\n");
    user.ok("linggen agent add", &spec("ling"));
    user.ok("linggen skill add", &spec("review"));
    user.ok("linggen plan new Refactor Read", "");
    user.ok("linggen mission set Watch", "");
    user.ok("codelia output add call_1", "x");
    user.ok("new codelia --id c", "");
    let run = user.ok("codelia run begin --session c", "");
    let linggen_run = user.ok("linggen run begin --agent ling", "");
    user.variables.push(("EVERTURN_COMPLETE", "fish".to_owned()));
    for (words, expect) in [
        ("linggen agent show l", "ling"),
        ("linggen skill show r", "review"),
        ("linggen plan show r", "refactor"),
        ("linggen mission show 1", "1"),
        ("codelia output show c", "call_1"),
        ("codelia run show r", run.trim()),
        ("linggen run show r", linggen_run.trim()),
        ("config get --layout codelia model.n", "model.name"),
    ] {
        let offered = user.ok(&format!("-- everturn {words}"), "");
        let starts = offered.lines().any(|line| line.starts_with(expect));
        assert!(starts, "{words}: {offered}");
    }
}
