//! [`Examination`]: compares a disk after a power cut with what was acknowledged.
//!
//! An examination has four phases: readers before anything is written, recovery, the files after it, and one more item
//! for each session. Each phase adds [`Problem`]s.

mod files;
mod lifecycle;
mod roots;
mod sessions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use crate::error::PowercutError;
use crate::everturn::{Everturn, Outcome};
use crate::model::Model;

/// The kind of a problem.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// Something acknowledged is missing.
    Lost,
    /// Something exists in part, twice, or too early.
    Half,
    /// A reader did not show what exists.
    Reader,
    /// A command failed, or a check found damage.
    Other,
}

/// A difference between the disk and what was acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// The kind.
    pub(crate) fault: Fault,
    /// A description.
    pub(crate) text: String,
}

/// The number of sessions or roots for which some steps are run at one point, since a thousand points take long enough.
/// Before anything is written, `show`, `state`, `ls`, `search` and `check` are run on all of them.
const LIFECYCLES: usize = 1;
const EXPORTS: usize = 2;
const RECOVERED_STATES: usize = 3;
const APPENDS: usize = 2;

/// At one of this many points, a second search looks for items that did not exist yet.
const FUTURE_SEARCHES: u8 = 4;

/// The directory for bytes that could not be put where they belong.
const QUARANTINE: &str = ".everturn/quarantine";

/// One examination of a disk after a power cut.
pub(crate) struct Examination<'a> {
    everturn: &'a Everturn,
    top: &'a Path,
    position: usize,
    models: Vec<&'a Model>,
    /// The differences found.
    pub(crate) problems: Vec<Problem>,
    /// How many acknowledged commits were checked.
    pub(crate) acknowledged: usize,
    /// How many messages `show` printed of each session before anything was written.
    shown: BTreeMap<String, usize>,
    asks_for_future: bool,
}

impl<'a> Examination<'a> {
    /// Creates an examination of the disk mounted at `top`, which was cut at `position`.
    pub(crate) fn new(
        everturn: &'a Everturn,
        top: &'a Path,
        position: usize,
        models: &'a [Model],
        rng: &mut Rng,
    ) -> Examination<'a> {
        let (mut tracker, mut models): (Vec<&Model>, Vec<&Model>) =
            models.iter().partition(|model| matches!(model, Model::Lifecycle(_)));
        rng.shuffle(&mut tracker);
        tracker.truncate(LIFECYCLES);
        rng.shuffle(&mut models);
        models.append(&mut tracker);
        Examination {
            everturn,
            top,
            position,
            models,
            problems: Vec::new(),
            acknowledged: 0,
            shown: BTreeMap::new(),
            asks_for_future: rng.u8(..FUTURE_SEARCHES) == 0,
        }
    }

    /// Runs the readers before anything is written.
    pub(crate) fn read(&mut self) -> Result<(), PowercutError> {
        let mut exports = 0..EXPORTS;
        for model in self.models.clone() {
            match model {
                Model::Session(model) => self.read_session(model, exports.next().is_some())?,
                Model::Lifecycle(model) => lifecycle::read_lifecycle(self, model),
                // Plain files have no reader except the process that recovers.
                Model::Files(_) => {}
            }
        }
        for root in self.roots() {
            self.list(&root)?;
            self.search(&root)?;
            self.check(&root, roots::WAITING, Fault::Reader)?;
        }
        Ok(())
    }

    /// Runs a writer that recovers each root. The power may be cut again in the middle of this.
    pub(crate) fn recover(&mut self) -> Result<(), PowercutError> {
        for root in self.roots() {
            let before = self.quarantine(&root);
            let outcome = self.everturn.recover(&self.path(&root), "zz")?;
            if let Err(why) = outcome.success() {
                self.add(Fault::Other, format!("recovery of {root}: {why}"));
            }
            let is_reported = outcome.stderr.contains(QUARANTINE);
            if self.quarantine(&root).len() > before.len() && !is_reported {
                let text = format!("recovery of {root} does not report the data it quarantines");
                self.add(Fault::Other, text);
            }
        }
        Ok(())
    }

    /// Compares the disk after recovery.
    pub(crate) fn compare(&mut self) -> Result<(), PowercutError> {
        let mut states = 0..RECOVERED_STATES;
        for model in self.models.clone() {
            match model {
                Model::Session(model) => self.compare_session(model, states.next().is_some())?,
                Model::Files(model) => files::compare_files(self, model)?,
                Model::Lifecycle(model) => lifecycle::compare_lifecycle(self, model)?,
            }
        }
        for root in self.roots() {
            self.check(&root, &[], Fault::Other)?;
        }
        Ok(())
    }

    /// Appends one more item to some sessions.
    pub(crate) fn go_on(&mut self) -> Result<(), PowercutError> {
        let is_session = |model: &&&Model| matches!(model, Model::Session(_));
        let sessions: Vec<&Model> =
            self.models.iter().filter(is_session).rev().take(APPENDS).copied().collect();
        for model in sessions {
            if let Model::Session(model) = model {
                self.append(model)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, fault: Fault, text: impl Into<String>) {
        self.problems.push(Problem { fault, text: text.into() });
    }

    /// Returns the roots, each once.
    fn roots(&self) -> Vec<String> {
        let mut roots: Vec<String> = self
            .models
            .iter()
            .map(|model| match model {
                Model::Session(model) => model.root.clone(),
                Model::Files(model) => model.root.clone(),
                Model::Lifecycle(model) => model.root.clone(),
            })
            .collect();
        roots.sort();
        roots.dedup();
        roots
    }

    /// Returns the names in the quarantine of a root.
    fn quarantine(&self, root: &str) -> Vec<String> {
        let entries = self.path(root).join(QUARANTINE).read_dir();
        let entries = entries.into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn path(&self, root: &str) -> PathBuf {
        self.top.join(root)
    }

    fn run(&self, root: &str, arguments: &[&str], input: &str) -> Result<Outcome, PowercutError> {
        let root = self.path(root).display().to_string();
        self.everturn.run(&[&["--root", root.as_str()], arguments].concat(), input)
    }
}
