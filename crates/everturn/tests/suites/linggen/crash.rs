//! Crash everywhere: everything that changes a home is cut at every change of the disk. Whatever is left is the home
//! before the operation or after it, and nothing in between.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::check::{FindingSink, check_path};
use everturn::disk::Disk;
use everturn::disk::sim::SimDisk;
use everturn::finding::{Finding, Severity};
use everturn::linggen::{
    AgentOverride, CREDENTIALS, ItemMark, LinggenError, LinggenWriter, Message, NewLinggenSession,
    NewRun, Plan, PlanStatus, RunStatus, SessionLocation, SpecKind, SpecShape, add_spec, allow,
    append_log, begin_run, clear_messages, clear_mission, create_plan, edit_plan, end_run,
    forget_daemon, fork, open_project, plan_expired_logs, record_daemon, rehome,
    remove_expired_logs, remove_override, remove_spec, remove_state_file, repair, revoke, rewind,
    set_mission, set_override, undo_repair, write_state_file,
};
use everturn::names::{FilePath, SessionId};
use everturn::store::{
    Durability, FileMode, FileStore, LockOwner, MemoryStore, Options, Precondition, Step, Store,
};
use everturn::vault::{Secret, SecretsError, Vault};

use crate::linggen::crashes::{crash_everywhere, fail_everywhere};
use crate::linggen::support::{at, path, project_path};

type Files = BTreeMap<FilePath, Vec<u8>>;
type Op = fn(&Arc<dyn Store>) -> Result<(), LinggenError>;

fn place() -> SessionLocation {
    SessionLocation::in_project(&path("projects/-a-b-c"), SessionId::parse("sess-1").unwrap())
}

fn dir() -> FilePath {
    path("projects/-a-b-c")
}

fn say(store: &Arc<dyn Store>, words: &str) -> Result<(), LinggenError> {
    let writer = LinggenWriter::open(store, &place())?;
    writer.append(&Message::from_user("ling", words), at(1))?;
    writer.release()
}

fn vault(store: &Arc<dyn Store>) -> Vault {
    Vault::new(Arc::clone(store), CREDENTIALS).unwrap()
}

fn secrets(error: SecretsError) -> LinggenError {
    match error {
        SecretsError::Store(error) => error.into(),
        other => panic!("{other}"),
    }
}

fn keep(store: &Arc<dyn Store>, key: &str) -> Result<(), LinggenError> {
    vault(store).set("m", &Secret::parse(key).unwrap()).map_err(secrets)
}

/// Writes as another program might leave it.
fn leave(store: &Arc<dyn Store>, file: &str, bytes: &[u8]) -> Result<(), LinggenError> {
    let writer = store.lock(&[path(file)])?;
    let (expect, mode) = (Precondition::Anything, FileMode::Default);
    let step = Step::Replace { file: path(file), expect, bytes: bytes.to_vec(), mode };
    writer.commit(vec![step], Durability::Synced)?;
    Ok(writer.release()?)
}

const SKILL: &str = "---\nname: S\ndescription: d\n---\nx\n";

