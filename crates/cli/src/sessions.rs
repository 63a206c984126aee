//! Finding the session that the user means, in the root that the user means.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use everturn::disk::RealDisk;
use everturn::finding::{Code, Finding};
use everturn::layout::{self, Editor, Layout, LayoutError, Reader};
use everturn::names::FilePath;
use everturn::store::{FileStore, OWN_DIR, Options, Store, StoreError};
use everturn::view::{Mark, Place, Summary};

use crate::commands::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::{faults, homes, settings};

/// How many names a hint lists.
const NAMES_IN_HINT: usize = 8;

/// What a command wants to do with a root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing is ever written.
    Read,
    /// Commits that wait are replayed.
    Write,
}

/// A root that is open.
pub(crate) struct Root {
    /// As the user would write it.
    pub(crate) path: PathBuf,
    files: Arc<FileStore>,
}

/// A session that was found.
pub(crate) struct Found {
    pub(crate) root: Root,
    pub(crate) layout: &'static dyn Layout,
    pub(crate) place: Place,
}

/// How long a command waits between two attempts, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// Tries something again while another process is at work there, for so long.
pub(crate) fn patiently<T, E: MaybeBusy>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let (start, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        match attempt() {
            Err(error) if error.is_busy() && start.elapsed() < wait => {
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
            other => return other,
        }
    }
}

/// An error that may go away by waiting.
pub(crate) trait MaybeBusy {
    /// Whether another process is at work there.
    fn is_busy(&self) -> bool;
}

impl MaybeBusy for StoreError {
    fn is_busy(&self) -> bool {
        matches!(self, StoreError::Busy { .. })
    }
}

impl MaybeBusy for LayoutError {
    fn is_busy(&self) -> bool {
        matches!(self, LayoutError::Store(error) if error.is_busy())
    }
}

/// Tells people what was noticed.
pub(crate) fn report(findings: &[Finding]) {
    for finding in findings {
        Output::status(&finding.to_string());
    }
}

/// How a command ends that has read what there was to read: damage that took something away is said.
pub(crate) fn exit_after(findings: &[Finding]) -> Exit {
    let is_loss = |finding: &Finding| {
        matches!(finding.code, Code::BadLine | Code::BadRecord | Code::BadChange | Code::NotUtf8)
    };
    if findings.iter().any(is_loss) { Exit::Damaged } else { Exit::Fine }
}

/// The turn that a user means: by its number, the id of an entry, or the id or name of a mark.
pub(crate) fn turn_meant(reader: &dyn Reader, name: &str) -> Result<u64, Error> {
    if let Ok(number) = name.parse::<u64>() {
        return Ok(number);
    }
    let marks = reader.marks()?;
    let named = |mark: &&Mark| mark.name == name;
    let by_id = marks.iter().find(|mark| mark.id == name);
    let of_name = || marks.iter().find(named).filter(|_| marks.iter().filter(named).count() == 1);
    if let Some(mark) = by_id.or_else(of_name).filter(|mark| mark.turn > 0) {
        return Ok(mark.turn);
    }
    if let Some(turn) = reader.turn_of(name)? {
        return Ok(turn);
    }
    let what = match marks.iter().filter(named).count() {
        0 | 1 => format!("there is no turn, entry or mark {name:?}"),
        count => format!("{name:?} is the name of {count} marks"),
    };
    Err(Error::new(Exit::Request, what).hint("everturn mark list SESSION shows the marks"))
}

impl Root {
    fn open(path: &Path, access: Access) -> Result<Root, Error> {
        let failed = |cause| {
            Error::new(Exit::Request, format!("cannot open the root {}", path.display()))
                .caused_by(cause)
                .hint("name the directory that holds the sessions with --root DIR or EVERTURN_ROOT")
        };
        let disk = Arc::new(RealDisk::open(path).map_err(failed)?);
        let files = match access {
            Access::Read => FileStore::open_read_only(disk)?,
            Access::Write => FileStore::open(disk, Options::new(settings::holder()))?,
        };
        Ok(Root { path: path.to_owned(), files: Arc::new(files) })
    }

