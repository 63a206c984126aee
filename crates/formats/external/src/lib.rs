//! Sessions of other programs, which are only ever read.
//!
//! ```text
//! their files -> survey: where each record is -> weave: main line and strands -> entries, when they are asked for
//! ```
//!
//! Each program is a `Format` in a file of its own, with a line in [`LAYOUTS`]. A format says which files are its
//! own, which records they hold and whom each of them follows, and what a record tells. Everything else is the same for
//! all: records are put into one main line and strands (`weave`), shown in the common view (`reader`), and
//! counted. The first pass keeps a few numbers of each record; what it says is read when somebody wants to see it.
//!
//! Invariant: nothing here writes. Every record is in exactly one line, or is a finding.
//!
//! The crate depends on `everturn-session` and what is below it; [`LAYOUTS`] is all that it offers to users.

mod aider;
mod blocks;
mod claude;
mod codex;
mod element;
mod fetch;
mod gemini;
mod glance;
mod goose;
mod mend;
mod opencode;
mod pi;
mod reader;
mod record;
mod sillytavern;
mod survey;
mod walk;
mod weave;

use std::sync::Arc;

use jiff::Timestamp;

use everturn_json::finding::{Code, Finding};
use everturn_json::names::FilePath;
use everturn_session::layout::{Layout, LayoutError, Reader};
use everturn_session::repairs::Mended;
use everturn_session::view::{Place, Places, Summary};
use everturn_store::{Store, StoreError};
use everturn_value::tree::Tree;

pub use codex::is_asked;
use fetch::{Fetch, Window};
use mend::Mending;
use record::Draft;
use survey::Survey;

macro_rules! registry {
    ($($format:expr,)*) => {
        /// The layouts of other programs.
        pub static LAYOUTS: &[&dyn Layout] = &[$(&Foreign(&$format),)*];

        /// The same, to be asked about files of which nothing is known.
        static KNOWERS: &[&dyn Knower] = &[$(&Foreign(&$format),)*];
    };
}

registry! {
    claude::ClaudeCode,
    codex::Codex,
    gemini::GeminiCli,
    sillytavern::SillyTavern,
    pi::Pi,
    opencode::OpenCode,
    goose::Goose,
    aider::Aider,
}

/// Looks into a file of which nothing is known.
trait Knower: Send + Sync {
    /// The sessions of a file that begins like this.
    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &glance::Head,
    ) -> Result<Vec<Survey>, LayoutError>;
}

/// What a check finds in a file of another program.
pub struct Checked {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How many records are good.
    pub records: u64,
}

/// Checks a file, if it is a session of another program.
pub fn check_file(store: &Arc<dyn Store>, file: &FilePath) -> Result<Option<Checked>, LayoutError> {
    let head = glance::Head::read(store, file)?;
    for knower in KNOWERS {
        let surveys = knower.sessions(store, file, &head)?;
        if surveys.is_empty() {
            continue;
        }
        let mut checked = Checked { findings: Vec::new(), records: 0 };
        for survey in surveys {
            checked.records += survey.counts.kept + survey.counts.repaired;
            // Other documents of the session are looked at by themselves.
            let is_ours = |finding: &Finding| {
                finding.file.is_within(file)
                    || matches!(finding.code, Code::OrphanPart | Code::OrphanCall)
            };
            let found = survey.findings.into_iter().chain(survey.remarks).filter(is_ours);
            checked.findings.extend(found);
        }
        return Ok(Some(checked));
    }
    Ok(None)
}

