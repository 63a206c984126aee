//! Random operations compared with the store in memory, by seed.

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{Fault, FaultKind};
use everturn_store::{Durability, FileStore, Options, Step, StoreError, Writer};

use crate::support::{both, data, path};
use random::Random;
use steps::{Maker, SCOPES, durability, survival, trouble};
use world::{Outcome, World, same};

pub(crate) mod random;
mod steps;
mod world;

/// Seeds that have found a bug, by what they found.
const FOUND: &[(&str, u64)] = &[
    ("a commit was reported as undone although opening the store again completes it", 9),
    ("a flush that failed voided a commit that was acknowledged as written", 30),
    ("a batch was written where one that was taken back would have ended", 74),
    ("filling a log that its maker had not filled erased its header", 80),
    ("lines torn behind those of another program were added again, and the torn ones kept", 430),
    ("a rename into a new directory lost both names", 1016),
    ("a checkpoint left out the name of a directory that another process had made", 3746),
    ("a file that was replaced and then renamed came back as it was before", 13054),
    ("a commit that was found absent came back with the next power cut", 3193),
    ("a tail that was cut came back below the lines that took its place", 119),
    ("a scope was given back although the log did not say that it was settled", 654),
    ("lines lost behind those of another program were added at the end, and a hole stayed", 937),
];

/// The number of seeds in a normal run, and of operations for each.
const SEEDS: u64 = 80;
const OPERATIONS: usize = 200;

/// The maximum number of live processes.
const MOST_PROCESSES: usize = 3;

/// The operations so far, printed if the test fails.
struct Trace {
    seed: u64,
    done: Vec<String>,
}

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.done.iter().rev().take(12).rev();
            println!("seed {}, {} operations, the last:", self.seed, self.done.len());
            last.for_each(|operation| println!("  {operation}"));
        }
    }
}

struct Run {
    random: Random,
    maker: Maker,
    world: World,
    trace: Trace,
}

/// One batch of a group: its writer, and the model's outcome.
struct Asked {
    writer: usize,
    steps: Vec<Step>,
    durability: Durability,
}

impl Run {
    fn new(seed: u64, options: Options) -> Run {
        Run {
            random: Random::new(seed),
            maker: Maker::new(),
            world: World::new(options),
            trace: Trace { seed, done: Vec::new() },
        }
    }

    fn say(&mut self, what: String) {
        self.trace.done.push(what);
    }

    fn step(&mut self) {
        if self.world.living.is_empty() {
            self.say("start".to_owned());
            self.world.start();
        }
        let index = self.random.below(self.world.living.len());
        match self.random.below(100) {
            0..=54 => self.commit(index),
            55..=64 => self.commit_group(index),
            65..=72 => self.lock(index),
            73..=76 => self.free(index),
            77..=78 => self.checkpoint(index),
            79..=81 => self.start_or_close(index),
            82..=84 => self.kill(index),
            85..=87 => self.power_cut(),
            88..=91 => self.foreign(),
            92..=97 => self.commit_with_fault(index),
            _ => {
                self.say("compare".to_owned());
                self.world.compare_shown();
            }
        }
    }

    fn ask(&mut self, index: usize) -> Option<Asked> {
        let writers = self.world.living[index].writers.len();
        if writers == 0 {
            return None;
        }
        let writer = self.random.below(writers);
        let scopes = self.world.living[index].writers[writer].0.clone();
        let now = self.world.model.contents();
        let steps = self.maker.batch(&mut self.random, &scopes, &now);
        Some(Asked { writer, steps, durability: durability(&mut self.random) })
    }

    fn do_commit(&mut self, index: usize, asked: &Asked) -> Outcome {
        let (_, writer) = &self.world.living[index].writers[asked.writer];
        writer.commit(asked.steps.clone(), asked.durability)
    }

    fn commit(&mut self, index: usize) {
        let Some(asked) = self.ask(index) else { return self.lock(index) };
        self.say(format!("{index} commits {:?} {}", asked.durability, shown(&asked.steps)));
        let outcome = self.do_commit(index, &asked);
        let scopes = &self.world.living[index].writers[asked.writer].0;
        let (before, expected) = self.world.expect(scopes, &asked.steps);
        same(&outcome, &expected);
        if outcome.is_ok() {
            self.world.note(index, before, asked.durability);
        }
    }

