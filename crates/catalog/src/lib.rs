//! The catalog: which sessions there are in many places, and a full-text index of what was said in them.
//!
//! `sources -> sessions (summaries, kept by stamps) -> update -> index -> search -> hits -> entries`
//!
//! Everything that the catalog keeps can be deleted at any time: it is made again from the sessions, which it only
//! ever reads. What it keeps is trusted as long as the files that it was read from have the stamps that they had.
//!
//! The modules, in reading order:
//!
//! - `source`: where sessions come from, and what is known of each.
//! - `files`: the one place that touches files: the catalog's directory, and stamps.
//! - `codec`: how the catalog's own files are written.
//! - `summaries`: what is known of sessions at a glance, so that a list of them opens no files.
//! - `words`: from text to the words that are looked for.
//! - `dates`, `query`: what is asked for.
//! - `matches`, `snippet`: where in a text it stands.
//! - `sealed`, `ledger`, `index`: the index, what is in it, and how damage is seen.
//! - `update`: bringing it up to date.
//! - `search`: asking it.

mod codec;
mod dates;
mod error;
mod files;
mod index;
mod ledger;
mod matches;
mod parts;
mod query;
mod sealed;
mod search;
mod snippet;
mod source;
mod summaries;
mod update;
mod words;

use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

use everturn::layout::{LayoutError, Reader};
use everturn::view::Entry;

pub use dates::{Period, period};
pub use error::CatalogError;
pub use query::{Query, QueryError};
pub use search::{Found, Hit, Sort};
pub use snippet::Snippet;
pub use source::{Session, Sessions, Source};
pub use summaries::Detail;
pub use update::{LeftOut, Progress, Updated};

use files::{Directory, Lock};
use index::Opened;
use sealed::Access;
use search::Engine;

/// The catalog of some sources.
///
/// Nothing of what goes wrong with the catalog itself is an error for whoever asks: sessions are listed and searched
/// all the same, only slower, and [`Catalog::take_notes`] says why.
pub struct Catalog {
    dir: Option<Directory>,
    notes: Vec<String>,
    /// The index after it was brought up to date, with the lock that keeps others from changing it.
    current: Option<(Opened, Lock)>,
}

impl Catalog {
    /// The catalog that is kept in a directory, which is made when something is first kept in it. Without one, nothing
    /// is kept.
    #[must_use]
    pub fn new(dir: Option<&Path>) -> Catalog {
        Catalog { dir: dir.map(Directory::at), notes: Vec::new(), current: None }
    }

    /// The sessions of all sources, the last one to be changed first. `now` is the time by the clock of the system,
    /// which the stamps of files are compared with.
    pub fn sessions(&mut self, sources: &[Source], detail: Detail, now: SystemTime) -> Sessions {
        let mut found = Sessions::default();
        for (number, source) in sources.iter().enumerate() {
            if let Err(error) = self.sessions_of(number, source, (detail, now), &mut found) {
                found.sessions.retain(|session| session.source != number);
                found.failed.push((number, error));
            }
        }
        source::newest_first(&mut found.sessions);
        found
    }

    fn sessions_of(
        &mut self,
        number: usize,
        source: &Source,
        (detail, now): (Detail, SystemTime),
        found: &mut Sessions,
    ) -> Result<(), LayoutError> {
        let before = found.sessions.len();
        for layouts in &source.layouts {
            for layout in layouts {
                let what = (number, source, *layout);
                let unkept = summaries::list(self.dir.as_ref(), what, detail, now, found)?;
                if let Some(error) = unkept {
                    self.note("the list of sessions cannot be kept", &error);
                }
            }
            if found.sessions.len() > before {
                break;
            }
        }
        Ok(())
    }

    /// Adds to some sessions what their names alone did not tell.
    pub fn complete(&self, sources: &[Source], sessions: &mut [Session]) {
        summaries::complete(sources, sessions);
        source::newest_first(sessions);
    }

