//! [`Finding`]: a problem in a file, with its position, its [`FindingCode`] and a message.

mod remedy;

use std::fmt;

use crate::names::FilePath;

/// One problem in a stored file.
///
/// A finding never stops a reader: everything else in the file still loads. It is built by [`Finding::new`] only.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The file, relative to the root that was read.
    pub file: FilePath,
    /// The line, counted from 1, if the file has lines and the number is known.
    pub line: Option<u64>,
    /// The offset of the problem, counted from 0.
    pub offset: Option<u64>,
    /// The kind of problem.
    pub code: FindingCode,
    /// A description with details.
    pub message: String,
}

impl Finding {
    /// A finding about a whole file.
    ///
    /// ```
    /// use everturn_json::finding::{Finding, FindingCode};
    /// use everturn_json::names::FilePath;
    ///
    /// let file = FilePath::parse("log.jsonl")?;
    /// let finding = Finding::new(&file, FindingCode::BadLine, "not JSON").at_line(3).at_offset(120);
    /// assert_eq!((finding.line, finding.offset), (Some(3), Some(120)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(file: &FilePath, code: FindingCode, message: impl Into<String>) -> Finding {
        Finding { file: file.clone(), line: None, offset: None, code, message: message.into() }
    }

    /// The same finding about a line, counted from 1, if it is known.
    #[must_use]
    pub fn at_line(self, line: impl Into<Option<u64>>) -> Finding {
        Finding { line: line.into(), ..self }
    }

    /// The same finding about an offset, counted from 0, if it is known.
    #[must_use]
    pub fn at_offset(self, offset: impl Into<Option<u64>>) -> Finding {
        Finding { offset: offset.into(), ..self }
    }
}

