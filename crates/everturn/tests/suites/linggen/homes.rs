//! What belongs to a home or a workspace as a whole: keys, permissions, agents and skills, logs.

use std::sync::Arc;

use everturn::finding::FindingCode;
use everturn::linggen::{
    CREDENTIALS, SpecDir, SpecKind, SpecSource, allow, allowed, logs, plan_expired_logs,
    remove_expired_logs, revoke, specs,
};
use everturn::store::Store;
use everturn::vault::{Secret, Vault};

use crate::linggen::support::{at, exists, memory, names, path, put, read};

#[test]
fn keys_are_stored_for_their_owner_alone_and_shown_to_nobody() {
    let store = memory();
    let text = "{\"groq-llama\":{\"api_key\":\"gsk_secret-0123456789abcdef\",\"note\":1.0}}";
    put(&store, "credentials.json", text);
    let mode = || store.stat(&path("credentials.json")).unwrap().unwrap().mode & 0o777;
    assert_eq!(mode(), 0o644);
    let vault = Vault::new(Arc::clone(&store), CREDENTIALS).unwrap();
    vault.set("gemini-flash", &Secret::parse("AIza-secret").unwrap()).unwrap();
    assert_eq!(mode(), 0o600);
    assert!(read(&store, "credentials.json").starts_with(text.trim_end_matches('}')));
    let all = vault.list().unwrap();
    assert_eq!(all.len(), 2);
    assert!(!format!("{all:?}").contains("secret-0"), "{all:?}");
    assert!(vault.remove("gemini-flash").unwrap());
    assert_eq!((read(&store, "credentials.json").as_str(), mode()), (text, 0o600));
    put(&store, "credentials.json", "{\"groq\": {\"api_key\": \"gsk_secret\"");
    let refused = vault.set("x", &Secret::parse("k").unwrap()).unwrap_err();
    assert!(!refused.to_string().contains("gsk_secret"), "{refused}");
}

#[test]
fn permissions_are_given_and_taken() {
    let store = memory();
    assert_eq!(allowed(&store).unwrap(), Vec::<String>::new());
    assert!(allow(&store, "Write").unwrap());
    assert!(allow(&store, "Edit").unwrap());
    assert!(!allow(&store, "Edit").unwrap());
    assert_eq!(
        read(&store, "permissions.json"),
        "{\n  \"tool_allows\": [\n    \"Write\",\n    \"Edit\"\n  ]\n}"
    );
    assert!(revoke(&store, "Write").unwrap());
    assert!(!revoke(&store, "Write").unwrap());
    assert_eq!(allowed(&store).unwrap(), ["Edit"]);
    assert!(allow(&store, " ").is_err());
    put(&store, "permissions.json", "{\"tool_allows\": \"all\"}");
    assert!(allow(&store, "Bash").is_err(), "what is not understood is not written over");
}

fn dir(source: SpecSource, store: &Arc<dyn Store>, dir: &str) -> SpecDir {
    SpecDir { source, store: Arc::clone(store), dir: path(dir) }
}

#[test]
fn agents_and_skills_are_found_and_later_places_win() {
    let store = memory();
    put(
        &store,
        "agents/ling.md",
        "---\nname: Ling\ndescription: global\ntools: [Read]\n---\nYou are ling.\n",
    );
    put(&store, "agents/coder.md", "---\nname: coder\ndescription: a --- b\ntools: []\n---\n");
    put(&store, "agents/bad.md", "---\nname: bad\n---\n");
    put(&store, "agents/none.md", "just words\n");
    put(
        &store,
        "ws/agents/own.md",
        "---\nname: LING\ndescription: project\ntools: [Bash]\n---\nMine\n",
    );
    let dirs =
        [dir(SpecSource::Global, &store, "agents"), dir(SpecSource::Project, &store, "ws/agents")];
    let found = specs(SpecKind::Agent, &dirs).unwrap();
    let ling = &found.specs["ling"];
    assert_eq!(
        (ling.source, ling.description.as_str(), ling.body.as_str()),
        (SpecSource::Project, "project", "Mine\n")
    );
    assert_eq!(found.specs["coder"].description, "a --- b");
    let codes: Vec<FindingCode> = found.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::BadMetadata, FindingCode::BadMetadata]);
    put(&store, "skills/flat.md", "---\nname: flat\ndescription: f\n---\n");
    put(
        &store,
        "skills/nested/SKILL.md",
        "---\nname: nested\ndescription: n\nuser-invocable: false\n---\nDo\n",
    );
    put(&store, "claude/skills/flat.md", "---\nname: Flat\ndescription: other\n---\n");
    let dirs = [
        dir(SpecSource::Global, &store, "skills"),
        dir(SpecSource::Compatible, &store, "claude/skills"),
        dir(SpecSource::Project, &store, "nowhere"),
    ];
    let found = specs(SpecKind::Skill, &dirs).unwrap();
    assert_eq!(found.specs.keys().collect::<Vec<_>>(), ["flat", "nested"]);
    assert_eq!(found.specs["flat"].source, SpecSource::Compatible);
    assert_eq!(found.specs["nested"].fields["user-invocable"], false);
}

#[test]
fn old_logs_go_by_the_day_in_their_names_and_can_be_had_back() {
    let store = memory();
    // The clock says 2023-11-14.
    let all = [
        "linggen-agent-2023-11-01.log",
        "linggen-agent.2023-11-07",
        "linggen.2023-11-08",
        "linggen-agent-2023-11-14.log",
        "other.log",
        "linggen-agent-2023-13-01.log",
    ];
    for name in all {
        put(&store, &format!("logs/{name}"), "\u{1b}[32mINFO\u{1b}[0m\n");
    }
    assert_eq!(logs(&store).unwrap().len(), 4);
    let plan = plan_expired_logs(&store, 7, at(0)).unwrap();
    let old: Vec<&str> = plan.files.iter().map(|file| file.as_str()).collect();
    assert_eq!(old, ["logs/linggen-agent-2023-11-01.log", "logs/linggen-agent.2023-11-07"]);
    assert_eq!(names(&store, "logs").len(), 6, "a plan changes nothing");
    let trash = remove_expired_logs(&store, &plan, at(0)).unwrap().unwrap();
    assert_eq!(names(&store, "logs").len(), 4);
    assert!(exists(&store, &format!("{trash}/logs/linggen-agent.2023-11-07")));
    assert!(
        remove_expired_logs(&store, &plan_expired_logs(&store, 7, at(0)).unwrap(), at(0))
            .unwrap()
            .is_none()
    );
}
