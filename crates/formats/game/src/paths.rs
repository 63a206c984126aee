//! The names of a session's files and directories: [`GameStatus`], `DocumentFile`, `LogFile` and `SnapshotFile`.

use std::fmt;

use everturn_json::names::{FilePath, Name, NameError, SceneId, SessionId};

pub(crate) use everturn_json::names::join_names;

/// The directory of all sessions.
pub(crate) const SESSIONS: &str = "sessions";

/// The status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GameStatus {
    /// The session is being played.
    Active,
    /// The session is paused and can be resumed.
    Paused,
    /// The session is completed.
    Completed,
}

impl GameStatus {
    /// Every status, in the order in which a session is searched.
    pub const ALL: [GameStatus; 3] =
        [GameStatus::Active, GameStatus::Paused, GameStatus::Completed];

    /// Returns the name of its directory, which is also the value in the metadata.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            GameStatus::Active => "active",
            GameStatus::Paused => "paused",
            GameStatus::Completed => "completed",
        }
    }

    /// Returns the status with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<GameStatus> {
        GameStatus::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Returns the directory of all sessions with this status.
    #[must_use]
    pub(crate) fn dir(self) -> FilePath {
        join_names(&FilePath::root(), &[SESSIONS, self.as_str()])
    }

    /// Returns the directory of a session with this status.
    pub(crate) fn session(self, id: &SessionId) -> FilePath {
        self.dir().join(id.as_name())
    }
}

impl fmt::Display for GameStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the path of a session's archive.
pub(crate) fn archive(id: &SessionId) -> Result<FilePath, NameError> {
    let name = Name::parse(&format!("{id}.tar.gz"))?;
    Ok(join_names(&FilePath::root(), &[SESSIONS, "archives"]).join(&name))
}

/// The documents directly in a session's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentFile {
    Meta,
    World,
    Player,
    /// Only in [`Dialect::Upstream`](super::Dialect::Upstream).
    Npcs,
}

impl DocumentFile {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            DocumentFile::Meta => "session.meta.json",
            DocumentFile::World => "world.state.json",
            DocumentFile::Player => "player.state.json",
            DocumentFile::Npcs => "npcs.state.json",
        }
    }

    pub(crate) fn in_dir(self, dir: &FilePath) -> FilePath {
        join_names(dir, &[self.as_str()])
    }
}

/// The two logs of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogKind {
    Turns,
    Deltas,
}

impl LogKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            LogKind::Turns => "turns",
            LogKind::Deltas => "deltas",
        }
    }

    pub(crate) fn dir(self, dir: &FilePath) -> FilePath {
        join_names(dir, &[self.as_str()])
    }
}

/// A log file and its turns. A file without a last turn is still being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogFile {
    /// `None` only for the current change log file, whose name does not contain it.
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

impl LogFile {
    pub(crate) fn closed(first: u64, last: u64) -> LogFile {
        LogFile { first: Some(first), last: Some(last) }
    }

    /// Returns the current file, whose first turn is `first`.
    pub(crate) fn current(log: LogKind, first: u64) -> LogFile {
        match log {
            LogKind::Turns => LogFile { first: Some(first), last: None },
            LogKind::Deltas => LogFile { first: None, last: None },
        }
    }

    pub(crate) fn render(self, log: LogKind) -> String {
        let log = log.as_str();
        match (self.first, self.last) {
            (Some(first), Some(last)) => format!("{log}-{first:04}-{last:04}.jsonl"),
            (Some(first), None) => format!("{log}-{first:04}-current.jsonl"),
            (None, _) => format!("{log}-current.jsonl"),
        }
    }

    pub(crate) fn parse(log: LogKind, name: &str) -> Option<LogFile> {
        let inner = name.strip_prefix(log.as_str())?.strip_prefix('-')?.strip_suffix(".jsonl")?;
        if inner == "current" {
            return Some(LogFile { first: None, last: None });
        }
        let (first, last) = inner.split_once('-')?;
        let first = Some(number(first)?);
        let last = if last == "current" { None } else { Some(number(last)?) };
        (last.is_none() || last >= first).then_some(LogFile { first, last })
    }

