//! Commands for parts of the homes: agents, skills, logs, sessions, the daemon; tool outputs and policies.

use std::io::{BufRead, BufReader, Write};

use super::User;

const SPEC: &str = "---\nname: NAME\ndescription: D\ntools: [Read]\n---\nBody of WHERE\n";

fn spec(name: &str, place: &str) -> String {
    SPEC.replace("NAME", name).replace("WHERE", place)
}

#[test]
fn the_skill_that_counts_is_named_with_its_place() {
    let user = User::new();
    user.dir("project");
    user.write(".linggen/skills/review.md", &spec("review", "home"));
    user.write(".claude/skills/review/SKILL.md", &spec("Review", "claude"));
    user.write("project/.linggen/skills/other.md", &spec("other", "project"));
    let listed = user.ok_in("project", "linggen skill list", "");
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert_eq!(user.ok_in("project", "linggen skill list --all", "").lines().count(), 3);
    let shown = user.run_in(&user.path("project"), "linggen skill show review", "");
    assert!(shown.out.contains("Body of claude"), "{shown:?}");
    assert!(
        shown.err.contains("hides") && shown.err.contains(".linggen/skills/review.md"),
        "{shown:?}"
    );
    assert_eq!(user.run("linggen skill show nothing", "").code, Some(1));
}

#[test]
fn agents_and_their_overrides() {
    let user = User::new();
    user.write(".linggen/agents/ling.md", &spec("ling", "home"));
    user.write("agents/ling.md", &spec("ling", "workspace"));
    assert!(user.ok("linggen agent show Ling", "").contains("Body of workspace"));
    assert!(user.ok("linggen agent list --json", "").contains("\"source\":\"workspace\""));
    user.ok("linggen agent override ling --interval 120", "");
    user.ok("linggen agent override ling --prompt Look", "");
    let home = user.path("");
    let home = home.to_str().unwrap().trim_end_matches('/').replace('/', "-");
    let stored = user.read(&format!(".linggen/projects/{home}/agent_overrides/ling.json"));
    assert!(stored.contains("\"idle_prompt\": \"Look\"") && stored.contains("120"), "{stored}");
    user.ok("linggen agent override ling --remove", "");
    assert_eq!(user.run("linggen agent override ling --remove", "").code, Some(1));
}