    /// Brings the index up to date with these sessions. If another process is at that, nothing is
    /// done, and the answer says so.
    pub fn update(
        &mut self,
        sources: &[Source],
        sessions: &Sessions,
        now: SystemTime,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Updated {
        match self.try_update(sources, sessions, now, progress) {
            Ok(updated) => updated,
            Err(error) => {
                self.note("the index cannot be brought up to date", &error);
                Updated::default()
            }
        }
    }

    fn try_update(
        &mut self,
        sources: &[Source],
        sessions: &Sessions,
        now: SystemTime,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Updated, CatalogError> {
        let Some(dir) = self.dir.clone() else { return Ok(Updated::default()) };
        let lock = match self.current.take() {
            Some((_, lock)) => lock,
            None => match dir.lock()? {
                Some(lock) => lock,
                None => return Ok(Updated { is_busy: true, ..Updated::default() }),
            },
        };
        let (mut opened, rebuilt) = Opened::open_or_create(&dir)?;
        if let Some(reason) = &rebuilt {
            self.notes.push(format!("the index was damaged and is made anew: {reason}"));
        }
        let what = (sources, sessions.sessions.as_slice());
        let updated = update::update(&dir, &mut opened, what, now, progress)?;
        self.current = Some((opened, lock));
        Ok(Updated { rebuilt, ..updated })
    }

    /// What a query finds in these sessions. Where there is no index that works, the sessions themselves are read.
    pub fn search(
        &mut self,
        sources: &[Source],
        sessions: &Sessions,
        query: &Query,
        (limit, sort): (usize, Sort),
    ) -> Found {
        let asked = self.engine(sources, sessions).and_then(|engine| match engine {
            Some(engine) => engine.search(query, &sessions.sessions, (limit, sort)).map(Some),
            None => Ok(None),
        });
        match asked {
            Ok(Some(found)) => return found,
            Ok(None) => {}
            Err(error) => self.note("the index cannot be used, so the sessions are read", &error),
        }
        search::read_through(sources, sessions, query, limit)
    }

    /// An index to ask again and again, if there is one.
    fn engine(
        &self,
        sources: &[Source],
        sessions: &Sessions,
    ) -> Result<Option<Engine>, CatalogError> {
        if let Some((opened, _)) = &self.current {
            return Engine::new(opened, sources, &sessions.sessions).map(Some);
        }
        let Some(dir) = self.dir.as_ref().filter(|dir| dir.is_there()) else { return Ok(None) };
        if !dir.path(index::INDEX).is_dir() {
            return Ok(None);
        }
        let opened = Opened::open(dir, Access::Read)?;
        Engine::new(&opened, sources, &sessions.sessions).map(Some)
    }

    /// A search that is asked again and again, as somebody types; none, if there is no index that works.
    pub fn searcher(&mut self, sources: &[Source], sessions: &Sessions) -> Option<Search> {
        match self.engine(sources, sessions) {
            Ok(engine) => engine.map(|engine| Search { engine }),
            Err(error) => {
                self.note("the index cannot be used", &error);
                None
            }
        }
    }

    /// What has to be said about the catalog since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn note(&mut self, what: &str, error: &dyn Error) {
        let note = format!("{what}: {}", error::chain(error));
        // Many files may fail for one reason.
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A catalog that has forgotten everything, and learns nothing while this is held.
pub struct Forgotten {
    dir: Directory,
    _lock: Lock,
}

impl Forgotten {
    /// Removes everything that the catalog in a directory knows, so that nothing is left there of what sessions no longer
    /// say. Nothing is done, and nothing returned, while another process changes the index.
    pub fn everything_in(dir: &Path) -> Result<Option<Forgotten>, CatalogError> {
        let dir = Directory::at(dir);
        let Some(lock) = dir.lock()? else { return Ok(None) };
        dir.clear()?;
        Ok(Some(Forgotten { dir, _lock: lock }))
    }

    /// Removes what a list of sessions has noted meanwhile.
    pub fn finish(self) -> Result<(), CatalogError> {
        Ok(self.dir.clear()?)
    }
}

/// An open index.
pub struct Search {
    engine: Engine,
}

impl Search {
    /// What a query finds in the sessions that the search was made for.
    pub fn find(
        &self,
        sessions: &Sessions,
        query: &Query,
        (limit, sort): (usize, Sort),
    ) -> Result<Found, CatalogError> {
        self.engine.search(query, &sessions.sessions, (limit, sort))
    }
}

/// Opens a session for reading; `None` if its source is not among these.
pub fn open(sources: &[Source], session: &Session) -> Result<Option<Box<dyn Reader>>, LayoutError> {
    search::open(sources, session)
}

/// The id of the branch in which a hit is; `None` if it is in the session's main line.
pub fn branch(reader: &dyn Reader, hit: &Hit) -> Result<Option<String>, LayoutError> {
    search::branch(reader, hit)
}

/// The entry that a hit stands for; `None` if it is no longer there.
pub fn entry(reader: &dyn Reader, hit: &Hit) -> Result<Option<Entry>, LayoutError> {
    search::entry(reader, hit)
}
