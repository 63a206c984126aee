//! A workload that uses every operation of a store, with a record of what was acknowledged.

use std::collections::BTreeMap;
use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::disk::sim::SimDisk;
use everturn_store::{
    Durability, FileStore, FileWriter, MemoryStore, Options, Step, Store, StoreError, Writer,
    staging_dir, trash_dir,
};

use crate::support::{Files, append, path, remove, rename, replace};

/// What was acknowledged, and what may have happened in addition.
pub(crate) struct Promise {
    model: MemoryStore,
    /// The files as of the last acknowledged commit.
    pub(crate) certain: Files,
    /// The files after each further commit in progress, in order.
    pub(crate) possible: Vec<Files>,
    /// The files as of the last synced commit, and after each buffered one since: a power cut may return to any of
    /// them.
    pub(crate) since_sync: Vec<Files>,
    /// Bytes that another program left at the end of a file; they must never be lost.
    pub(crate) torn: BTreeMap<FilePath, Vec<u8>>,
    /// Commits acknowledged so far.
    pub(crate) commits: usize,
}

impl Promise {
    fn new() -> Promise {
        Promise {
            model: MemoryStore::new(),
            certain: Files::new(),
            possible: Vec::new(),
            since_sync: vec![Files::new()],
            torn: BTreeMap::new(),
            commits: 0,
        }
    }

    fn apply(&self, steps: Vec<Step>) {
        let everything = [FilePath::root(), trash_dir(), staging_dir()];
        let writer = self.model.lock(&everything).unwrap();
        for step in &steps {
            if let Step::Append { file, .. } = step
                && let Some(torn) = self.torn.get(file)
                && let Some(content) = self.model.contents().get(file)
                && let Some(good) = content.strip_suffix(torn.as_slice())
            {
                let good = String::from_utf8(good.to_vec()).unwrap();
                let repair = vec![replace(file.as_str(), &good)];
                writer.commit(repair, Durability::Synced).unwrap();
            }
        }
        writer.commit(steps, Durability::Synced).unwrap();
    }

    /// Records a commit that is about to be tried.
    fn begin(&mut self, steps: &[Step]) {
        self.apply(steps.to_vec());
        self.possible.push(self.model.contents());
    }

    /// Records that all commits in progress were acknowledged.
    fn acknowledge(&mut self, durability: Durability) {
        self.commits += self.possible.len();
        if let Some(last) = self.possible.pop() {
            self.certain = last;
        }
        self.possible.clear();
        if durability == Durability::Synced {
            self.since_sync.clear();
        }
        self.since_sync.push(self.certain.clone());
    }

    /// Leaves part of a line at the end of a file as another program, durably.
    fn tear(&mut self, disk: &SimDisk, file: &str, torn: &str) {
        let file = path(file);
        let mut content = self.certain.get(&file).cloned().unwrap_or_default();
        content.extend_from_slice(torn.as_bytes());
        disk.put_file(&file, &content);
        self.torn.insert(file.clone(), torn.as_bytes().to_vec());
        let writer = self.model.lock(&[FilePath::root()]).unwrap();
        let text = String::from_utf8(content).unwrap();
        let step = replace(file.as_str(), &text);
        writer.commit(vec![step], Durability::Synced).unwrap();
        self.certain = self.model.contents();
        self.since_sync = vec![self.certain.clone()];
    }
}

/// One process, and what was acknowledged to it.
struct Worker<'a> {
    disk: &'a SimDisk,
    options: &'a Options,
    promise: &'a mut Promise,
}

