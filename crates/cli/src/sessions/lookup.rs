//! Finds sessions by name in all sources.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use everturn::finding::Finding;
use everturn::format::{self, SessionFormat};
use everturn::model::SessionRef;
use everturn::names::FilePath;
use everturn::store::OWN_DIR;
use everturn::{LATEST, campaign};

use super::candidates::{
    Candidate, LookupResult, choose, choose_by_id, is_moving, kind_and_id, latest, sessions_of,
};
use super::lookup_errors::{ambiguous, incomplete, listed, no_session, unknown};
use super::{FoundSession, MOVE_TRIES};
use crate::agent_homes;
use crate::context::{Context, next_command};
use crate::error::Error;
use crate::exit::Exit;
use crate::findings::print_findings;
use crate::open_root::{OpenRoot, RootAccess};
use crate::server_roots;
use crate::sources::{SourceLocation, open_sources, selected_sources};

/// How many directories above a file are tried as the directory of the program that wrote it.
const LEVELS: usize = 6;

/// The delay before a session that is being moved is looked up again.
const MOVE_PAUSE: Duration = Duration::from_millis(5);

fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).is_absolute()
}

impl Context {
    /// Finds the session that `name` refers to: an ID, a path, or `latest`; `FORMAT:ID` selects the format. For
    /// reading, the prefix of an ID is enough. A command that changes a session must not affect another one because
    /// the intended session is gone.
    pub(super) fn find(&self, name: &str, access: RootAccess) -> Result<FoundSession, Error> {
        let is_path = is_path(name);
        let root = agent_homes::root_for(self, self.layout.as_deref());
        if is_path && root.is_none() {
            return self.find_around(Path::new(name), access);
        }
        let (kind, id) = kind_and_id(name);
        let is_one = |path: &Path| path.is_file() || campaign_at(path).is_some();
        let here = root.is_none() && is_one(Path::new(name));
        let roots = match open_sources(self, access) {
            Err(_) if here => return self.find_around(Path::new(name), access),
            roots => roots?,
        };
        let mut tries = 0;
        let (chosen, findings) = loop {
            tries += 1;
            let (chosen, findings) = self.choose_once((kind, id), &roots, access)?;
            if tries == MOVE_TRIES || !is_moving(&chosen, &roots, tries)? {
                break (chosen, findings);
            }
            thread::sleep(MOVE_PAUSE);
        };
        match chosen {
            LookupResult::One((root, layout, place)) => {
                FoundSession { root, layout, place }.with(access)
            }
            LookupResult::Several(places) => Err(ambiguous(id, &places)),
            LookupResult::None(_) if here => self.find_around(Path::new(name), access),
            LookupResult::None(others) => {
                // The session may be in an unreadable directory.
                print_findings(&findings);
                self.must_be_open(name, &roots, access)?;
                let begin: Vec<&Candidate> =
                    others.iter().filter(|(_, _, place)| place.id.starts_with(id)).collect();
                Err(match begin.is_empty() {
                    true => unknown(name, &roots, &others),
                    false => incomplete(id, &begin),
                })
            }
        }
    }

    /// Looks up a name in the current lists of sessions; also returns the findings.
    fn choose_once(
        &self,
        (kind, id): (Option<&str>, &str),
        roots: &[(SourceLocation, OpenRoot)],
        access: RootAccess,
    ) -> Result<(LookupResult, Vec<Finding>), Error> {
        let (mut candidates, mut findings) = (Vec::new(), Vec::new());
        for (source, root) in roots {
            let (found, noticed) = sessions_of(self, source, root)?;
            candidates.extend(found);
            findings.extend(noticed);
        }
        candidates.retain(|(_, layout, _)| kind.is_none_or(|kind| kind == layout.name()));
        let chosen = match id {
            LATEST => latest(self, roots, kind)?,
            path if is_path(path) => choose(candidates, |root, place| is_at(root, path, place)),
            id if access == RootAccess::Write => choose(candidates, |_, place| place.id == id),
            id => choose_by_id(candidates, id),
        };
        Ok((chosen, findings))
    }