    /// Opens a root for writing that is made if need be.
    pub(crate) fn create(path: &Path) -> Result<Root, Error> {
        let files = faults::open_store(path)?;
        Ok(Root { path: path.to_owned(), files: Arc::new(files) })
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.files) as Arc<dyn Store>
    }

    /// A path below the root as the user would write it.
    pub(crate) fn shown(&self, path: &FilePath) -> String {
        self.path.join(path.as_str()).to_string_lossy().into_owned()
    }

    /// Says whether the files lack commits, which only somebody who may write can put there.
    pub(crate) fn mention_waiting(&self) {
        match self.files.waiting() {
            Ok(0) => {}
            Ok(count) => {
                let (commits, them) =
                    if count == 1 { ("commit", "it") } else { ("commits", "them") };
                Output::status(&format!(
                    "{count} {commits} of a process that has not finished are not in the files yet; \
                     the next command that writes to {} puts {them} there",
                    self.path.display()
                ));
            }
            Err(error) => {
                let error = Error::from(error).saying("cannot tell whether commits are missing");
                Output::status(&error.to_string());
            }
        }
    }

    /// Says what had to be mended after a crash, which is known once a writer has its lock.
    pub(crate) fn mention_repairs(&self) {
        report(&self.files.take_findings());
    }

    /// Closes a root that was open for writing.
    pub(crate) fn close(self) -> Result<(), Error> {
        Ok(self.files.checkpoint()?)
    }
}

impl Found {
    /// Something that went wrong with the session, with the next command where data are damaged.
    pub(crate) fn failed(&self, error: LayoutError) -> Error {
        let damaged = matches!(error, LayoutError::Damaged { .. });
        let error = Error::from(error);
        let check = || format!("everturn check {}", self.root.shown(&self.place.path));
        if damaged { error.hint(check()) } else { error }
    }
}