/// Everything that changes a home, each of it one commit.
const OPS: &[Op] = &[
    |store| open_project(store, &project_path("/a/b-c"), at(0)).map(drop),
    |store| open_project(store, &project_path("/a-b/c"), at(0)).map(drop),
    |store| {
        let new = NewLinggenSession {
            id: Some(SessionId::parse("sess-1").unwrap()),
            title: String::new(),
        };
        LinggenWriter::create(store, &dir(), &new, at(0))?.release()
    },
    |store| say(store, "the first thing: a title"),
    |store| say(store, "second"),
    |store| {
        let writer = LinggenWriter::open(store, &place())?;
        writer.set_title("Another")?;
        writer.release()
    },
    |store| fork(store, &place(), Some(1), None, at(2)).map(drop),
    |store| rewind(store, &place(), 1, at(3)).map(drop),
    |store| say(store, "third"),
    |store| clear_messages(store, &place(), at(4)).map(drop),
    |store| say(store, "fourth"),
    |store| {
        let run = NewRun {
            repo_path: "/a/b-c".to_owned(),
            agent: "ling".to_owned(),
            ..NewRun::default()
        };
        begin_run(store, &dir(), &run, at(5)).map(drop)
    },
    |store| end_run(store, &dir(), "run-ling-1700000005-0", &RunStatus::Completed, at(6)),
    |store| set_mission(store, &dir(), "one", &[], at(7)).map(drop),
    |store| set_mission(store, &dir(), "two", &[], at(7)).map(drop),
    |store| clear_mission(store, &dir()).map(drop),
    |store| {
        let change = AgentOverride {
            agent_id: "ling".into(),
            idle_prompt: None,
            idle_interval_secs: Some(9),
        };
        set_override(store, &dir(), &change)
    },
    |store| remove_override(store, &dir(), "ling").map(drop),
    |store| create_plan(store, &Plan::new("Do it", "user", &[("a", "b")])).map(drop),
    |store| {
        edit_plan(store, "do-it", |plan| {
            plan.mark(1, ItemMark::Done)?;
            plan.set_status(&PlanStatus::Completed)
        })
        .map(drop)
    },
    |store| allow(store, "Write").map(drop),
    |store| revoke(store, "Write").map(drop),
    |store| keep(store, "k1"),
    |store| keep(store, "k2"),
    |store| vault(store).remove("m").map(|_| ()).map_err(secrets),
    |store| leave(store, "logs/linggen-agent.2023-01-01", b"old"),
    |store| remove_expired_logs(store, &plan_expired_logs(store, 7, at(0))?, at(8)).map(drop),
    |store| add_spec(store, SpecKind::Skill, SpecShape::Nested, SKILL).map(drop),
    |store| append_log(store, "one", at(8)).map(drop),
    |store| append_log(store, "two", at(8)).map(drop),
    |store| record_daemon(store, 7, |_| false),
    |store| record_daemon(store, 8, |_| false),
    |store| forget_daemon(store, |_| false).map(drop),
    |store| write_state_file(store, "task", "---\ntype: pm_task\n---\nx\n").map(drop),
    |store| write_state_file(store, "task", "---\ntype: pm_task\n---\ny\n").map(drop),
    |store| remove_state_file(store, "task").map(drop),
    |store| remove_spec(store, SpecKind::Skill, "s", at(9)).map(drop),
    |store| leave(store, "projects/-a-b-c/sessions/sess-1/messages.jsonl", b"{\"torn\n{}{}\n"),
    |store| repair(store, &place(), at(9)).map(drop),
    |store| undo_repair(store, &place(), at(10)).map(drop),
    |store| leave(store, "projects/-a-b-c/sessions/sess-1/messages.jsonl", b""),
    |store| rehome(store, &project_path("/a/b-c"), &project_path("/moved"), at(11)).map(drop),
];

fn kept(files: Files) -> Files {
    let ours = |file: &FilePath| {
        !file.as_str().starts_with(".everturn/") || file.as_str().starts_with(".everturn/trash/")
    };
    files.into_iter().filter(|(file, _)| ours(file)).collect()
}

/// The files before all operations, and after each of them.
fn states() -> Vec<Files> {
    let store = MemoryStore::default();
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let mut all = vec![Files::new()];
    for (number, op) in OPS.iter().enumerate() {
        op(&shared).unwrap_or_else(|error| panic!("operation {number}: {error}"));
        all.push(kept(store.contents()));
    }
    all
}

fn open_store(disk: &SimDisk) -> Result<Arc<dyn Store>, everturn::store::StoreError> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) };
    Ok(Arc::new(FileStore::open(Arc::new(disk.process()), options)?))
}

/// Works until the disk crashes; tells how many operations were acknowledged.
fn work(disk: &SimDisk) -> usize {
    let Ok(store) = open_store(disk) else { return 0 };
    OPS.iter().take_while(|op| op(&store).is_ok()).count()
}

struct Found(Vec<Finding>);

impl FindingSink for Found {
    fn finding(&mut self, finding: Finding) {
        if finding.code.severity() == Severity::Finding {
            self.0.push(finding);
        }
    }

    fn file(&mut self, _: &FilePath) {}
}

fn verify(disk: &SimDisk, before: &Files, after: &Files) -> Result<(), String> {
    let store = open_store(disk).map_err(|error| error.to_string())?;
    let found = kept(disk.contents());
    if found != *before && found != *after {
        let names: Vec<&str> = found.keys().map(FilePath::as_str).collect();
        return Err(format!("neither as before nor as after: {names:?}"));
    }
    let damaged = found.values().any(|bytes| bytes.starts_with(b"{\"torn"));
    if !damaged {
        let mut seen = Found(Vec::new());
        let as_disk: Arc<dyn Disk> = Arc::new(disk.process());
        check_path(&as_disk, &path(""), &mut seen).map_err(|error| error.to_string())?;
        if !seen.0.is_empty() {
            return Err(format!("{:?}", seen.0));
        }
    }
    if found.keys().any(|file| file.is_within(&place().dir)) {
        say(&store, "one more").map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[test]
fn a_home_is_as_before_or_as_after_whatever_crashes() {
    let states = states();
    crash_everywhere("linggen", OPS.len(), 200, work, |disk, done, _| {
        verify(disk, &states[done], &states[(done + 1).min(OPS.len())])
    });
}

#[test]
fn every_failure_of_the_disk_leaves_a_home_whole() {
    let states = states();
    fail_everywhere("linggen", OPS.len(), 200, 5, work, |disk, done| {
        verify(disk, &states[done], &states[(done + 1).min(OPS.len())])
    });
}