    /// Returns whether a name with a `#` refers to a session, rather than to a turn of `session`: a complete ID or
    /// path takes precedence, the prefix of an ID comes last.
    pub(super) fn is_session(&self, name: &str, session: &str) -> Result<bool, Error> {
        let below =
            |name: &str| self.root.as_ref().map_or(PathBuf::from(name), |root| root.join(name));
        if Path::new(name).exists() || below(name).exists() {
            return Ok(true);
        }
        if is_path(name) || Path::new(session).exists() {
            return Ok(false);
        }
        let Ok(roots) = open_sources(self, RootAccess::Read) else { return Ok(false) };
        let (mut is_whole, mut is_split, mut begins) = (false, false, false);
        for (source, root) in &roots {
            for (_, layout, place) in sessions_of(self, source, root)?.0 {
                let fits = |(kind, id): (Option<&str>, &str), is: &dyn Fn(&str) -> bool| {
                    kind.is_none_or(|kind| kind == layout.name()) && is(id)
                };
                is_whole |= fits(kind_and_id(name), &|id| place.id == id);
                is_split |= fits(kind_and_id(session), &|id| place.id == id);
                begins |= fits(kind_and_id(name), &|id| place.id.starts_with(id));
            }
        }
        Ok(is_whole || (begins && !is_split))
    }

    /// Returns an error if a source could not be opened, because the session may be in it.
    fn must_be_open(
        &self,
        name: &str,
        roots: &[(SourceLocation, OpenRoot)],
        access: RootAccess,
    ) -> Result<(), Error> {
        for source in selected_sources(self)? {
            let is_open = roots.iter().any(|(open, _)| open.path == source.path);
            if is_open || !server_roots::may_exist(&source.path) {
                continue;
            }
            let access = if source.is_own() { access } else { RootAccess::Read };
            OpenRoot::open(source.dir(), access).map_err(|error| {
                let what = format!("session {name:?} may be in source {}", source.name);
                let place = source.path.display();
                error.saying(format!("{what}, but {place} cannot be opened"))
            })?;
        }
        Ok(())
    }

    /// Finds the session at a path whose root is one of the directories above it.
    fn find_around(&self, path: &Path, access: RootAccess) -> Result<FoundSession, Error> {
        let missing = |cause| {
            Error::new(Exit::Request, format!("there is no session {}", path.display()))
                .caused_by(cause)
                .hint(format!("list all sessions with: {}", next_command("ls")))
        };
        if let Some(found) = self.find_in_file(path)? {
            return Ok(found);
        }
        let real = path.canonicalize().map_err(missing)?;
        // A known root comes first; a file in `chats` belongs to the root above it.
        let mut dirs: Vec<&Path> = real.ancestors().filter(|dir| dir.is_dir()).collect();
        dirs.sort_by_key(|dir| (!dir.join(OWN_DIR).join("wal").is_dir(), dir.ends_with("chats")));
        for dir in dirs {
            let root = OpenRoot::open(dir, RootAccess::Read)?;
            let (candidates, _) = sessions_of(self, &SourceLocation::own(dir), &root)?;
            let at =
                |root: &OpenRoot, place: &SessionRef| is_at(root, &real.to_string_lossy(), place);
            if let LookupResult::One((_, layout, place)) = choose(candidates, at) {
                let root = OpenRoot::open(dir, access)?;
                return Ok(FoundSession { root, layout, place });
            }
        }
        match self.recognise(&real)? {
            LookupResult::One((root, layout, place)) => Ok(FoundSession { root, layout, place }),
            LookupResult::Several(places) => {
                let ids = listed(places.iter().map(|(_, _, place)| place.id.clone()));
                let what = format!("{} has {} sessions", path.display(), places.len());
                let example = places.first().map_or("ID", |(_, _, place)| place.id.as_str());
                let hint = format!("name one as {}/{example}; sessions: {ids}", path.display());
                Err(Error::new(Exit::Request, what).hint(hint))
            }
            LookupResult::None(_) => {
                if let Some(found) = self.find_in_sources(&real)? {
                    return Ok(found);
                }
                let found = campaign_at(&real).filter(|_| access == RootAccess::Read);
                let (dir, place) = found.ok_or_else(|| no_session(path))?;
                let (root, layout) = (OpenRoot::open(&dir, RootAccess::Read)?, campaign::FORMAT);
                Ok(FoundSession { root, layout, place })
            }
        }
    }