    fn group(&mut self, index: usize) -> Vec<Asked> {
        let count = 2 + self.random.below(3);
        (0..count).filter_map(|_| self.ask(index)).collect()
    }

    fn do_group(&self, index: usize, group: &[Asked]) -> Vec<Outcome> {
        let process = &self.world.living[index];
        let batch = |asked: &Asked| {
            (&process.writers[asked.writer].1, asked.steps.clone(), asked.durability)
        };
        let batches = group.iter().map(batch).collect();
        process.store.commit_all(batches)
    }

    fn commit_group(&mut self, index: usize) {
        let group = self.group(index);
        for asked in &group {
            let steps = shown(&asked.steps);
            self.say(format!("{index} commits in a group {:?} {steps}", asked.durability));
        }
        let outcomes = self.do_group(index, &group);
        assert_eq!(outcomes.len(), group.len());
        for (asked, outcome) in group.iter().zip(&outcomes) {
            let scopes = &self.world.living[index].writers[asked.writer].0;
            let (before, expected) = self.world.expect(scopes, &asked.steps);
            same(outcome, &expected);
            if outcome.is_ok() {
                self.world.note(index, before, asked.durability);
            }
        }
    }

    fn lock(&mut self, index: usize) {
        let count = if self.random.once_in(3) { 2 } else { 1 };
        let mut scopes: Vec<FilePath> =
            (0..count).map(|_| path(self.random.pick::<&str>(SCOPES))).collect();
        scopes.dedup();
        self.say(format!("{index} locks {scopes:?}"));
        self.world.lock(index, scopes);
    }

    fn free(&mut self, index: usize) {
        let writers = self.world.living[index].writers.len();
        if writers > 0 {
            let (writer, release) = (self.random.below(writers), self.random.once_in(2));
            self.say(format!("{index} gives writer {writer} back"));
            self.world.free(index, writer, release);
        }
    }

    fn checkpoint(&mut self, index: usize) {
        self.say(format!("{index} checkpoints"));
        self.world.living[index].store.checkpoint().unwrap();
        self.world.living[index].fate.earlier.clear();
    }

    fn start_or_close(&mut self, index: usize) {
        if self.world.living.len() < MOST_PROCESSES {
            self.say("start".to_owned());
            return self.world.start();
        }
        self.say(format!("{index} closes"));
        while !self.world.living[index].writers.is_empty() {
            let release = self.random.once_in(2);
            self.world.free(index, 0, release);
        }
        let process = self.world.living.remove(index);
        if self.random.once_in(2) {
            process.store.close().unwrap();
        } else {
            drop(process);
        }
        self.say("start".to_owned());
        self.world.start();
    }

    fn kill(&mut self, index: usize) {
        let again = self.random.once_in(2);
        self.say(format!("{index} is killed{}", if again { ", start" } else { "" }));
        self.world.kill(index);
        if again {
            self.world.start();
        }
    }

    fn power_cut(&mut self) {
        let first = survival(&mut self.random);
        self.say(format!("power cut {first:?}, start"));
        while !self.world.living.is_empty() {
            self.world.kill(0);
        }
        self.world.disk.power_cut(first);
        if self.random.once_in(3) {
            self.crash_in_recovery();
        }
        let disk = self.world.disk.process();
        let store = FileStore::open(std::sync::Arc::new(disk), self.world.options.clone());
        drop(store.unwrap());
        self.world.compare(true);
    }

    /// Cuts the power again during replay.
    fn crash_in_recovery(&mut self) {
        let disk = &self.world.disk;
        let at = disk.changes() + self.random.next() % 30;
        disk.inject(Fault { at, kind: FaultKind::Crash, lasting: false });
        drop(crate::support::open(disk));
        let second = survival(&mut self.random);
        self.world.disk.power_cut(second);
        self.say(format!("  and again at change {at}, {second:?}"));
    }

