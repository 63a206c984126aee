//! Crash everywhere: a home is worked in and cut at every change of the disk, and the index loses its last changes.
//! Whatever is left is as before or as after, and the index says again what the logs say.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn::codelia::{
    AUTH, ApprovalMode, CodeliaError, CodeliaHome, CodeliaWriter, IndexRow, MCP_AUTH, MemoryIndex,
    ProjectPolicies, RunLogs, RunWriter, SCHEMA, SessionIndex, ToolOutputs, append_text_log,
    write_legacy_document,
};
use everturn::config;
use everturn::disk::sim::{Fault, FaultKind, SimDisk};
use everturn::format::SessionError;
use everturn::names::FilePath;
use everturn::store::{
    Durability, FileMode, FileStore, Fingerprint, MemoryStore, Options, Precondition, Step, Store,
    StoreError,
};
use everturn::tree::JsonTree;
use everturn::vault::{Secret, SecretsError, Vault, VaultFormat};

use crate::codelia::crashes::{crash_everywhere, ends, fail_everywhere};
use crate::codelia::support::{at, id, message, owner, path, texts, user};
use crate::common::capabilities::KnownCapabilities;

type Files = BTreeMap<FilePath, Vec<u8>>;
type Rows = BTreeMap<String, IndexRow>;

#[derive(Debug)]
struct Failed(String);

macro_rules! failures {
    ($($error:ty),*) => {$(
        impl From<$error> for Failed {
            fn from(error: $error) -> Failed {
                Failed(error.to_string())
            }
        }
    )*};
}

failures!(CodeliaError, StoreError, SecretsError, SessionError, config::ConfigError);

type Op = fn(&CodeliaHome, &Arc<dyn Store>) -> Result<(), Failed>;

fn on(home: &CodeliaHome, name: &str) -> Result<CodeliaWriter, Failed> {
    Ok(CodeliaWriter::open(home, &id(name))?)
}

fn write(store: &Arc<dyn Store>, file: &str, bytes: Vec<u8>) -> Result<(), Failed> {
    let writer = store.lock(&[path(file)])?;
    let before = match store.read(&path(file), 0..u64::MAX) {
        Ok(bytes) => Precondition::Content(Fingerprint::of(&bytes)),
        Err(StoreError::Missing { .. }) => Precondition::Absent,
        Err(error) => return Err(error.into()),
    };
    let step = Step::Replace { file: path(file), expect: before, bytes, mode: FileMode::Default };
    writer.commit(vec![step], Durability::Synced)?;
    Ok(writer.release()?)
}

fn record(home: &CodeliaHome, text: &str) -> Result<(), Failed> {
    let run = RunLogs::new(home).find("run-1")?;
    let writer = RunWriter::open(home, &run)?;
    writer.append(&JsonTree::parse(text).unwrap(), Durability::Synced)?;
    Ok(writer.release()?)
}

fn keep(
    store: &Arc<dyn Store>,
    shape: VaultFormat,
    name: &str,
    secret: &str,
) -> Result<(), Failed> {
    Ok(Vault::new(Arc::clone(store), shape)?.set(name, &Secret::parse(secret)?)?)
}

fn configure(store: &Arc<dyn Store>, key: &str, value: &str) -> Result<(), Failed> {
    let before = store.read(&path("config.json"), 0..u64::MAX).ok();
    let bytes = config::set_value(&SCHEMA, "config.json", before.as_deref(), key, &value.into())?;
    write(store, "config.json", bytes)
}

const OLD: &[u8] =
    br#"{"schema_version":1,"session_id":"old","updated_at":"2025-01-01T00:00:00.000Z",
    "messages":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}"#;

