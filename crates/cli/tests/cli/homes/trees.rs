//! A home made from nothing with the commands alone has every file that the documents of its program name, and no other.

use std::collections::BTreeSet;
use std::path::Path;

use super::User;

/// The files below a directory, without what Everturn keeps for itself.
fn files_below(dir: &Path) -> BTreeSet<String> {
    fn walk(dir: &Path, above: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let name = format!("{above}{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".everturn" => {}
                true => walk(&entry.path(), &format!("{name}/"), found),
                false => drop(found.insert(name)),
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(dir, "", &mut found);
    found
}

/// Whether a path has the form of a line in a document. `{…}` stands for any text in a name, and `YYYY` and the like for
/// digits.
fn has_form(path: &str, form: &str) -> bool {
    fn matches(name: &str, form: &str) -> bool {
        if let Some((before, rest)) = form.split_once('{') {
            let after = rest.split_once('}').unwrap().1;
            return name.len() > before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after);
        }
        let same = |(a, b): (char, char)| match b {
            'Y' | 'M' | 'D' if form.contains("YYYY") || form == "MM" || form == "DD" => {
                a.is_ascii_digit()
            }
            _ => a == b,
        };
        name.len() == form.len() && name.chars().zip(form.chars()).all(same)
    }
    let (names, forms): (Vec<&str>, Vec<&str>) =
        (path.split('/').collect(), form.split('/').collect());
    names.len() == forms.len() && names.iter().zip(forms).all(|(name, form)| matches(name, form))
}

#[test]
fn forms_are_told_apart() {
    assert!(has_form("sessions/2026/01/02/r.jsonl", "sessions/YYYY/MM/DD/{run_id}.jsonl"));
    assert!(!has_form("sessions/2026/01/xx/r.jsonl", "sessions/YYYY/MM/DD/{run_id}.jsonl"));
    assert!(!has_form("sessions/messages/.jsonl", "sessions/messages/{id}.jsonl"));
    assert!(has_form("logs/a-2026-01-02.log", "logs/a-YYYY-MM-DD.log"));
    assert!(!has_form("config.json", "auth.json"));
}

/// Compares the files below a directory with the lines of a document.
#[track_caller]
fn compare(dir: &Path, forms: &[&str]) {
    let found = files_below(dir);
    let missing: Vec<&&str> =
        forms.iter().filter(|form| !found.iter().any(|file| has_form(file, form))).collect();
    let others: Vec<&String> =
        found.iter().filter(|file| !forms.iter().any(|form| has_form(file, form))).collect();
    assert!(missing.is_empty() && others.is_empty(), "missing {missing:?}, others {others:?}");
}

/// Fills a home of Codelia.
fn fill_codelia(user: &User) {
    user.dir("project");
    let ok = |words: &str, input: &str| user.ok_in("project", words, input);
    ok("config set model.name gpt-5 --layout codelia", "");
    ok(r#"config set mcp.servers.gh {"url":"http://h"} --layout codelia --scope project"#, "");
    ok("codelia policy set trusted --default", "");
    ok("credentials set openai --layout codelia", "sk-first-key-of-a-provider");
    ok("credentials set gh --for mcp --layout codelia", "token-of-a-server");
    ok("new codelia --id one", "");
    ok("append one", r#"{"role":"user","content":"hello"}"#);
    ok("codelia session downgrade one", "");
    let run = ok("codelia run begin --session one --text hello", "");
    ok(&format!("codelia run end {}", run.trim()), "");
    assert_eq!(ok("codelia output add call_1", "first\nsecond\n"), "call_1\n");
    ok("codelia log add", "started");
    let listed = ok("ls --json --layout codelia", "");
    assert!(listed.contains("\"id\":\"one\""), "{listed}");
    let checked = user.run_in(&user.path("project"), "check --layout codelia", "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let project = user.path("project");
    compare(&project, &[".codelia/config.json"]);
}

const CODELIA_CONFIG: [&str; 4] = ["config.json", "projects.json", "auth.json", "mcp-auth.json"];

const CODELIA_STATE: [&str; 5] = [
    "sessions/messages/{session_id}.jsonl",
    "sessions/state/{session_id}.json",
    "sessions/state.db",
    "sessions/YYYY/MM/DD/{run_id}.jsonl",
    "logs/{name}",
];

#[test]
fn a_codelia_home_has_every_file_of_its_document() {
    let user = User::new();
    fill_codelia(&user);
    let forms: Vec<&str> = CODELIA_CONFIG
        .iter()
        .chain(&CODELIA_STATE)
        .copied()
        .chain(["cache/tool-output/{reference}.txt"])
        .collect();
    compare(&user.path(".codelia"), &forms);
}

#[test]
fn a_codelia_home_in_xdg_directories_has_every_file_of_its_document() {
    for named in [false, true] {
        let mut user = User::new();
        user.variables.push(("CODELIA_LAYOUT", "xdg".to_owned()));
        let mut dirs = [".config", ".cache", ".local/state"];
        if named {
            dirs = ["c", "k", "s"];
            let variables = ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"];
            for (variable, dir) in variables.into_iter().zip(dirs) {
                user.variables.push((variable, user.path(dir).to_str().unwrap().to_owned()));
            }
        }
        fill_codelia(&user);
        compare(&user.path(dirs[0]).join("codelia"), &CODELIA_CONFIG);
        compare(&user.path(dirs[1]).join("codelia"), &["tool-output/{reference}.txt"]);
        compare(&user.path(dirs[2]).join("codelia"), &CODELIA_STATE);
        assert!(!user.path(".codelia").exists());
    }
}

#[test]
fn a_linggen_home_has_every_file_of_its_document() {
    let user = User::new();
    user.dir("project");
    let ok = |words: &str, input: &str| user.ok_in("project", words, input);
    let spec =
        |name: &str| format!("---\nname: {name}\ndescription: d\ntools: [Read]\n---\nText\n");
    ok(r#"config set models [{"id":"m","provider":"openai"}] --layout linggen"#, "");
    ok("linggen log add", "INFO started");
    ok("linggen plan new Refactor Read Write", "");
    ok("linggen agent add", &spec("ling"));
    ok("linggen skill add", &spec("flat"));
    ok("linggen skill add --nested", &spec("deep"));
    ok("credentials set m --layout linggen", "key-of-a-model");
    ok("linggen daemon record 1", "");
    let session = ok("new linggen --title Fix", "");
    let session = session.trim();
    ok(&format!("append {session}"), r#"{"content":"hello"}"#);
    let run = ok(&format!("linggen run begin --session {session} --agent ling"), "");
    ok(&format!("linggen run end {}", run.trim()), "");
    ok("linggen mission set Watch", "");
    ok("linggen agent override ling --interval 120", "");
    ok("linggen permissions allow Write", "");
    ok("linggen workspace set task", "---\ntype: pm_task\n---\nShip it\n");
    compare(
        &user.path(".linggen"),
        &[
            "config/linggen-agent.runtime.toml",
            "logs/linggen-agent-YYYY-MM-DD.log",
            "plans/{slug}.md",
            "agents/{name}.md",
            "skills/{name}.md",
            "skills/{name}/SKILL.md",
            "credentials.json",
            "ling.pid",
            "ling.log",
            "projects/{encoded}/project.json",
            "projects/{encoded}/sessions/{session_id}/session.yaml",
            "projects/{encoded}/sessions/{session_id}/messages.jsonl",
            "projects/{encoded}/runs/{run_id}.json",
            "projects/{encoded}/missions/{timestamp}.json",
            "projects/{encoded}/agent_overrides/{agent_id}.json",
        ],
    );
    compare(&user.path("project"), &[".linggen/permissions.json", ".linggen/workspace/{name}.md"]);
    let checked = user.run_in(&user.path("project"), "check --layout linggen", "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
}