    fn foreign(&mut self) {
        let files: Vec<FilePath> = data(&self.world.disk).into_keys().collect();
        if files.is_empty() {
            return;
        }
        let file = self.random.pick(&files).clone();
        let line = self.maker.line(&mut self.random, "foreign");
        if self.world.add_foreign(&file, &line) {
            self.say(format!("another program adds {} to {file}", text(&line)));
        }
    }

    /// Makes one or more commits with a fault.
    fn commit_with_fault(&mut self, index: usize) {
        let group = if self.random.once_in(3) {
            self.group(index)
        } else {
            self.ask(index).into_iter().collect()
        };
        if group.is_empty() {
            return;
        }
        let (trouble, ahead) = (trouble(&mut self.random), self.random.next() % 16);
        let reading = matches!(trouble, FaultKind::ReadError(_));
        let disk = &self.world.disk;
        let at = ahead + if reading { disk.reads() } else { disk.changes() };
        let lasting = self.random.once_in(4);
        disk.inject(Fault { at, kind: trouble, lasting });
        let outcomes = match &group[..] {
            [asked] => vec![self.do_commit(index, asked)],
            _ => self.do_group(index, &group),
        };
        self.world.disk.clear_faults();
        for (asked, outcome) in group.iter().zip(&outcomes) {
            let outcome = outcome.as_ref().map(|_| ()).map_err(ToString::to_string);
            let (steps, how) = (shown(&asked.steps), asked.durability);
            self.say(format!("{index} {trouble:?} {ahead} {lasting} {how:?} {steps}: {outcome:?}"));
        }
        self.settle_fault(index, &group, &outcomes, trouble);
    }

    fn settle_fault(
        &mut self,
        index: usize,
        group: &[Asked],
        outcomes: &[Outcome],
        trouble: FaultKind,
    ) {
        let mut open = Vec::new();
        for (asked, outcome) in group.iter().zip(outcomes) {
            let scopes = self.world.living[index].writers[asked.writer].0.clone();
            match outcome {
                Ok(_) => {
                    let (before, expected) = self.world.expect(&scopes, &asked.steps);
                    same(outcome, &expected);
                    self.world.note(index, before, asked.durability);
                }
                Err(StoreError::Poisoned { .. }) => open.push(asked.steps.clone()),
                Err(_) => {}
            }
        }
        if open.is_empty() {
            return self.world.compare_shown();
        }
        // Their outcome is known once the store is reopened.
        let later = self.world.possible(&open);
        let fate = &mut self.world.living[index].fate;
        (fate.later, fate.lost) = (later, trouble == FaultKind::FlushLost);
        self.world.kill(index);
        self.world.start();
    }
}

fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() > 60 { format!("{:.40}… ({} bytes)", text, text.len()) } else { text.into() }
}

fn shown(steps: &[Step]) -> String {
    let show = |step: &Step| match step {
        Step::Append { file, at, lines } => format!("append {file} {at:?} {:?}", text(lines)),
        Step::Replace { file, expect, bytes, mode } => {
            format!("replace {file} {expect:?} {mode:?} {:?}", text(bytes))
        }
        Step::Rename { from, to } => format!("rename {from} {to}"),
        Step::Remove { path } => format!("remove {path}"),
    };
    steps.iter().map(show).collect::<Vec<_>>().join("; ")
}

fn run(seed: u64) {
    for options in both() {
        let mut run = Run::new(seed, options);
        for _ in 0..OPERATIONS {
            run.step();
        }
        run.power_cut();
    }
}

#[test]
fn random_operations_do_what_the_model_does() {
    #[expect(clippy::disallowed_methods, reason = "a longer run is asked for from outside")]
    let seeds = std::env::var("EVERTURN_MODEL_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    (0..seeds).for_each(run);
    println!("model suite: {seeds} seeds, {} operations", 2 * seeds * OPERATIONS as u64);
}

#[test]
fn seeds_that_have_found_something_find_nothing_now() {
    for (what, seed) in FOUND {
        println!("{what}");
        run(*seed);
    }
}