impl Context {
    /// The layouts to look at.
    pub(crate) fn layouts(&self) -> Vec<&'static dyn Layout> {
        let wanted =
            |layout: &&dyn Layout| self.layout.as_deref().is_none_or(|name| name == layout.name());
        layout::ALL.iter().copied().filter(|layout| wanted(layout)).collect()
    }

    /// A command of ours that works on the same root.
    pub(crate) fn next_command(&self, words: &str) -> String {
        match &self.root {
            Some(root) => format!("everturn {words} --root {}", root.display()),
            None => format!("everturn {words}"),
        }
    }

    /// The root: what the user named, what the settings say, or the home of the program whose layout was named.
    pub(crate) fn root_dir(&self) -> Result<PathBuf, Error> {
        homes::root(self.root.as_deref(), self.layout.as_deref())
    }

    /// Opens the root for reading.
    pub(crate) fn open_root(&self) -> Result<Root, Error> {
        let root = Root::open(&self.root_dir()?, Access::Read)?;
        root.mention_waiting();
        Ok(root)
    }

    /// Opens a session for reading.
    pub(crate) fn read(&self, name: &str) -> Result<(Found, Box<dyn Reader>), Error> {
        let found = self.find_to_read(name)?;
        let reader = found.layout.open(&found.root.store(), &found.place);
        let reader = reader.map_err(|error| found.failed(error))?;
        report(&reader.findings());
        Ok((found, reader))
    }

    /// Opens a session for reading, and tells which of its turns is meant if the name says so: `SESSION#TURN`, where a
    /// turn is named as everywhere. Searches name what they find like this.
    pub(crate) fn read_at(
        &self,
        name: &str,
    ) -> Result<(Found, Box<dyn Reader>, Option<u64>), Error> {
        let Some((session, turn)) = name.rsplit_once('#') else {
            let (found, reader) = self.read(name)?;
            return Ok((found, reader, None));
        };
        let (found, reader) = self.read(session)?;
        let turn = turn_meant(&*reader, turn)?;
        Ok((found, reader, Some(turn)))
    }

    /// Becomes the writer of a session.
    pub(crate) fn edit(&self, name: &str) -> Result<(Found, Box<dyn Editor>), Error> {
        self.edit_within(name, Duration::ZERO)
    }

    /// Becomes the writer of a session, as soon as those who have it give it back.
    pub(crate) fn edit_within(
        &self,
        name: &str,
        wait: Duration,
    ) -> Result<(Found, Box<dyn Editor>), Error> {
        let found = self.find(name, Access::Write)?;
        let editor = patiently(wait, || found.layout.edit(&found.root.store(), &found.place));
        let editor = editor.map_err(|error| found.failed(error))?;
        found.root.mention_repairs();
        report(&editor.findings());
        Ok((found, editor))
    }

    /// Opens the root for writing.
    pub(crate) fn root_to_write(&self) -> Result<Root, Error> {
        Root::open(&self.root_dir()?, Access::Write)
    }

    /// Finds a session that is to be read.
    pub(crate) fn find_to_read(&self, name: &str) -> Result<Found, Error> {
        let found = self.find(name, Access::Read)?;
        found.root.mention_waiting();
        Ok(found)
    }

    /// Finds a session of which something is to become, in a root that is open for writing.
    pub(crate) fn find_to_write(&self, name: &str) -> Result<Found, Error> {
        self.find(name, Access::Write)
    }

    /// The session that `name` means: an id, the beginning of one, a path, or `latest`.
    fn find(&self, name: &str, access: Access) -> Result<Found, Error> {
        let is_path = name.contains('/') || Path::new(name).is_absolute();
        if is_path && self.root.is_none() {
            return self.find_around(Path::new(name), access);
        }
        let root = Root::open(&self.root_dir()?, access)?;
        let (candidates, findings) = self.places(&root)?;
        let chosen = match name {
            "latest" => self.latest(&root)?,
            path if is_path => choose(candidates, |place| is_at(&root, path, place)),
            id => choose_by_id(candidates, id),
        };
        match chosen {
            Chosen::One(layout, place) => Ok(Found { root, layout, place }),
            Chosen::Several(places) => Err(ambiguous(name, &places)),
            Chosen::None(others) => {
                // The session may be where nobody could look.
                report(&findings);
                Err(self.unknown(name, &root, &others))
            }
        }
    }

    /// The session at a path whose root is one of the directories above it.
    fn find_around(&self, path: &Path, access: Access) -> Result<Found, Error> {
        let missing = |cause| {
            Error::new(Exit::Request, format!("there is no session {}", path.display()))
                .caused_by(cause)
                .hint("everturn ls")
        };
        let real = path.canonicalize().map_err(missing)?;
        // A directory that is known as a root comes first; a file in `chats` belongs to the root above it.
        let mut dirs: Vec<&Path> = real.ancestors().filter(|dir| dir.is_dir()).collect();
        dirs.sort_by_key(|dir| (!dir.join(OWN_DIR).join("wal").is_dir(), dir.ends_with("chats")));
        for dir in dirs {
            let root = Root::open(dir, Access::Read)?;
            let (candidates, _) = self.places(&root)?;
            let at = |place: &Place| is_at(&root, &real.to_string_lossy(), place);
            if let Chosen::One(layout, place) = choose(candidates, at) {
                let root = Root::open(dir, access)?;
                return Ok(Found { root, layout, place });
            }
        }
        Err(Error::new(Exit::Request, format!("{} is no session", path.display()))
            .hint("everturn ls --root DIR lists those of a root"))
    }

    /// Every session of the root, with what could not be looked at.
    fn places(&self, root: &Root) -> Result<(Vec<Candidate>, Vec<Finding>), Error> {
        let (mut candidates, mut findings) = (Vec::new(), Vec::new());
        for layout in self.layouts() {
            let found = layout.places(&root.store())?;
            candidates.extend(found.places.into_iter().map(|place| (layout, place)));
            findings.extend(found.findings);
        }
        Ok((candidates, findings))
    }

    /// The summaries of every session of the root, with what could not be looked at.
    pub(crate) fn summaries(&self, root: &Root) -> Result<(Vec<Summary>, Vec<Finding>), Error> {
        let (mut summaries, mut findings) = (Vec::new(), Vec::new());
        for layout in self.layouts() {
            let (found, noticed) = layout.list(&root.store())?;
            summaries.extend(found);
            findings.extend(noticed);
        }
        newest_first(&mut summaries);
        Ok((summaries, findings))
    }

    fn latest(&self, root: &Root) -> Result<Chosen, Error> {
        let (summaries, _) = self.summaries(root)?;
        let newest = summaries.into_iter().find(|summary| summary.updated.is_some());
        Ok(match newest.and_then(|new| Some((layout::find(new.layout)?, new.place))) {
            Some((layout, place)) => Chosen::One(layout, place),
            None => Chosen::None(Vec::new()),
        })
    }

    fn unknown(&self, name: &str, root: &Root, others: &[Candidate]) -> Error {
        let place = root.path.display();
        if others.is_empty() {
            let new = self.next_command("new game");
            return Error::new(Exit::Request, format!("there are no sessions in {place}"))
                .hint(new);
        }
        let names = listed(others.iter().map(|(_, place)| place.id.clone()));
        Error::new(Exit::Request, format!("there is no session {name:?} in {place}"))
            .hint(format!("there are {names}; {} says more", self.next_command("ls")))
    }
}

