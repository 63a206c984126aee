//! Commands for parts of Linggen's home: agents, skills, logs, sessions, the daemon.

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
