//! [`FilesStream`]: a writer of batches through `everturn commit`: appends, small and staged replacements, renames and
//! removals of files and directories, with and without `--written`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};

use super::{KILLED, Stage, filler};
use crate::error::PowercutError;
use crate::everturn::{Aim, kill_later, short};
use crate::model::{Batch, FilesModel, Span, Tree};
use crate::trees;

/// When a batch is acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Acknowledgement {
    /// With the answer: the batch would survive a power cut.
    Synced,
    /// With the answer, the batch would survive a kill only; with the end of the process, a power cut.
    Written,
}

/// The maximum number of batches for one process.
const MOST_BATCHES: usize = 40;

/// Sizes of large contents, some of them staged beside the log.
const LARGE: &[usize] = &[5_000, 70_000, 200_000];

/// Whole contents by paths from the root.
type Contents = BTreeMap<String, String>;

/// The writer of one directory.
pub(crate) struct FilesStream<'a> {
    stage: &'a Stage<'a>,
    acknowledgement: Acknowledgement,
    rng: Rng,
    contents: Contents,
    /// Counts batches, so that no two are alike.
    generation: usize,
    model: FilesModel,
}

impl<'a> FilesStream<'a> {
    /// Creates a writer of the directory `scope` in `root`.
    pub(crate) fn new(
        stage: &'a Stage<'a>,
        root: &str,
        scope: &str,
        acknowledgement: Acknowledgement,
        rng: Rng,
    ) -> FilesStream<'a> {
        let model = FilesModel {
            root: root.to_owned(),
            scope: scope.to_owned(),
            ready: stage.position(),
            batches: Vec::new(),
            failures: Vec::new(),
        };
        let contents = Contents::new();
        FilesStream { stage, acknowledgement, rng, contents, generation: 0, model }
    }

    /// Writes until it is time to stop.
    pub(crate) fn run(mut self) -> Result<FilesModel, PowercutError> {
        while self.stage.goes_on() && self.model.failures.is_empty() {
            self.one_process()?;
        }
        Ok(self.model)
    }

    fn one_process(&mut self) -> Result<(), PowercutError> {
        let mut arguments = vec!["commit".to_owned(), self.model.scope.clone()];
        if self.acknowledgement == Acknowledgement::Written {
            arguments.push("--written".to_owned());
        }
        let arguments = self.stage.arguments(&self.model.root, &arguments);
        let is_condemned = self.rng.u8(..100) < KILLED;
        let is_aimed = is_condemned && self.rng.bool();
        let aim = is_aimed.then(|| Aim::choose(&mut self.rng));
        let mut writer = self.stage.everturn.start(&arguments, aim)?;
        let first = self.model.batches.len();
        let count = self.rng.usize(1..=MOST_BATCHES);
        let mut open = None;
        let mut killer = None;
        for number in 1..=count {
            if number == count && is_condemned && !is_aimed {
                let after = Duration::from_micros(self.rng.u64(..10_000));
                killer = writer.pid().map(|pid| kill_later(pid, after));
            }
            let batch = BatchPlan::choose(self);
            let begun = self.stage.position();
            let answer = writer.send(&batch.line);
            let position = self.stage.position();
            let is_done = answer.is_some_and(|answer| answer.contains("\"line\""));
            let is_synced = self.acknowledgement == Acknowledgement::Synced;
            let acknowledged = (is_done && is_synced).then_some(position);
            let span = Span { begun, acknowledged };
            if !is_done {
                open = Some((batch.contents, span));
                break;
            }
            self.accept(batch.contents, span);
            if !self.stage.goes_on() {
                break;
            }
        }
        if let Some(killer) = killer {
            killer.join().ok();
        }
        let (status, stderr) = writer.finish()?;
        if status.success() && open.is_none() {
            let position = self.stage.position();
            for batch in self.model.batches.iter_mut().skip(first) {
                batch.span.acknowledged.get_or_insert(position);
            }
            return Ok(());
        }
        if status.code().is_some() && !is_condemned {
            self.model.failures.push(format!("{}: {}", self.model.scope, short(&stderr)));
        }
        self.resynchronise(open)
    }

    fn accept(&mut self, contents: Contents, span: Span) {
        self.model.batches.push(Batch { tree: as_tree(&contents), span });
        self.contents = contents;
    }

    fn resynchronise(&mut self, open: Option<(Contents, Span)>) -> Result<(), PowercutError> {
        // Another process may be in the middle of this recovery; a writer of the scope waits for it.
        let (recovery, window) = self.stage.recover(&self.model.root, &self.model.scope)?;
        if let Err(why) = recovery.success() {
            self.model.failures.push(format!("{}: recovery after a kill: {why}", self.model.scope));
            return Ok(());
        }
        let found = tree_of(&self.stage.root(&self.model.root), &self.model.scope)?;
        if found == as_tree(&self.contents) {
            return Ok(());
        }
        match open {
            Some((contents, span)) if found == as_tree(&contents) => {
                self.stage.prefer_recovery(window);
                self.accept(contents, span);
            }
            _ => {
                let message = format!(
                    "{}: after a kill, the files match neither the state before nor after batch {}",
                    self.model.scope,
                    self.model.batches.len() + 1
                );
                self.model.failures.push(message);
            }
        }
        Ok(())
    }
}