/// The last one to be changed comes first.
fn newest_first(summaries: &mut [Summary]) {
    summaries.sort_by(|a, b| (b.updated, &a.place).cmp(&(a.updated, &b.place)));
}

type Candidate = (&'static dyn Layout, Place);

enum Chosen {
    One(&'static dyn Layout, Place),
    Several(Vec<Candidate>),
    /// None of these.
    None(Vec<Candidate>),
}

fn choose(candidates: Vec<Candidate>, wanted: impl Fn(&Place) -> bool) -> Chosen {
    let (mut fit, others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|(_, place)| wanted(place));
    match (fit.pop(), fit.is_empty()) {
        (None, _) => Chosen::None(others),
        (Some((layout, place)), true) => Chosen::One(layout, place),
        (Some(last), false) => {
            fit.push(last);
            Chosen::Several(fit)
        }
    }
}

/// The session with this id, otherwise the one whose id begins like this.
fn choose_by_id(candidates: Vec<Candidate>, id: &str) -> Chosen {
    match choose(candidates, |place| place.id == id) {
        Chosen::None(others) => choose(others, |place| place.id.starts_with(id)),
        chosen => chosen,
    }
}

/// Whether a path that the user has written leads to a session, or into it.
fn is_at(root: &Root, path: &str, place: &Place) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let way = match (real(Path::new(path)), real(&root.path)) {
        (Some(path), Some(root)) => {
            path.strip_prefix(&root).map(|way| way.to_string_lossy().into_owned()).ok()
        }
        _ => None,
    };
    let way = FilePath::parse(way.as_deref().unwrap_or(path).trim_end_matches('/'));
    way.is_ok_and(|way| way.is_within(&place.path))
}

fn ambiguous(name: &str, places: &[Candidate]) -> Error {
    let same = places.iter().all(|(_, place)| place.id == name);
    let names = places.iter().map(|(_, place)| match same {
        true => place.path.to_string(),
        false => place.id.clone(),
    });
    Error::new(Exit::Request, format!("{name:?} means {} sessions", places.len()))
        .hint(format!("name one of {}", listed(names)))
}

/// The first few names, sorted.
fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    names.sort();
    let more = names.len().saturating_sub(NAMES_IN_HINT);
    names.truncate(NAMES_IN_HINT);
    let names = names.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}