    /// Finds the session of another program at a path in its folder that is not a file of its own.
    fn find_in_sources(&self, real: &Path) -> Result<Option<FoundSession>, Error> {
        let has = |source: &SourceLocation| {
            source.dir().canonicalize().is_ok_and(|dir| real.starts_with(dir))
        };
        let Ok(roots) = open_sources(self, RootAccess::Read) else { return Ok(None) };
        for (source, root) in roots.iter().filter(|(source, _)| !source.is_own() && has(source)) {
            let (candidates, _) = sessions_of(self, source, root)?;
            let at =
                |root: &OpenRoot, place: &SessionRef| is_at(root, &real.to_string_lossy(), place);
            if let LookupResult::One((root, layout, place)) = choose(candidates, at) {
                return Ok(Some(FoundSession { root, layout, place }));
            }
        }
        Ok(None)
    }

    /// Finds a session whose path is written as if it were below the file that holds it with others.
    fn find_in_file(&self, path: &Path) -> Result<Option<FoundSession>, Error> {
        let (Some(file), Some(id)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let Some(file) = file.canonicalize().ok().filter(|file| file.is_file()) else {
            return Ok(None);
        };
        let candidates = match self.recognise(&file)? {
            LookupResult::One(one) => vec![one],
            LookupResult::Several(places) => places,
            LookupResult::None(_) => Vec::new(),
        };
        // An ID that is not a valid name is listed under another one.
        let is_it = |place: &SessionRef| {
            let name = place.path.name();
            id.to_str() == Some(&place.id) || name.is_some_and(|name| id == name.as_str())
        };
        let found = candidates.into_iter().find(|(_, _, place)| is_it(place));
        Ok(found.map(|(root, layout, place)| FoundSession { root, layout, place }))
    }

    /// Returns the sessions in a file of another program, whichever directory above it belongs to that program.
    pub(crate) fn recognise(&self, file: &Path) -> Result<LookupResult, Error> {
        let is_wanted = |layout: &&dyn SessionFormat| {
            self.layout.as_deref().is_none_or(|name| name == layout.name())
        };
        let wanted: Vec<_> = format::EXTERNAL
            .iter()
            .copied()
            .filter(is_wanted)
            .filter_map(|layout| Some((layout, layout.capabilities().external?)))
            .collect();
        let dirs = file.ancestors().skip(1).take(LEVELS);
        for dir in dirs.filter(|_| file.is_file()) {
            let Ok(way) = file.strip_prefix(dir) else { continue };
            let Ok(way) = FilePath::parse(&way.to_string_lossy()) else { continue };
            let root = OpenRoot::open(dir, RootAccess::Read)?;
            for (layout, external) in &wanted {
                let places = external.sniff(&root.store(), &way)?;
                let found = places.into_iter().map(|place| (root.clone(), *layout, place));
                match choose(found.collect(), |_, _| true) {
                    LookupResult::None(_) => {}
                    chosen => return Ok(chosen),
                }
            }
        }
        Ok(LookupResult::None(Vec::new()))
    }
}

/// Returns whether a path given by the user leads to a session or into it.
fn is_at(root: &OpenRoot, path: &str, place: &SessionRef) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let way = match (real(Path::new(path)), real(&root.path)) {
        (Some(path), Some(root)) => {
            path.strip_prefix(&root).map(|way| way.to_string_lossy().into_owned()).ok()
        }
        // As messages show paths in a root on a server.
        _ => {
            let below = Path::new(path).strip_prefix(&root.path);
            below.map(|way| way.to_string_lossy().into_owned()).ok()
        }
    };
    let way = FilePath::parse(way.as_deref().unwrap_or(path).trim_end_matches('/'));
    way.is_ok_and(|way| way.is_within(&place.path))
}

/// Returns the directory above a campaign directory, and the session ref in it.
fn campaign_at(dir: &Path) -> Option<(PathBuf, SessionRef)> {
    let above = dir.parent().filter(|_| dir.join("campaign.json").is_file())?;
    let id = dir.file_name()?.to_str()?.to_owned();
    Some((above.to_owned(), SessionRef { path: FilePath::parse(&id).ok()?, id }))
}
