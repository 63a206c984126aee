//! The paths of the files of a home.

use jiff::Timestamp;

use everturn_json::names::{FilePath, Name, NameError, SessionId, join_names};

/// The ending of a log file.
pub(super) const LOG_END: &str = ".jsonl";
/// The ending of the file that records the origin of a branch.
pub(super) const LINEAGE_END: &str = ".everturn.json";
/// The ending of a document of an old session, or of a task.
pub(super) const DOCUMENT_END: &str = ".json";
/// The ending of a tool output file.
pub(super) const OUTPUT_END: &str = ".txt";

/// The time of sessions without one: the index requires a time.
pub(super) const UNKNOWN_TIME: &str = "1970-01-01T00:00:00.000Z";

/// The paths of a home at `base`.
#[derive(Debug, Clone)]
pub(super) struct HomePaths {
    pub(super) base: FilePath,
    /// The directory of the logs, which is needed for every session.
    messages: FilePath,
}

impl Default for HomePaths {
    fn default() -> HomePaths {
        HomePaths::at(FilePath::root())
    }
}

impl HomePaths {
    pub(super) fn at(base: FilePath) -> HomePaths {
        HomePaths { messages: join_names(&base, &["sessions", "messages"]), base }
    }

    fn dir(&self, names: &[&str]) -> FilePath {
        join_names(&self.base, names)
    }

    pub(super) fn sessions(&self) -> FilePath {
        self.dir(&["sessions"])
    }

    pub(super) fn messages(&self) -> FilePath {
        self.messages.clone()
    }

    pub(super) fn legacy_dir(&self) -> FilePath {
        self.dir(&["sessions", "state"])
    }

    pub(super) fn database(&self) -> FilePath {
        self.dir(&["sessions", "state.db"])
    }

    /// The database with the files that SQLite keeps beside it.
    pub(super) fn database_files(&self) -> [FilePath; 3] {
        ["state.db", "state.db-wal", "state.db-shm"].map(|name| self.dir(&["sessions", name]))
    }

    /// The file in which SQLite keeps changes of a database without a write-ahead log.
    pub(super) fn database_journal(&self) -> FilePath {
        self.dir(&["sessions", "state.db-journal"])
    }

    /// The tool outputs. With XDG directories the cache is a root of its own.
    pub(super) fn outputs(&self) -> FilePath {
        self.dir(&["cache", "tool-output"])
    }

    pub(super) fn log(&self, id: &SessionId) -> Result<FilePath, NameError> {
        Ok(self.messages.join(&Name::parse(&format!("{id}{LOG_END}"))?))
    }

    pub(super) fn lineage(&self, id: &SessionId) -> Result<FilePath, NameError> {
        Ok(self.messages.join(&Name::parse(&format!("{id}{LINEAGE_END}"))?))
    }

    pub(super) fn legacy(&self, id: &SessionId) -> Result<FilePath, NameError> {
        Ok(self.legacy_dir().join(&Name::parse(&format!("{id}{DOCUMENT_END}"))?))
    }

    /// The files that a session is read from.
    pub(super) fn of_session(&self, id: &SessionId) -> Result<Vec<FilePath>, NameError> {
        Ok(vec![self.log(id)?, self.lineage(id)?, self.legacy(id)?])
    }

    /// The log of a run that started at that time.
    pub(super) fn run(&self, id: &SessionId, started: Timestamp) -> Result<FilePath, NameError> {
        let day = started.strftime("%Y/%m/%d").to_string();
        let names: Vec<&str> = day.split('/').collect();
        let name = Name::parse(&format!("{id}{LOG_END}"))?;
        Ok(join_names(&self.sessions(), &names).join(&name))
    }
}

/// The id in the name of a file with this ending.
pub(super) fn id_in(name: &Name, end: &str) -> Option<Result<SessionId, NameError>> {
    Some(SessionId::parse(name.as_str().strip_suffix(end)?))
}

/// A time as the program writes it: milliseconds, in UTC.
pub(super) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_that_can_climb_is_refused_before_it_is_a_path() {
        for id in ["../x", "..", "a/b", "a\\b", "", "con", "a\0b", "x..y"] {
            assert!(SessionId::parse(id).is_err(), "{id:?}");
        }
        let long = SessionId::parse(&"x".repeat(250)).unwrap();
        let files = HomePaths::default();
        assert!(files.log(&long).is_err() && files.lineage(&long).is_err());
        assert!(files.legacy(&SessionId::parse(&"x".repeat(251)).unwrap()).is_err());
    }

    #[test]
    fn paths_are_those_of_the_program() {
        let files = HomePaths::default();
        let id = SessionId::parse("0b1c").unwrap();
        assert_eq!(files.log(&id).unwrap().as_str(), "sessions/messages/0b1c.jsonl");
        assert_eq!(files.legacy(&id).unwrap().as_str(), "sessions/state/0b1c.json");
        // The day is that in UTC.
        let started = "2026-03-01T00:30:00+09:00".parse().unwrap();
        assert_eq!(files.run(&id, started).unwrap().as_str(), "sessions/2026/02/28/0b1c.jsonl");
        assert_eq!(stamp(started), "2026-02-28T15:30:00.000Z");
    }
}
