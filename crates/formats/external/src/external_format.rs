//! [`ExternalFormat`] makes a [`SessionFormat`] of a [`ProgramFormat`]; a [`Detector`] recognises its sessions in an unknown
//! file.

use std::sync::Arc;

use super::program_format::{Match, ProgramFormat};
use super::survey::Survey;
use super::{peek, reader, repair_copy, walk};
use everturn_json::names::FilePath;
use everturn_session::format::{
    Capabilities, ExternalSessions, SessionError, SessionFormat, SessionReader,
};
use everturn_session::model::{
    Dependencies, SessionListing, SessionRef, SessionStatus, SessionSummary,
};
use everturn_session::repair::RepairedCopy;
use everturn_session::session_files::SessionFiles;
use everturn_store::{Store, StoreError};

/// Recognises the sessions in an unknown file.
pub(crate) trait Detector: Send + Sync {
    /// Whether the program gives a file of this name to its sessions alone, so that no first bytes are needed.
    fn claims(&self, file: &FilePath) -> bool;

    /// The sessions of a file with this start; none if it is not of this format.
    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &peek::FileStart,
    ) -> Result<Vec<Survey>, SessionError>;
}

/// A `ProgramFormat` as a [`SessionFormat`].
pub(crate) struct ExternalFormat<F: 'static>(pub(crate) &'static F);

impl<F: ProgramFormat> ExternalFormat<F> {
    fn is_ours(
        &self,
        store: &Arc<dyn Store>,
        path: &FilePath,
        fit: Match,
    ) -> Result<bool, SessionError> {
        match fit {
            Match::Yes => Ok(true),
            Match::No => Ok(false),
            Match::Maybe => {
                Ok(self.0.is_session_file(store, path, &peek::FileStart::read(store, path)?))
            }
        }
    }
}

impl<F: ProgramFormat> Detector for ExternalFormat<F> {
    fn claims(&self, file: &FilePath) -> bool {
        self.0.match_path(file) == Match::Yes
    }

    fn sessions(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
        head: &peek::FileStart,
    ) -> Result<Vec<Survey>, SessionError> {
        if self.0.match_path(file) == Match::No || !self.0.is_session_file(store, file, head) {
            return Ok(Vec::new());
        }
        let places = self.0.sessions_in_file(store, file)?;
        places.iter().map(|place| self.0.survey(store, place)).collect()
    }
}

impl<F: ProgramFormat> SessionFormat for ExternalFormat<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { external: Some(self), ..Capabilities::default() }
    }

    fn locate(&self, store: &Arc<dyn Store>) -> Result<SessionListing, SessionError> {
        let walked = walk::find_files(
            store,
            F::DEPTH,
            F::SESSION_DIRS,
            |dir| self.0.enters(dir),
            |path| self.0.match_path(path),
        )?;
        let mut places = SessionListing { sessions: Vec::new(), findings: walked.findings };
        for (path, fit) in walked.files {
            let found = self.is_ours(store, &path, fit).and_then(|is| match is {
                true => self.0.sessions_in_file(store, &path),
                false => Ok(Vec::new()),
            });
            match found {
                Ok(found) => places.sessions.extend(found),
                Err(SessionError::Store(StoreError::Missing { .. })) => {}
                Err(error) => {
                    let place = SessionRef { id: self.0.file_id(&path), path };
                    let format: &dyn SessionFormat = self;
                    places.findings.extend(format.unreadable_summary(&place, &error).findings);
                }
            }
        }
        places.sessions = self.0.merge(store, places.sessions)?;
        let lost = self.0.orphaned_sessions(store, &places.sessions)?;
        places.sessions.extend(lost);
        Ok(places)
    }

    fn snapshot_paths(&self, place: &SessionRef) -> Result<Vec<FilePath>, SessionError> {
        Ok(vec![place.path.clone()])
    }

    fn read_summary(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionSummary, SessionError> {
        let header = self.0.peek(store, place)?;
        let status = match header.is_helper {
            true => SessionStatus::Delegate,
            false if self.0.is_archived(place) => SessionStatus::Archived,
            false => SessionStatus::Active,
        };
        Ok(SessionSummary {
            session: place.clone(),
            layout: F::NAME,
            title: header.title.unwrap_or_else(|| place.id.clone()),
            created: header.created,
            updated: header.updated,
            status,
            turns: header.turns,
            parent: header.parent,
            findings: header.findings,
        })
    }

    fn open_reader(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Box<dyn SessionReader>, SessionError> {
        let survey = Arc::new(self.0.survey(store, place)?);
        Ok(Box::new(reader::ExternalReader {
            format: self.0,
            store: Arc::clone(store),
            survey,
            line: 0,
        }))
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Option<String>, SessionError> {
        self.0.project(store, place)
    }

    fn dependencies(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Dependencies, SessionError> {
        let mut files = walk::everything_at(store, &place.path)?;
        files.extend(self.0.more_files(place)?);
        Ok(Dependencies::on(files))
    }

    fn session_files(
        &self,
        _: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionFiles, SessionError> {
        Ok(SessionFiles::for_ref(place))
    }

    fn stable_key(&self, place: &SessionRef) -> String {
        place.path.to_string()
    }
}

impl<F: ProgramFormat> ExternalSessions for ExternalFormat<F> {
    fn sniff(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        // Even under a matching name, a file must start as the program would start it.
        let fit = match self.0.match_path(file) {
            Match::No => Match::No,
            Match::Yes | Match::Maybe => Match::Maybe,
        };
        if self.is_ours(store, file, fit)? {
            self.0.sessions_in_file(store, file)
        } else {
            Ok(Vec::new())
        }
    }

    fn repaired_copy(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<RepairedCopy, SessionError> {
        repair_copy::repair_copy(self.0, store, place)
    }
}
