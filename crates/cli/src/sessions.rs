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
use crate::sources::Source;
use crate::{faults, homes, settings};

/// How many directories above a file may be that of the program that wrote it.
const LEVELS: usize = 6;

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
#[derive(Clone)]
pub(crate) struct Root {
    /// As the user would write it.
    pub(crate) path: PathBuf,
    files: Arc<FileStore>,
    access: Access,
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

/// A session, and the turn of it that is meant if the name says so: `SESSION#TURN`, as searches name what they find.
pub(crate) fn reference(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('#') {
        Some((session, turn)) if !session.is_empty() && !turn.is_empty() => (session, Some(turn)),
        _ => (name, None),
    }
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
    pub(crate) fn open(path: &Path, access: Access) -> Result<Root, Error> {
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
        Ok(Root { path: path.to_owned(), files: Arc::new(files), access })
    }

    /// Opens a root for writing that is made if need be.
    pub(crate) fn create(path: &Path) -> Result<Root, Error> {
        let files = faults::open_store(path)?;
        Ok(Root { path: path.to_owned(), files: Arc::new(files), access: Access::Write })
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
    /// The session with its root open for what is wanted. What belongs to other programs is never opened for writing.
    fn with(self, access: Access) -> Result<Found, Error> {
        if access == Access::Read || self.layout.is_foreign() || self.root.access == access {
            return Ok(self);
        }
        let root = Root::open(&self.root.path, access)?;
        Ok(Found { root, ..self })
    }

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
        match &self.layout {
            Some(name) => layout::find(name).into_iter().collect(),
            None => layout::ALL.to_vec(),
        }
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

    /// Opens a session for reading, along one of its branches if one is named.
    pub(crate) fn read_along(
        &self,
        name: &str,
        branch: Option<&str>,
    ) -> Result<(Found, Box<dyn Reader>), Error> {
        let (found, reader) = self.read(name)?;
        let Some(branch) = branch else { return Ok((found, reader)) };
        let along = reader.along(branch).map_err(|error| {
            let list = format!("branches {name}");
            found.failed(error).hint(self.next_command(&list))
        })?;
        Ok((found, along))
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

    /// The session that `name` means: an id, the beginning of one, a path, or `latest`; `LAYOUT:ID` says of which kind.
    fn find(&self, name: &str, access: Access) -> Result<Found, Error> {
        let is_path = name.contains('/') || Path::new(name).is_absolute();
        if is_path && self.root.is_none() {
            return self.find_around(Path::new(name), access);
        }
        let (kind, id) = match name.split_once(':') {
            Some((kind, id)) if layout::find(kind).is_some() => (Some(kind), id),
            _ => (None, name),
        };
        let roots = self.open_sources(access)?;
        let (mut candidates, mut findings) = (Vec::new(), Vec::new());
        for (source, root) in &roots {
            let (found, noticed) = self.places(source, root)?;
            candidates.extend(found);
            findings.extend(noticed);
        }
        candidates.retain(|(_, layout, _)| kind.is_none_or(|kind| kind == layout.name()));
        let chosen = match id {
            "latest" => self.latest(&roots, kind)?,
            path if is_path => choose(candidates, |root, place| is_at(root, path, place)),
            id => choose_by_id(candidates, id),
        };
        match chosen {
            Chosen::One((root, layout, place)) => Found { root, layout, place }.with(access),
            Chosen::Several(places) => Err(ambiguous(id, &places)),
            Chosen::None(others) => {
                // The session may be where nobody could look.
                report(&findings);
                Err(self.unknown(name, &roots, &others))
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
        if let Some(found) = self.find_in_file(path)? {
            return Ok(found);
        }
        let real = path.canonicalize().map_err(missing)?;
        // A directory that is known as a root comes first; a file in `chats` belongs to the root above it.
        let mut dirs: Vec<&Path> = real.ancestors().filter(|dir| dir.is_dir()).collect();
        dirs.sort_by_key(|dir| (!dir.join(OWN_DIR).join("wal").is_dir(), dir.ends_with("chats")));
        for dir in dirs {
            let root = Root::open(dir, Access::Read)?;
            let (candidates, _) = self.places(&Source::own(dir), &root)?;
            let at = |root: &Root, place: &Place| is_at(root, &real.to_string_lossy(), place);
            if let Chosen::One((_, layout, place)) = choose(candidates, at) {
                let root = Root::open(dir, access)?;
                return Ok(Found { root, layout, place });
            }
        }
        match self.recognise(&real)? {
            Chosen::One((root, layout, place)) => Ok(Found { root, layout, place }),
            Chosen::Several(places) => {
                let ids = listed(places.iter().map(|(_, _, place)| place.id.clone()));
                let what = format!("{} has {} sessions", path.display(), places.len());
                let example = places.first().map_or("ID", |(_, _, place)| place.id.as_str());
                let hint = format!("name one as {}/{example}; there are {ids}", path.display());
                Err(Error::new(Exit::Request, what).hint(hint))
            }
            Chosen::None(_) => {
                Err(Error::new(Exit::Request, format!("{} is no session", path.display()))
                    .hint("everturn ls --root DIR lists those of a root"))
            }
        }
    }

    /// A session that is named as if it stood below the file that holds it with others.
    fn find_in_file(&self, path: &Path) -> Result<Option<Found>, Error> {
        let (Some(file), Some(id)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Some(file) = file.canonicalize().ok().filter(|file| file.is_file()) else {
            return Ok(None);
        };
        let candidates = match self.recognise(&file)? {
            Chosen::One(one) => vec![one],
            Chosen::Several(places) => places,
            Chosen::None(_) => Vec::new(),
        };
        let found = candidates.into_iter().find(|(_, _, place)| id.to_str() == Some(&place.id));
        Ok(found.map(|(root, layout, place)| Found { root, layout, place }))
    }

    /// The sessions of a file that another program wrote, whatever directory above it is that program's own.
    pub(crate) fn recognise(&self, file: &Path) -> Result<Chosen, Error> {
        let foreign = layout::FOREIGN.iter().copied();
        let wanted: Vec<_> = foreign
            .filter(|layout| self.layout.as_deref().is_none_or(|name| name == layout.name()))
            .collect();
        for dir in file.ancestors().skip(1).take(LEVELS) {
            let Ok(way) = file.strip_prefix(dir) else { continue };
            let Ok(way) = FilePath::parse(&way.to_string_lossy()) else { continue };
            let root = Root::open(dir, Access::Read)?;
            for layout in &wanted {
                let places = layout.recognise(&root.store(), &way)?;
                let found = places.into_iter().map(|place| (root.clone(), *layout, place));
                match choose(found.collect(), |_, _| true) {
                    Chosen::None(_) => {}
                    chosen => return Ok(chosen),
                }
            }
        }
        Ok(Chosen::None(Vec::new()))
    }

    /// Every session of a root, with what could not be looked at.
    fn places(
        &self,
        source: &Source,
        root: &Root,
    ) -> Result<(Vec<Candidate>, Vec<Finding>), Error> {
        let (mut candidates, mut findings) = (Vec::new(), Vec::new());
        for layouts in source.layouts(self) {
            for layout in layouts {
                let found = layout.places(&root.store())?;
                let places = found.places.into_iter().filter(|place| source.covers(place));
                candidates.extend(places.map(|place| (root.clone(), layout, place)));
                findings.extend(found.findings);
            }
            if !candidates.is_empty() {
                break;
            }
        }
        Ok((candidates, findings))
    }

    /// Every session of all sources. What could not be looked at is told.
    pub(crate) fn candidates(&self, roots: &[(Source, Root)]) -> Result<Vec<Candidate>, Error> {
        let mut candidates = Vec::new();
        for (source, root) in roots {
            let (found, findings) = self.places(source, root)?;
            report(&findings);
            candidates.extend(found);
        }
        Ok(candidates)
    }

    /// The summaries of every session of a source, with what could not be looked at.
    fn summaries_of(
        &self,
        source: &Source,
        root: &Root,
    ) -> Result<(Vec<Summary>, Vec<Finding>), Error> {
        let (mut summaries, mut findings) = (Vec::new(), Vec::new());
        for layouts in source.layouts(self) {
            for layout in layouts {
                let (found, noticed) = layout.list(&root.store())?;
                summaries.extend(found.into_iter().filter(|found| source.covers(&found.place)));
                findings.extend(noticed);
            }
            if !summaries.is_empty() {
                break;
            }
        }
        Ok((summaries, findings))
    }

    /// The summaries of every session of all sources, the last one to be changed first. A source that cannot be read
    /// is told about, and hides no other.
    pub(crate) fn summaries(&self, roots: &[(Source, Root)]) -> Result<Listed, Error> {
        let mut listed = Listed::default();
        for (source, root) in roots {
            match self.summaries_of(source, root) {
                Ok((found, noticed)) => {
                    listed.summaries.extend(found.into_iter().map(|found| (root.clone(), found)));
                    listed.findings.extend(noticed);
                }
                Err(error) if roots.len() == 1 => return Err(error),
                Err(error) => {
                    Output::status(&error.saying(format!("source {}", source.name)).to_string());
                    listed.is_incomplete = true;
                }
            }
        }
        newest_first(&mut listed.summaries);
        Ok(listed)
    }

    fn latest(&self, roots: &[(Source, Root)], kind: Option<&str>) -> Result<Chosen, Error> {
        let listed = self.summaries(roots)?;
        let wanted = |summary: &Summary| {
            summary.updated.is_some() && kind.is_none_or(|kind| kind == summary.layout)
        };
        let newest = listed.summaries.into_iter().find(|(_, summary)| wanted(summary));
        let newest =
            newest.and_then(|(root, new)| Some((root, layout::find(new.layout)?, new.place)));
        Ok(newest.map_or_else(|| Chosen::None(Vec::new()), Chosen::One))
    }

    fn unknown(&self, name: &str, roots: &[(Source, Root)], others: &[Candidate]) -> Error {
        let place: Vec<String> =
            roots.iter().map(|(_, root)| root.path.display().to_string()).collect();
        let place = place.join(", ");
        if others.is_empty() {
            let new = self.next_command("new game");
            return Error::new(Exit::Request, format!("there are no sessions in {place}"))
                .hint(new);
        }
        let names = listed(others.iter().map(|(_, _, place)| place.id.clone()));
        Error::new(Exit::Request, format!("there is no session {name:?} in {place}"))
            .hint(format!("there are {names}; {} says more", self.next_command("ls")))
    }
}

/// Sessions of all sources.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) summaries: Vec<(Root, Summary)>,
    pub(crate) findings: Vec<Finding>,
    /// Whether a source could not be looked at.
    pub(crate) is_incomplete: bool,
}

/// The last one to be changed comes first.
fn newest_first(summaries: &mut [(Root, Summary)]) {
    summaries.sort_by(|(_, a), (_, b)| (b.updated, &a.place).cmp(&(a.updated, &b.place)));
}

pub(crate) type Candidate = (Root, &'static dyn Layout, Place);

/// What a name turned out to mean.
pub(crate) enum Chosen {
    One(Candidate),
    Several(Vec<Candidate>),
    /// None of these.
    None(Vec<Candidate>),
}

fn choose(candidates: Vec<Candidate>, wanted: impl Fn(&Root, &Place) -> bool) -> Chosen {
    let (mut fit, others): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|(root, _, place)| wanted(root, place));
    match (fit.pop(), fit.is_empty()) {
        (None, _) => Chosen::None(others),
        (Some(one), true) => Chosen::One(one),
        (Some(last), false) => {
            fit.push(last);
            Chosen::Several(fit)
        }
    }
}

/// The session with this id, otherwise the one whose id begins like this.
fn choose_by_id(candidates: Vec<Candidate>, id: &str) -> Chosen {
    match choose(candidates, |_, place| place.id == id) {
        Chosen::None(others) => choose(others, |_, place| place.id.starts_with(id)),
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
    let same = places.iter().all(|(_, _, place)| place.id == name);
    let layouts: std::collections::BTreeSet<_> =
        places.iter().map(|(_, layout, _)| layout.name()).collect();
    let by_layout = layouts.len() == places.len();
    let one_root = places.windows(2).all(|pair| match pair {
        [(one, ..), (other, ..)] => one.path == other.path,
        _ => true,
    });
    let names = places.iter().map(|(root, layout, place)| match same {
        true if by_layout && !one_root => format!("{}:{}", layout.name(), place.id),
        true if one_root => place.path.to_string(),
        true => root.shown(&place.path),
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
