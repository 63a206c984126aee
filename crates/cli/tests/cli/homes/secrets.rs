//! Secrets leave: from logs, from settings that are shown, from exports, and from repositories around a home.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::User;

const SECRET: &str = "sk-proj-Zq8vTn3LkWx5RbYc1MdHs7Jf0PaGu2Ei";

/// Whether any file below a directory has a text.
fn has_text(dir: &Path, text: &str) -> Option<std::path::PathBuf> {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let found = match path.is_dir() {
            true => has_text(&path, text),
            false => fs::read(&path)
                .unwrap()
                .windows(text.len())
                .any(|part| part == text.as_bytes())
                .then_some(path),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn git(dir: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=u", "-c", "user.email=u@example.org"]).args(words);
    let output = git.current_dir(dir).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_removed_secret_is_nowhere_and_nothing_of_ours_is_in_the_repository() {
    let user = User::new();
    let project = user.dir("project");
    for dir in [user.path(""), project.clone()] {
        git(&dir, &["init", "-q", "."]);
    }
    let server = format!(r#"{{"url":"http://h","headers":{{"Authorization":"Bearer {SECRET}"}}}}"#);
    let mut set = user.command_in(&project, "config set mcp.servers.gh --layout codelia");
    set.arg(&server);
    assert_eq!(super::answer(set, "").code, Some(0));
    assert!(user.read("project/.codelia/config.json").contains(SECRET));
    let names: Vec<_> = fs::read_dir(project.join(".codelia")).unwrap().collect();
    assert_eq!(names.len(), 1, "only the settings are in the project: {names:?}");
    user.ok_in("project", "config unset mcp.servers.gh --layout codelia", "");
    user.ok_in("project", "linggen permissions allow Write", "");
    user.write(".linggen/config/linggen-agent.runtime.toml", "[[models]]\nid = \"a\"\n");
    for layout in ["", " --layout codelia", " --layout linggen"] {
        user.ok(&format!("credentials set openai{layout}"), SECRET);
        user.ok(&format!("credentials remove openai{layout}"), "");
    }
    user.ok(&format!("config set models.0.api_key {SECRET} --layout linggen"), "");
    user.ok("config unset models.0.api_key --layout linggen", "");
    assert_eq!(has_text(&user.path(""), SECRET), None);
    for dir in [user.path(""), project] {
        git(&dir, &["add", "-A"]);
        git(&dir, &["commit", "-qm", "all"]);
        assert_eq!(git(&dir, &["grep", "-a", SECRET, "HEAD"]), "");
        let files = git(&dir, &["ls-files"]);
        assert!(!files.contains(".everturn/"), "{files}");
    }
}

#[test]
fn a_single_file_has_no_store_beside_it() {
    let mut user = User::new();
    user.dir("etc");
    let file = user.path("etc/c.json").to_str().unwrap().to_owned();
    user.variables.push(("CODELIA_CONFIG_PATH", file));
    user.ok("config set model.name x --layout codelia", "");
    let names: Vec<_> = fs::read_dir(user.path("etc")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(user.ok("config get model.name --layout codelia", ""), "x\n");
}

#[test]
fn settings_are_shown_without_their_secrets() {
    let user = User::new();
    let server = format!(
        r#"{{"url":"http://u:PASSWORD@h/?token=QUERY","args":["--token","ARGUMENT","--key={SECRET}"],"private_key":"OTHER"}}"#
    );
    let mut set = user.command_in(&user.path(""), "config set mcp.servers.x --layout codelia");
    set.arg(server);
    assert_eq!(super::answer(set, "").code, Some(0));
    for words in [
        "config get --layout codelia",
        "config get mcp.servers --layout codelia",
        "config get mcp.servers.x.url --layout codelia",
        "config get mcp.servers.x.args --layout codelia --json",
        "config explain mcp.servers.x --layout codelia",
    ] {
        let shown = user.ok(words, "");
        for secret in ["PASSWORD", "QUERY", "ARGUMENT", SECRET, "OTHER"] {
            assert!(!shown.contains(secret), "{words}: {shown}");
        }
    }
}

#[test]
fn every_format_is_exported_without_secrets() {
    const KEY: &str = "AKIAQ7LPMN5HFIZR7XYB";
    let user = User::new();
    user.ok("new codelia --id c", "");
    user.ok("append c", &format!(r#"{{"role":"assistant","content":"my key is {KEY}"}}"#));
    for format in ["txt", "md", "html", "json"] {
        let masked = user.ok(&format!("export c --format {format}"), "");
        assert!(!masked.contains(KEY), "{format}: {masked}");
        let whole = user.ok(&format!("export c --format {format} --no-mask"), "");
        assert!(whole.contains(KEY), "{format}: {whole}");
    }
}

#[test]
fn a_title_that_was_cut_does_not_show_half_of_a_secret() {
    let user = User::new();
    let half = "sTCAntkOPbew9fvVpreH1xhxAcfqpK4qZH2ZVqeS97J8";
    let key = format!("sk-ant-api03-{half}Lw3Xu7QmZt0bRy5Nc2VgDk8Hj1Fs6PaEo4Ui9WlTnBxKvMqYrAA");
    user.ok("new codelia --id c", "");
    user.ok("append c", &format!(r#"{{"role":"user","content":"key {key}"}}"#));
    for format in ["txt", "md", "html", "json"] {
        let masked = user.ok(&format!("export c --format {format}"), "");
        assert!(!masked.contains(&half[..20]), "{format}: {masked}");
    }
}

#[test]
fn secrets_that_others_can_read_are_found_in_every_layout() {
    let mut user = User::new();
    let open = |below: &str, text: &str| {
        user.write(below, text);
        fs::set_permissions(user.path(below), fs::Permissions::from_mode(0o644)).unwrap();
    };
    open(".linggen/credentials.json", "{\"a\":{\"api_key\":\"x\"}}");
    open(".config/codelia/auth.json", "{\"version\":1,\"providers\":{}}");
    user.ok("new linggen", "");
    let linggen = user.run("check --layout linggen", "");
    assert_eq!(linggen.code, Some(3), "{linggen:?}");
    assert!(linggen.out.contains("open-secret"), "{linggen:?}");
    user.variables.push(("CODELIA_LAYOUT", "xdg".to_owned()));
    user.ok("new codelia --id c", "");
    let codelia = user.run("check --layout codelia", "");
    assert_eq!(codelia.code, Some(3), "{codelia:?}");
    assert_eq!(codelia.out.matches("open-secret").count(), 1, "{codelia:?}");
}

#[test]
fn broken_files_of_a_linggen_home_are_found() {
    let user = User::new();
    user.ok("new linggen", "");
    user.write(".linggen/config/linggen-agent.toml", "[models\n");
    user.write(".linggen/agents/a.md", "no front matter\n");
    user.write(".linggen/skills/s/SKILL.md", "---\nname: s\n---\n");
    user.write(".linggen/ling.pid", "many");
    let checked = user.run("check ~/.linggen", "");
    assert_eq!(checked.code, Some(3), "{checked:?}");
    for file in ["linggen-agent.toml", "agents/a.md", "skills/s/SKILL.md", "ling.pid"] {
        assert!(checked.out.contains(file), "{file}: {checked:?}");
    }
}
