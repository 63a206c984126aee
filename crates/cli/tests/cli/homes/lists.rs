//! Lists, policies and files that are not damage.

use std::fs;

use super::User;

#[test]
fn a_missing_home_has_nothing_to_list() {
    let user = User::new();
    for words in [
        "run list --layout codelia",
        "run list --layout linggen",
        "plan list",
        "project list",
        "mission list",
        "credentials list --layout codelia",
        "credentials list --layout linggen",
        "permissions list",
        "pin --layout codelia",
        "trash --layout linggen",
        "codelia run list",
        "codelia output list",
        "codelia policy list",
        "codelia log list",
        "linggen agent list",
        "linggen skill list",
        "linggen log list",
        "linggen workspace list",
        "ls --layout codelia",
        "ls --layout linggen",
    ] {
        let listed = user.run(words, "");
        assert_eq!((listed.code, listed.out.as_str()), (Some(0), ""), "{words}: {listed:?}");
    }
    assert_eq!(fs::read_dir(user.path("")).unwrap().count(), 0, "a list makes nothing");
}

#[test]
fn what_can_be_set_can_be_seen_and_unset() {
    let user = User::new();
    user.ok("config set approval_mode full-access --layout codelia", "");
    user.ok("config set approval_mode trusted --scope global --layout codelia", "");
    assert!(
        user.ok("config get --layout codelia", "").contains("\"approval_mode\": \"full-access\"")
    );
    user.ok("config unset approval_mode --layout codelia", "");
    assert_eq!(user.ok("config get approval_mode --layout codelia", ""), "trusted\n");
    user.ok("config unset approval_mode --layout codelia", "");
    assert_eq!(user.ok("config get approval_mode --layout codelia", ""), "minimal\n");
    assert_eq!(user.run("config unset approval_mode --layout codelia", "").code, Some(1));
}

#[test]
fn empty_policies_decide_nothing() {
    let user = User::new();
    let here = user.path("");
    let here = here.to_str().unwrap().trim_end_matches('/');
    user.write(
        ".codelia/projects.json",
        &format!("{{\"version\":1,\"default\":{{}},\"projects\":{{\"{here}\":{{}}}}}}"),
    );
    assert_eq!(user.ok("config get approval_mode --layout codelia", ""), "minimal\n");
}

#[test]
fn task_files_are_not_damage() {
    let user = User::new();
    user.ok("new codelia --id c", "");
    user.write(".codelia/tasks/t%2F1.json", "{\"version\":1,\"task_id\":\"t/1\",\"label\":\"x\"}");
    let checked = user.run("check ~/.codelia", "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
}

#[test]
fn a_new_session_belongs_to_the_current_workspace() {
    let user = User::new();
    let project = user.dir("project");
    user.ok_in("project", "new codelia --id c", "");
    let listed = user.ok("ls --json", "");
    assert!(listed.contains(&format!("\"project\":\"{}\"", project.display())), "{listed}");
    let id = user.ok_in("project", "new linggen --title Fix", "");
    let dir = format!(
        ".linggen/projects/{}/sessions/{}",
        project.to_str().unwrap().replace('/', "-"),
        id.trim()
    );
    assert!(user.read(&format!("{dir}/session.yaml")).contains("title: Fix\n"));
    let refused = user.run("mission set watch --project ~/typo", "");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains("typo"), "{refused:?}");
}

#[test]
fn names_and_quotes_are_those_of_the_program() {
    let user = User::new();
    let mut new = user.command_in(&user.path(""), "plan new");
    new.args(["../../etc/passwd", "one"]);
    assert_eq!(super::answer(new, "").code, Some(0));
    assert!(user.path(".linggen/plans/etc-passwd.md").is_file());
    let id = user.ok("new linggen --title 2024-01-01", "");
    let home = user.path("");
    let home = home.to_str().unwrap().trim_end_matches('/').replace('/', "-");
    let dir = format!(".linggen/projects/{home}/sessions/{}", id.trim());
    assert!(user.read(&format!("{dir}/session.yaml")).contains("title: '2024-01-01'\n"));
}
