//! The paths of a home, and the information in file names.
//!
//! `ProjectPart` and `SessionFile` name files; [`RunId`], [`MissionName`] and [`LogName`] are parsed names.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;

use everturn_json::names::{FilePath, Name, SessionId};

/// The directory of all projects.
pub(crate) fn projects_dir() -> FilePath {
    FilePath::root().join_static("projects")
}

/// The directory of sessions outside of project directories, which newer programs use.
pub(crate) fn flat_sessions_dir() -> FilePath {
    FilePath::root().join_static("sessions")
}

/// The directory of plans.
pub(crate) fn plans_dir() -> FilePath {
    FilePath::root().join_static("plans")
}

/// The directory of the daily logs.
pub(crate) fn logs_dir() -> FilePath {
    FilePath::root().join_static("logs")
}

/// The contents of a project's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectPart {
    /// The project's document.
    Info,
    /// The owner of the directory, valid even if another program has overwritten the former.
    Owner,
    Sessions,
    Runs,
    Missions,
    Overrides,
    Memory,
    /// The single mission of old programs.
    LegacyMission,
}

impl ProjectPart {
    pub(crate) const DIRS: [ProjectPart; 5] = [
        ProjectPart::Sessions,
        ProjectPart::Runs,
        ProjectPart::Missions,
        ProjectPart::Overrides,
        ProjectPart::Memory,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ProjectPart::Info => "project.json",
            ProjectPart::Owner => OWN_FILE,
            ProjectPart::Sessions => "sessions",
            ProjectPart::Runs => "runs",
            ProjectPart::Missions => "missions",
            ProjectPart::Overrides => "agent_overrides",
            ProjectPart::Memory => "memory",
            ProjectPart::LegacyMission => "mission.json",
        }
    }

    pub(crate) fn of(self, project: &FilePath) -> FilePath {
        project.join_static(self.as_str())
    }
}

/// Everturn's own file about a project or a session: owners and origins.
const OWN_FILE: &str = "everturn.json";

/// The contents of a session's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionFile {
    Meta,
    Messages,
    /// The permissions of a session, which newer programs keep.
    Permission,
    /// The origin of a branch.
    Lineage,
}

impl SessionFile {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            SessionFile::Meta => "session.yaml",
            SessionFile::Messages => "messages.jsonl",
            SessionFile::Permission => "permission.json",
            SessionFile::Lineage => OWN_FILE,
        }
    }

    pub(crate) fn of(self, session: &FilePath) -> FilePath {
        session.join_static(self.as_str())
    }
}

/// A session id as programs make it: `sess-{seconds}-{eight digits}`.
///
/// ```
/// use everturn_linggen::new_session_id;
///
/// let now = "2023-11-14T22:13:20Z".parse()?;
/// assert_eq!(new_session_id(now, [0xab, 0xc1, 0x23, 0x45]), "sess-1700000000-abc12345");
/// # Ok::<(), jiff::Error>(())
/// ```
#[must_use]
pub fn new_session_id(now: Timestamp, random: [u8; 4]) -> String {
    let [a, b, c, d] = random;
    format!("sess-{}-{a:02x}{b:02x}{c:02x}{d:02x}", now.as_second())
}

/// The creation time of a session, if its id contains one.
pub(crate) fn session_time(id: &str) -> Option<Timestamp> {
    let (seconds, rest) = id.strip_prefix("sess-")?.split_once('-')?;
    let digits = !rest.is_empty()
        && !seconds.is_empty()
        && seconds.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Timestamp::from_second(seconds.parse().ok()?).ok())?
}

/// The name of a run: `run-{agent}-{seconds}-{nanoseconds}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    /// The start time: seconds, and nanoseconds of that second.
    pub started: (i64, u32),
    /// The agent of the run.
    pub agent: String,
}

impl RunId {
    /// Parses an id such as `run-ling-1700000000-123456`.
    #[must_use]
    pub fn parse(id: &str) -> Option<RunId> {
        let mut parts = id.strip_prefix("run-")?.rsplitn(3, '-');
        let (nanos, seconds, agent) = (parts.next()?, parts.next()?, parts.next()?);
        let run = RunId {
            started: (seconds.parse().ok()?, nanos.parse().ok()?),
            agent: agent.to_owned(),
        };
        (run.to_string() == id).then_some(run)
    }

    /// The id of a run that starts now.
    #[must_use]
    pub fn new(agent: &str, now: Timestamp) -> RunId {
        let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or_default();
        RunId { started: (now.as_second(), nanos), agent: agent.to_owned() }
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = self.started;
        write!(f, "run-{}-{seconds}-{nanos}", self.agent)
    }
}

/// The name of a mission: the second in which it was set, and its number within that second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissionName {
    /// The second in which it was set.
    pub second: u64,
    /// 1 for the first mission of a second.
    pub number: u32,
}