/// Returns the files of a scope, by their paths from the root.
pub(crate) fn tree_of(root: &std::path::Path, scope: &str) -> Result<Tree, PowercutError> {
    let tree = trees::tree(&root.join(scope))?;
    Ok(tree.into_iter().map(|(path, sum)| (format!("{scope}/{path}"), sum)).collect())
}

fn as_tree(contents: &Contents) -> Tree {
    contents.iter().map(|(path, text)| (path.clone(), trees::sum(text.as_bytes()))).collect()
}

/// A batch under construction.
struct BatchPlan {
    steps: Vec<Value>,
    contents: Contents,
    /// Paths that a step has touched; a second step may not touch them.
    used: BTreeSet<String>,
    line: String,
}

impl BatchPlan {
    fn choose(stream: &mut FilesStream<'_>) -> BatchPlan {
        stream.generation += 1;
        let rng = &mut stream.rng;
        let mut plan = BatchPlan {
            steps: Vec::new(),
            contents: stream.contents.clone(),
            used: BTreeSet::new(),
            line: String::new(),
        };
        let scope = stream.model.scope.as_str();
        for _ in 0..rng.usize(1..5) {
            match rng.u8(..100) {
                0..=49 => plan.append(scope, stream.generation, rng),
                50..=79 => plan.replace(scope, stream.generation, rng),
                80..=89 => plan.rename(scope, stream.generation, rng),
                _ => plan.remove(rng),
            }
        }
        if plan.steps.is_empty() {
            plan.append(scope, stream.generation, rng);
        }
        plan.line = json!({ "steps": plan.steps }).to_string();
        plan
    }

    fn is_free(&self, path: &str) -> bool {
        let below = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
        !self.used.iter().any(|used| used == path || below(used, path) || below(path, used))
    }

    fn append(&mut self, scope: &str, generation: usize, rng: &mut Rng) {
        let name = rng.choice(["log", "a/x", "a/y", "b/c/deep"]).unwrap_or("log");
        let file = format!("{scope}/{name}.jsonl");
        if !self.is_free(&file) {
            return;
        }
        let lines: Vec<Value> = (0..rng.usize(1..4))
            .map(|_| json!({"generation": generation, "text": filler(rng)}))
            .collect();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.steps.push(json!({"append": {"file": file, "lines": lines}}));
        self.contents.entry(file.clone()).or_default().push_str(&text);
        self.used.insert(file);
    }

    fn replace(&mut self, scope: &str, generation: usize, rng: &mut Rng) {
        let name = rng.choice(["state", "a/meta", "b/c/state"]).unwrap_or("state");
        let file = format!("{scope}/{name}.json");
        if !self.is_free(&file) {
            return;
        }
        let small = rng.usize(..300);
        let is_large = rng.u8(..100) < 25;
        let length = rng.choice(LARGE).filter(|_| is_large).copied().unwrap_or(small);
        let text = json!({"generation": generation, "text": "z".repeat(length)}).to_string();
        self.steps.push(json!({"replace": {"file": file, "text": text}}));
        self.contents.insert(file.clone(), text);
        self.used.insert(file);
    }

    /// Returns an existing file that no step has touched.
    fn existing(&self, rng: &mut Rng) -> Option<String> {
        let free: Vec<&String> = self.contents.keys().filter(|path| self.is_free(path)).collect();
        rng.choice(free).cloned()
    }

    /// Returns a file, or once in a while its directory.
    fn target(&self, rng: &mut Rng) -> Option<String> {
        let file = self.existing(rng)?;
        let directory = file.rsplit_once('/').map(|(directory, _)| directory.to_owned())?;
        let may_take_all =
            directory.contains('/') && self.is_free(&directory) && rng.u8(..100) < 30;
        Some(if may_take_all { directory } else { file })
    }

    fn rename(&mut self, scope: &str, generation: usize, rng: &mut Rng) {
        let Some(from) = self.target(rng) else { return };
        let to = format!("{scope}/moved{generation}-{}", self.used.len());
        if !self.is_free(&to) {
            return;
        }
        for (path, text) in self.take(&from) {
            let rest = path.strip_prefix(&from).unwrap_or_default();
            self.contents.insert(format!("{to}{rest}"), text);
        }
        self.steps.push(json!({"rename": {"from": from, "to": to}}));
        self.used.extend([from, to]);
    }

    fn remove(&mut self, rng: &mut Rng) {
        let Some(path) = self.target(rng) else { return };
        self.take(&path);
        self.steps.push(json!({"remove": {"path": path}}));
        self.used.insert(path);
    }

    /// Removes a file, or all files of a directory, from the contents.
    fn take(&mut self, path: &str) -> Vec<(String, String)> {
        let directory = format!("{path}/");
        let is_in = |name: &String| name == path || name.starts_with(&directory);
        let names: Vec<String> = self.contents.keys().filter(|name| is_in(name)).cloned().collect();
        names.into_iter().filter_map(|name| self.contents.remove_entry(&name)).collect()
    }
}