#[test]
fn sessions_are_renamed_and_cleared() {
    let user = User::new();
    let id = user.ok("new linggen", "");
    let id = id.trim();
    user.ok(&format!("append {id}"), r#"{"content":"one"}"#);
    user.ok(&format!("linggen session rename {id} Menu"), "");
    assert!(user.ok("ls", "").contains("Menu"));
    user.ok(&format!("linggen session clear {id}"), "");
    assert_eq!(user.ok(&format!("show {id}"), ""), "");
    let found = user.run("scan", "");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn logs_are_shown_and_expire() {
    let user = User::new();
    user.ok("new linggen", "");
    user.write(".linggen/logs/linggen-agent-2020-01-01.log", "old\n");
    user.write(".linggen/logs/linggen-agent.2020-01-09", "\u{1b}[32mINFO\u{1b}[0m new\n");
    assert_eq!(user.ok("linggen log list", "").lines().count(), 2);
    assert_eq!(user.ok("linggen log show", ""), "INFO new\n");
    let at = |words: &str| {
        let mut command = user.command_in(&user.path(""), words);
        command.env("EVERTURN_NOW", "2020-01-09T12:00:00Z");
        super::answer(command, "")
    };
    assert_eq!(at("linggen log expire").out.lines().count(), 1);
    assert_eq!(user.ok("linggen log list", "").lines().count(), 2, "a plan changes nothing");
    at("linggen log expire --yes");
    assert_eq!(user.ok("linggen log list", "").lines().count(), 1);
}

#[test]
fn a_reused_number_is_not_the_daemon() {
    let user = User::new();
    assert_eq!(user.ok("linggen daemon", ""), "stopped\n");
    user.ok("new linggen", "");
    user.write(".linggen/ling.pid", &std::process::id().to_string());
    assert!(user.ok("linggen daemon", "").starts_with("stale"));
    user.write(".linggen/ling.pid", "x");
    assert_eq!(user.ok("linggen daemon", ""), "damaged\n");
}

#[test]
fn agents_and_skills_are_added_and_removed() {
    let user = User::new();
    let added = user.ok("linggen agent add", &spec("Coder", "home"));
    assert!(added.ends_with(".linggen/agents/coder.md\n"), "{added}");
    assert_eq!(user.read(".linggen/agents/coder.md"), spec("Coder", "home"));
    assert_eq!(user.run("linggen agent add", &spec("coder", "again")).code, Some(1));
    for bad in ["no front matter", "---\nname: x\n---\n", &spec("../x", "up"), &spec("a/b", "x")] {
        let refused = user.run("linggen agent add", bad);
        assert_eq!(refused.code, Some(1), "{bad}: {refused:?}");
    }
    assert_eq!(std::fs::read_dir(user.path(".linggen/agents")).unwrap().count(), 1);
    user.write("agents/coder.md", &spec("coder", "workspace"));
    user.ok("linggen agent remove Coder", "");
    assert!(!user.path(".linggen/agents/coder.md").exists());
    assert_eq!(user.run("linggen agent remove coder", "").code, Some(1));
    assert!(user.ok("linggen agent show coder", "").contains("Body of workspace"));
    user.ok("linggen agent add", &spec("coder", "home"));
    let hidden = user.run("linggen skill add", &spec("review", "home"));
    assert_eq!((hidden.code, hidden.err.as_str()), (Some(0), ""));
    // A nested skill leaves with all its files.
    user.write(".linggen/skills/deep/SKILL.md", &spec("deep", "home"));
    user.write(".linggen/skills/deep/data.txt", "x");
    user.ok("linggen skill remove deep", "");
    assert!(!user.path(".linggen/skills/deep").exists());
    assert_eq!(user.ok("linggen skill list", "").lines().count(), 1);
}

#[test]
fn a_log_is_followed_into_the_next_day() {
    let user = User::new();
    user.write(".linggen/logs/linggen-agent.2020-01-09", "one\n");
    let mut command = user.command_in(&user.path(""), "linggen log show --follow");
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    let mut log = std::fs::OpenOptions::new()
        .append(true)
        .open(user.path(".linggen/logs/linggen-agent.2020-01-09"))
        .unwrap();
    writeln!(log, "two").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    user.write(".linggen/logs/linggen-agent.2020-01-10", "\u{1b}[32mthree\u{1b}[0m\n");
    assert_eq!(lines.next().unwrap().unwrap(), "three");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn tool_outputs_are_read_by_their_references() {
    for xdg in [false, true] {
        let mut user = User::new();
        let dir = if xdg { ".cache/codelia/tool-output" } else { ".codelia/cache/tool-output" };
        if xdg {
            user.variables.push(("CODELIA_LAYOUT", "xdg".to_owned()));
        }
        assert_eq!(user.ok("codelia output list", ""), "");
        user.write(&format!("{dir}/call_1.txt"), "first\nsecond error\nthird\n");
        assert_eq!(user.ok("codelia output list", ""), "call_1  25 bytes\n");
        let shown = user.ok("codelia output show call_1 --from 2 --count 1", "");
        assert_eq!(shown, "2: second error\n");
        assert_eq!(user.ok("codelia output grep call_1 error", ""), "2: second error\n");
        let cut = user.ok("codelia output show call_1 --chars 3 --json", "");
        assert!(cut.starts_with("{\"line\":1,\"text\":\"fir\",\"cut\":true}\n"), "{cut}");
        for reference in ["nothing", "../../auth", "a/b", ".."] {
            let refused = user.run(&format!("codelia output show {reference}"), "");
            assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{refused:?}");
        }
    }
}

#[test]
fn policies_of_all_projects_are_listed_and_revoked() {
    let user = User::new();
    user.dir("one");
    assert_eq!(user.ok("codelia policy list", ""), "");
    user.ok("codelia policy set full-access --project one", "");
    user.ok("codelia policy set trusted --default", "");
    let project = user.path("one");
    let project = project.to_str().unwrap();
    assert_eq!(
        user.ok("codelia policy list", ""),
        format!("trusted      (default)\nfull-access  {project}\n")
    );
    assert_eq!(user.ok_in("one", "config get approval_mode --layout codelia", ""), "full-access\n");
    // Also of a project that is no longer there.
    std::fs::remove_dir(user.path("one")).unwrap();
    user.ok(&format!("codelia policy revoke --project {project}"), "");
    user.ok("codelia policy revoke --default", "");
    assert_eq!(user.ok("codelia policy list", ""), "");
    assert_eq!(user.run("codelia policy revoke --default", "").code, Some(1));
    assert_eq!(user.run("codelia policy set yolo", "").code, Some(1));
    assert_eq!(user.run("codelia policy list --layout linggen", "").code, Some(1));
}

#[test]
fn one_rule_is_added_and_removed() {
    let user = User::new();
    // The second rule is not valid, so it permits nothing; it is not for everturn to remove.
    let text = "{\n  \"version\": 1,\n  \"permissions\": {\"allow\": [{\"tool\": \"read\", \"x\": 1.50}, {\"tool\": 5}]},\n  \"other\": 1\n}\n";
    user.write("project/.codelia/config.json", text);
    let rule = r#"{"tool":"bash","command":"ls"}"#;
    let change = |verb: &str| {
        let words = format!("config {verb} permissions.allow {rule} --layout codelia");
        user.run_in(&user.path("project"), &words, "")
    };
    assert_eq!(change("add").code, Some(0));
    let stored = user.read("project/.codelia/config.json");
    for kept in ["\"command\"", "\"other\": 1", "\"x\": 1.50", "{\"tool\": 5}"] {
        assert!(stored.contains(kept), "{stored}");
    }
    assert_eq!(change("add").code, Some(1), "it is there already");
    assert_eq!(change("remove").code, Some(0));
    assert_eq!(user.read("project/.codelia/config.json"), text);
    assert_eq!(change("remove").code, Some(1));
    let word = user.run_in(&user.path("project"), "config add other 2 --layout codelia", "");
    assert_eq!(word.code, Some(1), "{word:?}");
    let linggen = "who = \"x\"\nlist = [\"a\"]\n[[models]]\nid = \"m\"\n";
    user.write(".linggen/config/linggen-agent.runtime.toml", linggen);
    user.ok("config add list b --layout linggen", "");
    assert_eq!(user.ok("config get list --layout linggen", ""), "[\"a\",\"b\"]\n");
    user.ok("config remove list a --layout linggen", "");
    assert_eq!(user.ok("config get list --layout linggen", ""), "[\"b\"]\n");
    assert_eq!(user.run("config add models x --layout linggen", "").code, Some(1));
    assert!(user.read(".linggen/config/linggen-agent.runtime.toml").contains("[[models]]"));
}