impl Worker<'_> {
    fn open(&self) -> Result<FileStore, StoreError> {
        FileStore::open(Arc::new(self.disk.process()), self.options.clone())
    }

    fn commit_as(
        &mut self,
        writer: &FileWriter,
        durability: Durability,
        steps: Vec<Step>,
    ) -> Result<(), StoreError> {
        self.promise.begin(&steps);
        writer.commit(steps, durability)?;
        self.promise.acknowledge(durability);
        Ok(())
    }

    fn commit(&mut self, writer: &FileWriter, steps: Vec<Step>) -> Result<(), StoreError> {
        self.commit_as(writer, Durability::Synced, steps)
    }

    fn group(
        &mut self,
        store: &FileStore,
        batches: Vec<(&FileWriter, Vec<Step>)>,
    ) -> Result<(), StoreError> {
        for (_, steps) in &batches {
            self.promise.begin(steps);
        }
        let synced = |(writer, steps)| (writer, steps, Durability::Synced);
        let outcomes = store.commit_all(batches.into_iter().map(synced).collect());
        for outcome in outcomes {
            outcome?;
        }
        self.promise.acknowledge(Durability::Synced);
        Ok(())
    }

    /// Plays one session: turns with deltas, rotation, state, a pause and a resumption.
    fn play(&mut self, store: &FileStore) -> Result<(), StoreError> {
        let game = store.lock_files(&[path("active/one"), path("paused/one")])?;
        let create = vec![
            replace("active/one/meta.json", r#"{"turn":0}"#),
            append("active/one/turns/turns-0001-current.jsonl", "{\"turn\":1}\n"),
        ];
        self.commit(&game, create)?;
        for turn in 2..=7_u32 {
            let log = if turn <= 4 { "0001" } else { "0005" };
            let turns = format!("active/one/turns/turns-{log}-current.jsonl");
            let mut steps = vec![
                append(&turns, &format!("{{\"turn\":{turn}}}\n")),
                append("active/one/deltas/current.jsonl", &format!("{{\"a\":{turn}}}\n")),
                append("active/one/deltas/current.jsonl", &format!("{{\"b\":{turn}}}\n")),
                replace("active/one/meta.json", &format!("{{\"turn\":{turn}}}")),
            ];
            if turn == 4 {
                let rotated = "active/one/turns/turns-0001-0004.jsonl";
                steps.push(rename("active/one/turns/turns-0001-current.jsonl", rotated));
                let deltas = "active/one/deltas/deltas-0001-0004.jsonl";
                steps.push(rename("active/one/deltas/current.jsonl", deltas));
            }
            self.commit(&game, steps)?;
        }
        let pause = vec![
            replace("active/one/meta.json", r#"{"turn":7,"status":"paused"}"#),
            rename("active/one", "paused/one"),
        ];
        self.commit(&game, pause)?;
        let prune = vec![remove("paused/one/deltas/deltas-0001-0004.jsonl")];
        self.commit(&game, prune)?;
        let again = vec![append("paused/one/deltas/deltas-0001-0004.jsonl", "{\"again\":1}\n")];
        self.commit(&game, again)?;
        let turns = "paused/one/turns/turns-0005-current.jsonl";
        let more = vec![append(turns, "{\"turn\":8}\n"), replace("paused/one/meta.json", "{}")];
        self.commit(&game, more)?;
        self.commit(&game, vec![rename("paused/one", "active/one")])?;
        Box::new(game).release()
    }

    /// A session that is built out of sight, moved into place, moved to the trash, and restored.
    fn hide(&mut self, store: &FileStore) -> Result<(), StoreError> {
        let (built, thrown) = (".everturn/staging/new", ".everturn/trash/new");
        let scopes = [path(built), path(thrown), path("active/new")];
        let writer = store.lock_files(&scopes)?;
        let log = format!("{built}/log.jsonl");
        self.commit(&writer, vec![append(&log, "{}\n"), replace(&format!("{built}/s.json"), "1")])?;
        self.commit(&writer, vec![append(&log, "{\"a\":1}\n"), rename(built, "active/new")])?;
        let last = append("active/new/log.jsonl", "{\"a\":2}\n");
        self.commit(&writer, vec![last, rename("active/new", thrown)])?;
        self.commit(&writer, vec![rename(&format!("{thrown}/s.json"), "active/new/s.json")])?;
        self.commit(&writer, vec![append(&format!("{thrown}/log.jsonl"), "{\"a\":3}\n")])
    }

    /// Two sessions whose commits share flushes, and a checkpoint in between.
    fn share(&mut self, store: &FileStore, other: &FileStore) -> Result<(), StoreError> {
        let (a, b) = (store.lock_files(&[path("a")])?, store.lock_files(&[path("b")])?);
        for round in 0..3 {
            let line = format!("{{\"round\":{round}}}\n");
            let batches = vec![
                (&a, vec![append("a/log.jsonl", &line), replace("a/state.json", &line)]),
                (&b, vec![append("b/log.jsonl", &line)]),
                (&a, vec![append("a/log.jsonl", &line), append("a/other.jsonl", &line)]),
                (&b, vec![rename("b/log.jsonl", &format!("b/log-{round}.jsonl"))]),
                (&b, vec![append("b/log.jsonl", &line)]),
            ];
            self.group(store, batches)?;
            if round == 1 {
                store.checkpoint()?;
            }
        }
        for count in 0..3 {
            let line = format!("{{\"written\":{count}}}\n");
            self.commit_as(&a, Durability::Buffered, vec![append("a/log.jsonl", &line)])?;
        }
        let state = vec![replace("a/state.json", "only written, and not flushed")];
        self.commit_as(&a, Durability::Buffered, state)?;
        self.commit(&b, vec![append("b/log.jsonl", "{\"after\":true}\n")])?;
        let states = vec![replace("a/state.json", "once more"), replace("a/x.json", "a new one")];
        self.commit(&a, states)?;
        let big = format!("{{\"big\":\"{}\"}}\n", "x".repeat(20_000));
        self.commit(&a, vec![append("a/log.jsonl", &big), remove("a/state.json")])?;
        self.commit(&a, vec![replace("a/state.json", "again"), replace("a/new/file.json", "1")])?;
        // One scope moves to another process while the log still serves the other scope.
        Box::new(a).release()?;
        let a = other.lock_files(&[path("a")])?;
        self.commit(&a, vec![remove("a/new/file.json"), append("a/new/log.jsonl", "{}\n")])?;
        Box::new(a).release()?;
        self.commit(&b, vec![append("b/log.jsonl", "{\"still\":\"here\"}\n")])
    }

    /// A session and a copy of it that one commit changes; the copy then moves to another process.
    fn branch(&mut self, store: &FileStore, other: &FileStore) -> Result<(), StoreError> {
        let mut one = store.lock_files(&[path("active/one")])?;
        let notes = "active/one/notes.jsonl";
        self.commit(&one, vec![append(notes, "{\"n\":1}\n"), replace("active/one/s.json", "1")])?;
        let staged = ".everturn/staging/copy";
        one.add_scopes(&[path("active/copy"), path("active/notes.jsonl"), path(staged)])?;
        let copy = vec![append(&format!("{staged}/log.jsonl"), "{\"n\":1}\n")];
        self.commit_as(&one, Durability::Buffered, copy)?;
        let rewind = vec![
            rename(staged, "active/copy"),
            replace("active/one/s.json", "the state before"),
            rename(notes, "active/notes.jsonl"),
        ];
        self.commit(&one, rewind)?;
        one.release_added_scopes()?;
        let copy = other.lock_files(&[path("active/copy")])?;
        let log = "active/copy/log.jsonl";
        self.commit(&copy, vec![append(log, "{\"n\":2}\n")])?;
        Box::new(copy).release()?;
        self.commit(&one, vec![replace("active/one/s.json", "the state after")])
    }

    /// A torn tail, a change of owners, and a process that is killed.
    fn hand_over(&mut self, first: &FileStore) -> Result<(), StoreError> {
        self.promise.tear(self.disk, "a/log.jsonl", "{\"torn\":");
        let writer = first.lock_files(&[path("a")])?;
        self.commit(&writer, vec![append("a/log.jsonl", "{\"mended\":1}\n")])?;
        Box::new(writer).release()?;

        let dying_disk = self.disk.process();
        let dying = FileStore::open(Arc::new(dying_disk.clone()), self.options.clone())?;
        let writer = dying.lock_files(&[path("a")])?;
        let last = vec![
            append("a/log.jsonl", "{\"last\":\"words\"}\n"),
            replace("a/state.json", "of the dying"),
            append("a/dying.jsonl", "{\"dying\":1}\n"),
            rename("a/other.jsonl", "a/kept.jsonl"),
        ];
        self.commit(&writer, last)?;
        dying_disk.kill();

        let heir = first.lock_files(&[path("a")])?;
        self.commit(&heir, vec![append("a/log.jsonl", "{\"heir\":1}\n")])?;
        self.commit(&heir, vec![replace("a/state.json", "of the heir")])?;
        // Files created by the dead process must not be restored from its log.
        self.commit(&heir, vec![remove("a/dying.jsonl"), remove("a/new")])
    }
}

/// Runs the whole workload; stops at the first failure.
pub(crate) fn run(disk: &SimDisk, options: &Options) -> (Promise, Result<(), StoreError>) {
    let mut promise = Promise::new();
    let mut worker = Worker { disk, options, promise: &mut promise };
    let outcome = (|| {
        let first = worker.open()?;
        worker.play(&first)?;
        let second = worker.open()?;
        worker.share(&second, &first)?;
        worker.hide(&second)?;
        worker.branch(&second, &first)?;
        second.close()?;
        worker.hand_over(&first)
    })();
    (promise, outcome)
}