impl MissionName {
    /// Parses a file name such as `1700000000.json`, or `1700000000-2.json` for the second one of a second.
    #[must_use]
    pub fn parse(name: &str) -> Option<MissionName> {
        let stem = name.strip_suffix(".json")?;
        let (second, number) = match stem.split_once('-') {
            Some((second, number)) => (second, number.parse().ok()?),
            None => (stem, 1),
        };
        let parsed = MissionName { second: second.parse().ok()?, number };
        (parsed.to_string() == name).then_some(parsed)
    }
}

impl fmt::Display for MissionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            1 => write!(f, "{}.json", self.second),
            number => write!(f, "{}-{number}.json", self.second),
        }
    }
}

/// The spelling of a daily log's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSpelling {
    /// `linggen-agent-2026-01-31.log`, as documented.
    Documented,
    /// `linggen-agent.2026-01-31`, as programs write it.
    Written,
    /// `linggen-2026-01-31.log`, as documented for newer programs.
    NewDocumented,
    /// `linggen.2026-01-31`, as newer programs write it.
    NewWritten,
}

/// A daily log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogName {
    /// The day it covers.
    pub date: Date,
    /// The spelling of its name.
    pub spelling: LogSpelling,
}

impl LogName {
    /// Parses a name in any of its spellings.
    #[must_use]
    pub fn parse(name: &str) -> Option<LogName> {
        let all = [
            LogSpelling::Documented,
            LogSpelling::Written,
            LogSpelling::NewDocumented,
            LogSpelling::NewWritten,
        ];
        all.into_iter().find_map(|spelling| {
            let (before, after) = spelling.around();
            let date = name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
            let parsed = LogName { date, spelling };
            (parsed.to_string() == name).then_some(parsed)
        })
    }
}

impl LogSpelling {
    fn around(self) -> (&'static str, &'static str) {
        match self {
            LogSpelling::Documented => ("linggen-agent-", ".log"),
            LogSpelling::Written => ("linggen-agent.", ""),
            LogSpelling::NewDocumented => ("linggen-", ".log"),
            LogSpelling::NewWritten => ("linggen.", ""),
        }
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.spelling.around();
        write!(f, "{before}{}{after}", self.date)
    }
}

/// The directory of a session in a directory of sessions.
pub(crate) fn session_dir(sessions: &FilePath, id: &SessionId) -> FilePath {
    sessions.join(id.as_name())
}

/// A checked file name with an extension.
pub(crate) fn file_name(
    stem: &str,
    extension: &str,
) -> Result<Name, everturn_json::names::NameError> {
    // The stem is also checked alone: `..` would hide behind an extension.
    let stem = SessionId::parse(stem)?;
    Name::parse(&format!("{stem}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["1700000000.json", "1700000000-2.json", "0.json", "999.json"] {
            assert_eq!(MissionName::parse(name).unwrap().to_string(), name);
        }
        for name in ["x.json", "1.txt", "01.json", "1-1.json", "1-02.json", "-1.json", ".json"] {
            assert_eq!(MissionName::parse(name), None, "{name}");
        }
        for id in ["run-ling-1700000000-123456", "run-a-b-1-0", "run--1-2"] {
            assert_eq!(RunId::parse(id).unwrap().to_string(), id);
        }
        for id in
            ["run-ling-1700000000", "ran-a-1-2", "run-a-x-2", "run-a-1-02", "run-a-1-99999999999"]
        {
            assert_eq!(RunId::parse(id), None, "{id}");
        }
        for name in [
            "linggen-agent-2026-01-31.log",
            "linggen-agent.2026-01-31",
            "linggen-2026-01-31.log",
            "linggen.2026-01-31",
        ] {
            assert_eq!(LogName::parse(name).unwrap().to_string(), name);
        }
        for name in [
            "linggen-agent.2026-02-30",
            "ling.log",
            "linggen-agent-2026-1-31.log",
            "linggen.20260131",
        ] {
            assert_eq!(LogName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn missions_are_ordered_by_number_and_not_by_text() {
        let names = ["10000.json", "999.json", "10000-2.json", "10000-10.json", "10001.json"];
        let mut parsed: Vec<MissionName> =
            names.iter().filter_map(|name| MissionName::parse(name)).collect();
        parsed.sort();
        let sorted: Vec<String> = parsed.iter().map(MissionName::to_string).collect();
        assert_eq!(
            sorted,
            ["999.json", "10000.json", "10000-2.json", "10000-10.json", "10001.json"]
        );
    }

    #[test]
    fn the_id_of_a_session_tells_when_it_was_made() {
        let time = |id: &str| session_time(id).map(|time| time.as_second());
        assert_eq!(time("sess-1700000000-abc12345"), Some(1_700_000_000));
        assert_eq!(time("sess-1700000000-abc12345-branch"), Some(1_700_000_000));
        for id in
            ["default", "sess-", "sess-1", "sess-x-1", "sess--5-a", "sess-99999999999999999-a"]
        {
            assert_eq!(time(id), None, "{id}");
        }
    }
}