    pub(crate) fn path(self, log: LogKind, dir: &FilePath) -> FilePath {
        join_names(&log.dir(dir), &[&self.render(log)])
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The name of a snapshot, derived from its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SnapshotFile {
    pub(crate) turn: u64,
    /// Whether the name has the upstream form.
    pub(crate) is_upstream: bool,
}

impl SnapshotFile {
    /// Returns the ID, which is the file name without its extension.
    pub(crate) fn id(self) -> String {
        let turn = self.turn;
        if self.is_upstream {
            format!("snapshot-turn-{turn:04}")
        } else {
            format!("snapshot-{turn:04}")
        }
    }

    pub(crate) fn render(self) -> String {
        format!("{}.json", self.id())
    }

    pub(crate) fn parse(name: &str) -> Option<SnapshotFile> {
        let inner = name.strip_prefix("snapshot-")?.strip_suffix(".json")?;
        match inner.strip_prefix("turn-") {
            Some(turn) => Some(SnapshotFile { turn: number(turn)?, is_upstream: true }),
            None => Some(SnapshotFile { turn: number(inner)?, is_upstream: false }),
        }
    }

    pub(crate) fn dir(session: &FilePath) -> FilePath {
        join_names(session, &["snapshots"])
    }

    pub(crate) fn path(self, session: &FilePath) -> FilePath {
        join_names(&SnapshotFile::dir(session), &[&self.render()])
    }
}

/// Returns the file name of a scene: its ID, prefixed with `scene-` if necessary.
pub(crate) fn scene_file(id: &SceneId) -> Result<Name, NameError> {
    let start = if id.as_str().starts_with("scene-") { "" } else { "scene-" };
    Name::parse(&format!("{start}{id}.json"))
}

pub(crate) fn scene_path(session: &FilePath, id: &SceneId) -> Result<FilePath, NameError> {
    Ok(join_names(session, &["scenes"]).join(&scene_file(id)?))
}

/// Returns the ID of scene number `count` of a session.
pub(crate) fn scene_name(count: u64) -> String {
    format!("scene-{count:03}")
}

/// Returns the form of a session's ID that is used in the IDs of its events and changes.
pub(crate) fn short(session: &str) -> &str {
    session.strip_prefix("session-").filter(|rest| !rest.is_empty()).unwrap_or(session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(log: LogKind, name: &str, first: Option<u64>, last: Option<u64>) {
        let file = LogFile { first, last };
        assert_eq!(LogFile::parse(log, name), Some(file));
        assert_eq!(file.render(log), name);
    }

    #[test]
    fn names_of_log_files_are_read_as_they_are_written() {
        check(LogKind::Turns, "turns-0001-0100.jsonl", Some(1), Some(100));
        check(LogKind::Turns, "turns-0201-current.jsonl", Some(201), None);
        check(LogKind::Turns, "turns-10001-10100.jsonl", Some(10001), Some(10100));
        check(LogKind::Deltas, "deltas-0101-0200.jsonl", Some(101), Some(200));
        check(LogKind::Deltas, "deltas-current.jsonl", None, None);
        assert_eq!(
            LogFile::parse(LogKind::Turns, "turns-1-100.jsonl"),
            Some(LogFile::closed(1, 100))
        );
        for name in
            ["turns-.jsonl", "turns-9-1.jsonl", "turns-+1-2.jsonl", "deltas-1-2.jsonl", "turns-1-2"]
        {
            assert_eq!(LogFile::parse(LogKind::Turns, name), None, "{name}");
        }
    }

    #[test]
    fn names_of_snapshots_and_scenes_are_read_as_they_are_written() {
        for (name, turn, program) in [
            ("snapshot-0100.json", 100, false),
            ("snapshot-turn-0007.json", 7, true),
            ("snapshot-12345.json", 12345, false),
        ] {
            let file = SnapshotFile { turn, is_upstream: program };
            assert_eq!(SnapshotFile::parse(name), Some(file));
            assert_eq!(file.render(), name);
        }
        assert_eq!(SnapshotFile::parse("snapshot-x.json"), None);
        let scene = |id: &str| scene_file(&SceneId::parse(id).unwrap()).unwrap().to_string();
        assert_eq!(scene("scene-012"), "scene-012.json");
        assert_eq!(scene("temple"), "scene-temple.json");
        assert_eq!(scene_name(12), "scene-012");
        assert_eq!(short("session-abc123"), "abc123");
        assert_eq!(short("session-"), "session-");
    }
}