/// Everything that is written in a home, each of these with one commit.
const OPS: &[Op] = &[
    |home, _| Ok(CodeliaWriter::create(home, &id("one"), None, at(0))?.release()?),
    |home, _| {
        let mut session = on(home, "one")?;
        session.append(&[user("a")], at(1))?;
        Ok(session.release()?)
    },
    |home, _| {
        let mut session = on(home, "one")?;
        session.append(&[message("call", "c1"), message("tool", "c1")], at(2))?;
        Ok(session.release()?)
    },
    |home, _| {
        let history =
            [user("a"), message("call", "c1"), message("tool", "c1"), user("b"), user("c")];
        let mut session = on(home, "one")?;
        session.save(&history, at(3))?;
        Ok(session.release()?)
    },
    |_, store| write(store, "sessions/state/old.json", OLD.to_vec()),
    |home, _| on(home, "old")?.release().map_err(Failed::from),
    |home, _| {
        let mut session = on(home, "old")?;
        session.append(&[user("z")], at(4))?;
        Ok(session.release()?)
    },
    |home, _| {
        let header = r#"{"type":"header","run_id":"run-1","session_id":"one","started_at":"2026-01-02T00:00:00Z"}"#;
        Ok(RunWriter::start(home, &JsonTree::parse(header).unwrap(), at(0))?.release()?)
    },
    |home, _| record(home, r#"{"type":"llm.request","seq":1}"#),
    |home, _| {
        let runs = RunLogs::new(home);
        let run = RunWriter::open(home, &runs.find("run-1")?)?;
        let record = |text: &str| JsonTree::parse(text).unwrap();
        let status = record(r#"{"type":"run.status","status":"completed"}"#);
        let end = record(r#"{"type":"run.end","outcome":"completed"}"#);
        run.append_all(&[status, end], Durability::Synced)?;
        Ok(run.release()?)
    },
    |_, store| {
        ToolOutputs::in_home(Arc::clone(store)).put("call:1", "one").map(drop).map_err(Failed::from)
    },
    |_, store| {
        ToolOutputs::in_home(Arc::clone(store)).put("call/1", "two").map(drop).map_err(Failed::from)
    },
    |_, store| keep(store, AUTH, "openai", "sk-first"),
    |_, store| keep(store, AUTH, "openai", "sk-second"),
    |_, store| keep(store, MCP_AUTH, "github", "token"),
    |_, store| {
        Vault::new(Arc::clone(store), AUTH)?.remove("openai").map(drop).map_err(Failed::from)
    },
    |_, store| Ok(ProjectPolicies::read(store)?.set(store, Some("/w"), ApprovalMode::Trusted)?),
    |_, store| Ok(ProjectPolicies::read(store)?.set(store, None, ApprovalMode::Minimal)?),
    |_, store| Ok(ProjectPolicies::read(store)?.remove(store, Some("/w")).map(drop)?),
    |_, store| append_text_log(store, "codelia.log", "one").map(drop).map_err(Failed::from),
    |_, store| append_text_log(store, "codelia.log", "two").map(drop).map_err(Failed::from),
    |home, _| write_legacy_document(home, &id("one")).map(drop).map_err(Failed::from),
    |_, store| configure(store, "model.name", "one"),
    |_, store| configure(store, "tui.theme", "dark"),
    |home, _| {
        let mut session = on(home, "one")?;
        session.save(&[user("[codelia.compaction.summary]\nall"), user("d")], at(5))?;
        Ok(session.release()?)
    },
    |home, store| {
        let plan = ToolOutputs::in_home(Arc::clone(store)).plan(home, 3)?;
        Ok(ToolOutputs::in_home(Arc::clone(store)).evict(&plan)?)
    },
];

fn home_of(store: &Arc<dyn Store>, index: &MemoryIndex) -> CodeliaHome {
    CodeliaHome::with_index(Arc::clone(store), Arc::new(index.clone()))
}

/// The files and rows before all operations, and after each of them.
fn states() -> Vec<(Files, Rows)> {
    let (store, index) = (MemoryStore::default(), MemoryIndex::default());
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let home = home_of(&shared, &index);
    let mut all = vec![(Files::new(), Rows::new())];
    for op in OPS {
        op(&home, &shared).unwrap();
        all.push((store.contents(), index.contents()));
    }
    all
}

fn open_store(disk: &SimDisk) -> Result<Arc<dyn Store>, StoreError> {
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner()) };
    Ok(Arc::new(FileStore::open(Arc::new(disk.process()), options)?))
}

/// Works until the disk crashes; tells how many operations were acknowledged.
fn work_until(disk: &SimDisk) -> usize {
    let Ok(store) = open_store(disk) else { return 0 };
    let home = home_of(&store, &MemoryIndex::default());
    OPS.iter().take_while(|op| op(&home, &store).is_ok()).count()
}

fn plain(disk: &SimDisk) -> Files {
    let own = path(".everturn");
    disk.contents().into_iter().filter(|(file, _)| !file.is_within(&own)).collect()
}

fn verify(disk: &SimDisk, before: &Files, after: &Files, rows: Rows) -> Result<(), String> {
    let store = open_store(disk).map_err(|error| error.to_string())?;
    let found = plain(disk);
    if found != *before && found != *after {
        let odd: Vec<&FilePath> = found
            .iter()
            .filter(|(file, bytes)| {
                before.get(*file) != Some(bytes) && after.get(*file) != Some(bytes)
            })
            .map(|(file, _)| file)
            .collect();
        return Err(format!("neither as before nor as after: {odd:?}"));
    }
    let index = MemoryIndex::default();
    index.restore(rows);
    let home = home_of(&store, &index);
    for name in ["one", "old"] {
        if !found.contains_key(&path(&format!("sessions/messages/{name}.jsonl"))) {
            continue;
        }
        let check = |when: &str| {
            let row = index.row(name).unwrap().ok_or("no row")?;
            let count = texts(&home, name).len();
            match row.message_count == i64::try_from(count).ok() {
                true => Ok(()),
                false => {
                    Err(format!("{name}, {when}: {:?} for {count} messages", row.message_count))
                }
            }
        };
        let mut session = on(&home, name).map_err(|error| error.0)?;
        check("opened")?;
        if !session.findings().is_empty() {
            return Err(format!("{name}: {:?}", session.findings()));
        }
        session.append(&[user("more")], at(9)).map_err(|error| error.to_string())?;
        check("after one more message")?;
    }
    Ok(())
}

#[test]
fn a_home_is_whole_after_every_crash() {
    let states = states();
    crash_everywhere("codelia", OPS.len(), 150, work_until, |disk, done, lost| {
        let (before, after) = (&states[done].0, &states[(done + 1).min(OPS.len())].0);
        // The index has lost nothing, or its last changes.
        verify(disk, before, after, states[done.saturating_sub(lost)].1.clone())
    });
}

#[test]
fn every_failure_of_the_disk_leaves_a_home_whole() {
    let states = states();
    fail_everywhere("codelia", OPS.len(), 150, 5, work_until, |disk, done| {
        let (before, after) = (&states[done].0, &states[(done + 1).min(OPS.len())].0);
        verify(disk, before, after, Rows::new())
    });
}

#[test]
fn a_rewind_is_cut_only_when_its_branch_is_there() {
    use crate::codelia::support::codelia;
    use everturn::model::SessionRef;
    let place = SessionRef { id: "one".to_owned(), path: path("sessions/messages/one.jsonl") };
    let mut point = 0_u64;
    loop {
        let disk = SimDisk::new();
        let store = open_store(&disk).unwrap();
        let home = home_of(&store, &MemoryIndex::default());
        drop(crate::codelia::support::session(&home, "one", &["a", "b", "c"]));
        drop((home, store));
        let changes = disk.changes();
        disk.inject(Fault { at: changes + point, kind: FaultKind::Crash, lasting: false });
        let done = open_store(&disk).is_ok_and(|store| {
            codelia().editable().rewind(&store, &place, 1, at(5), &mut |_| {}).is_ok()
        });
        if !disk.crashed() {
            assert!(done);
            break;
        }
        for survival in ends(point) {
            let left = disk.fork();
            left.power_cut(survival);
            let store = open_store(&left).unwrap();
            let home = home_of(&store, &MemoryIndex::default());
            let (kept, branch) = (texts(&home, "one"), texts(&home, "one-branch-3"));
            let whole = kept == ["a", "b", "c"] && branch.is_empty();
            let rewound = kept == ["a"] && branch == ["a", "b", "c"];
            assert!(whole || rewound, "crash at {point}, {survival:?}: {kept:?}, {branch:?}");
            assert!(rewound || !done, "an acknowledged rewind is gone");
        }
        point += 1;
    }
    assert!(point > 10, "only {point} places to crash at");
}