macro_rules! codes {
    ($name:ident: $($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// The kind of a [`Finding`]; its text is stable and documented.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All codes.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The text that `--json` prints and the documentation explains.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

codes! {
    FindingCode:
    /// The file ends inside a record, as after a kill or a power cut.
    TornTail = "torn-tail",
    /// The file ends in NUL bytes, as after a power cut on some file systems.
    NulTail = "nul-tail",
    /// A line that is not JSON.
    BadLine = "bad-line",
    /// Two or more records on one line; all of them are read.
    GluedRecords = "glued-records",
    /// Bytes that are not UTF-8.
    NotUtf8 = "not-utf8",
    /// A document that is not JSON.
    BadDocument = "bad-document",
    /// A document without any content, as after a power cut.
    EmptyDocument = "empty-document",
    /// An object has the same key twice; readers use the last one.
    DuplicateKey = "duplicate-key",
    /// A name that Everturn refuses to use.
    BadName = "bad-name",
    /// A symbolic link that points out of the root.
    LinkOutside = "link-outside",
    /// A file or directory that could not be read.
    Unreadable = "unreadable",
    /// A session that another process is writing, so that no consistent view of it could be read.
    Busy = "busy",
    /// Something blocks the replay of a commit that is only in the log of a dead process.
    CannotReplay = "cannot-replay",
    /// A write-ahead log that cannot be read.
    BadLog = "bad-log",
    /// Bytes that are not a record and were moved to the quarantine.
    SetAside = "set-aside",
    /// Whole records or a document that were removed from a file and are kept in the quarantine.
    Quarantined = "quarantined",
    /// A record that does not belong in its file: fields are missing or invalid.
    BadRecord = "bad-record",
    /// The metadata of a session are missing or unusable.
    BadMetadata = "bad-metadata",
    /// An unusable snapshot; an older one is used.
    BadSnapshot = "bad-snapshot",
    /// A change that does not match the state that it should be applied to.
    BadChange = "bad-change",
    /// A file that another program changed after a commit that was replayed.
    ChangedByOthers = "changed-by-others",
    /// A session without metadata, as some programs leave it.
    NoMetadata = "no-metadata",
    /// The metadata of a session contradict its files.
    WrongMetadata = "wrong-metadata",
    /// A document belongs to another session, or to a directory of another status.
    WrongPlace = "wrong-place",
    /// A session is in more than one directory.
    SessionTwice = "session-twice",
    /// A required file is missing.
    MissingFile = "missing-file",
    /// A file that does not belong to a session.
    UnknownFile = "unknown-file",
    /// A turn occurs more than once.
    DuplicateTurn = "duplicate-turn",
    /// Turns are missing although later ones exist.
    MissingTurns = "missing-turns",
    /// Lines are not in the order of their turns.
    TurnOrder = "turn-order",
    /// A turn was written again, with the same time; the later line counts.
    SupersededTurn = "superseded-turn",
    /// Turn numbers start again, as when a program resumes without knowing the last one.
    RestartedTurns = "restarted-turns",
    /// A line of a turn that is outside the range in the file's name.
    WrongRange = "wrong-range",
    /// Two files of a log have names with overlapping ranges of turns.
    FileOverlap = "file-overlap",
    /// The ID of an event or a change occurs more than once.
    DuplicateId = "duplicate-id",
    /// The ID of an event or a change contradicts its turn.
    WrongId = "wrong-id",
    /// A change whose turn or event does not exist.
    DanglingChange = "dangling-change",
    /// The metadata of a snapshot are wrong.
    SnapshotFacts = "snapshot-facts",
    /// A snapshot does not follow from the previous one and the changes since then.
    SnapshotDiffers = "snapshot-differs",
    /// A state file does not follow from the changes.
    StateDiffers = "state-differs",
    /// A referenced character or area does not exist.
    UnknownReference = "unknown-reference",
    /// The file of an ended scene does not follow from the changes.
    SceneDiffers = "scene-differs",
    /// The turns of a scene are invalid.
    SceneRange = "scene-range",
    /// A turn belongs to a scene that does not exist.
    MissingScene = "missing-scene",
    /// More than a hundred turns are between two snapshots.
    NoSnapshot = "no-snapshot",
    /// An index that does not match the logs.
    StaleIndex = "stale-index",
    /// A file is larger than its target size.
    SizeOverTarget = "size-over-target",
    /// A file is larger than its maximum size.
    SizeOverMax = "size-over-max",
    /// The parent of this session is missing.
    MissingParent = "missing-parent",
    /// A session of a newer version, which is not read.
    NewerVersion = "newer-version",
    /// The index of a home's sessions is unusable; the sessions are found by their files.
    BadIndex = "bad-index",
    /// Messages with a role that is not known, as of a newer program.
    UnknownRole = "unknown-role",
    /// A tool call without a result, or a result without a call.
    OrphanCall = "orphan-call",
    /// A file with secrets that other users can read.
    OpenSecret = "open-secret",
    /// A setting with an invalid value.
    BadSetting = "bad-setting",
    /// A tag that should change a tool and was not understood; it stays in the text.
    OddTag = "odd-tag",
    /// A record whose parent is missing; it is read after the previous record.
    DanglingParent = "dangling-parent",
    /// A part of a missing message.
    OrphanPart = "orphan-part",
    /// The text of a message differs from its selected version.
    ChoiceDiffers = "choice-differs",
    /// A record that is too large for memory.
    TooLarge = "too-large",
    /// The owner of a project directory is unknown, or the stored owner does not match it.
    NoProject = "no-project",
    /// A change of a tool has fired a trigger in its definition.
    Triggered = "triggered",
    /// A turn, or a part of it, was lost, and a repair has inserted a placeholder.
    LostTurn = "lost-turn",
    /// A value of a document was lost, and a repair has put a default in its place.
    LostValue = "lost-value",
    /// A turn had two different records, which a repair has merged.
    TwinTurn = "twin-turn",
    /// The state has changed without a recorded change.
    UnexplainedChange = "unexplained-change",
    /// The states of some turns are lost.
    UnknownState = "unknown-state",
}

/// The severity of a [`Finding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost, but it may be of interest.
    Warning,
    /// Something is wrong.
    Finding,
}

impl Severity {
    /// The name that `--json` prints.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Finding => "finding",
        }
    }
}

impl FindingCode {
    /// The severity of the code.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            FindingCode::SetAside
            | FindingCode::NoMetadata
            | FindingCode::UnknownFile
            | FindingCode::SupersededTurn
            | FindingCode::RestartedTurns
            | FindingCode::SceneDiffers
            | FindingCode::NoSnapshot
            | FindingCode::StaleIndex
            | FindingCode::SizeOverTarget
            | FindingCode::MissingParent
            | FindingCode::UnknownRole
            | FindingCode::OrphanCall
            | FindingCode::ChoiceDiffers
            | FindingCode::Triggered
            | FindingCode::LostTurn
            | FindingCode::LostValue
            | FindingCode::TwinTurn
            | FindingCode::UnexplainedChange
            | FindingCode::NoProject
            | FindingCode::NewerVersion => Severity::Warning,
            _ => Severity::Finding,
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {} ({})", self.message, self.code)
    }
}