/// Whether a file is a session of another program, going by its name and by how it begins.
pub fn claims(store: &Arc<dyn Store>, file: &FilePath) -> Result<bool, LayoutError> {
    for layout in LAYOUTS {
        if !layout.recognise(store, file)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file belongs to a program, going by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    /// How it begins must tell.
    Perhaps,
    No,
}

/// How a program keeps its sessions.
trait Format: Send + Sync + 'static {
    /// The name of the layout.
    const NAME: &'static str;

    /// How many directories deep its files are, seen from the directory that it calls its own.
    const DEPTH: usize;

    /// The names of the directories below which it keeps its sessions. A link there is worth a word, because links are
    /// not followed.
    const HOMES: &'static [&'static str];

    /// Whether sessions may be in a directory.
    fn enters(&self, dir: &FilePath) -> bool {
        let _ = dir;
        true
    }

    /// Whether a file is one of its sessions, going by its path below the root.
    fn fits(&self, path: &FilePath) -> Fit;

    /// Whether a file is one of its sessions, going by how it begins.
    fn knows(&self, path: &FilePath, head: &glance::Head) -> bool;

    /// The same, where more of the file may have to be looked at.
    fn is_one(&self, store: &Arc<dyn Store>, path: &FilePath, head: &glance::Head) -> bool {
        let _ = store;
        self.knows(path, head)
    }

    /// The sessions of a file.
    fn places(&self, store: &Arc<dyn Store>, file: &FilePath) -> Result<Vec<Place>, LayoutError> {
        let _ = store;
        Ok(vec![Place { id: self.file_id(file), path: file.clone() }])
    }

    /// Sessions whose own files are lost, besides those that are there.
    fn lost(&self, store: &Arc<dyn Store>, there: &[Place]) -> Result<Vec<Place>, LayoutError> {
        let _ = (store, there);
        Ok(Vec::new())
    }

    /// The directory on which the agent of a session works, as the session says at its beginning.
    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        let _ = (store, place);
        Ok(None)
    }

    /// The id of the session in a file, going by its name.
    fn file_id(&self, file: &FilePath) -> String {
        stem(file)
    }

    /// The first pass over a session.
    fn survey(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError>;

    /// What can be said of a session without reading all of it.
    fn glance(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Glance, LayoutError> {
        Ok(Glance::of(&self.survey(store, place)?))
    }

    /// Whoever reads records again.
    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn Fetch>, LayoutError> {
        Ok(Box::new(Window::new(store, files)))
    }

    /// How the file of a session is mended in a copy, or why it is not.
    fn mending(&self, file: &FilePath) -> Result<&'static Mending, &'static str>;

    /// A record as it is shown, where it holds others that are shown by themselves.
    fn shown(&self, record: Tree) -> Tree {
        record
    }

    /// The id of a record.
    fn id(&self, record: &Tree) -> Option<String>;

    /// What a record tells: at least one thing.
    fn drafts(&self, record: &Tree) -> Vec<Draft>;
}

/// What is said of a session in a list.
#[derive(Debug, Clone, Default)]
struct Glance {
    title: Option<String>,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    turns: Option<u64>,
    parent: Option<String>,
    /// Whether a helper of the program talks here, on behalf of another session.
    is_helper: bool,
    findings: Vec<Finding>,
}

impl Glance {
    fn of(survey: &Survey) -> Glance {
        Glance {
            title: survey.title.clone(),
            created: survey.created,
            updated: survey.updated,
            turns: Some(survey.turns()),
            parent: survey.parent.clone(),
            is_helper: survey.is_helper,
            findings: survey.findings.clone(),
        }
    }
}

/// The name of a file without what follows its last dot.
fn stem(file: &FilePath) -> String {
    let name = file.as_str().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// A format as a layout.
struct Foreign<F: 'static>(&'static F);

impl<F: Format> Foreign<F> {
    fn is_ours(
        &self,
        store: &Arc<dyn Store>,
        path: &FilePath,
        fit: Fit,
    ) -> Result<bool, LayoutError> {
        match fit {
            Fit::Yes => Ok(true),
            Fit::No => Ok(false),
            Fit::Perhaps => Ok(self.0.is_one(store, path, &glance::Head::read(store, path)?)),
        }
    }
}

impl<F: Format> Knower for Foreign<F> {
    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &glance::Head,
    ) -> Result<Vec<Survey>, LayoutError> {
        if self.0.fits(file) == Fit::No || !self.0.is_one(store, file, head) {
            return Ok(Vec::new());
        }
        let places = self.0.places(store, file)?;
        places.iter().map(|place| self.0.survey(store, place)).collect()
    }
}

impl<F: Format> Layout for Foreign<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn is_foreign(&self) -> bool {
        true
    }

    fn recognise(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<Place>, LayoutError> {
        // Under a name of its own a file must still begin as the program would begin it.
        let fit = match self.0.fits(file) {
            Fit::No => Fit::No,
            Fit::Yes | Fit::Perhaps => Fit::Perhaps,
        };
        if self.is_ours(store, file, fit)? { self.0.places(store, file) } else { Ok(Vec::new()) }
    }

    fn places(&self, store: &Arc<dyn Store>) -> Result<Places, LayoutError> {
        let walked = walk::walk(
            store,
            F::DEPTH,
            F::HOMES,
            |dir| self.0.enters(dir),
            |path| self.0.fits(path),
        )?;
        let mut places = Places { places: Vec::new(), findings: walked.findings };
        for (path, fit) in walked.files {
            let found = self.is_ours(store, &path, fit).and_then(|is| match is {
                true => self.0.places(store, &path),
                false => Ok(Vec::new()),
            });
            match found {
                Ok(found) => places.places.extend(found),
                Err(LayoutError::Store(StoreError::Missing { .. })) => {}
                Err(error) => {
                    let place = Place { id: self.0.file_id(&path), path };
                    places.findings.extend(self.unreadable(&place, &error).findings);
                }
            }
        }
        let lost = self.0.lost(store, &places.places)?;
        places.places.extend(lost);
        Ok(places)
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        self.0.project(store, place)
    }

    fn read_summary(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Summary, LayoutError> {
        let glance = self.0.glance(store, place)?;
        Ok(Summary {
            place: place.clone(),
            layout: F::NAME,
            title: glance.title.unwrap_or_else(|| place.id.clone()),
            created: glance.created,
            updated: glance.updated,
            status: if glance.is_helper { "helper" } else { "active" }.to_owned(),
            turns: glance.turns,
            parent: glance.parent,
            findings: glance.findings,
        })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Box<dyn Reader>, LayoutError> {
        let survey = Arc::new(self.0.survey(store, place)?);
        Ok(Box::new(reader::SessionReader {
            format: self.0,
            store: Arc::clone(store),
            survey,
            line: 0,
        }))
    }

    fn mended(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Mended, LayoutError> {
        mend::mended(self.0, store, place)
    }

    fn not_offered(&self, what: &'static str) -> LayoutError {
        LayoutError::OnlyRead { layout: F::NAME, what }
    }
}
