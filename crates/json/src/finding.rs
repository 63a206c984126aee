//! What a reader noticed about a file: the place, what is wrong, in words.

mod remedy;

use std::fmt;

use crate::names::FilePath;

/// One thing that is wrong with a stored file.
///
/// A finding never stops a reader: everything else in the file still loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the root that was read.
    pub file: FilePath,
    /// The line, counted from 1, where the file has lines and the count is known.
    pub line: Option<u64>,
    /// The byte at which the trouble starts, counted from 0.
    pub offset: Option<u64>,
    /// What kind of trouble it is.
    pub code: FindingCode,
    /// The same in words, with the detail.
    pub message: String,
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
            /// Every code there is.
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
    /// An object that has the same key twice; readers see the last one.
    DuplicateKey = "duplicate-key",
    /// A name that Everturn refuses to use.
    BadName = "bad-name",
    /// A symbolic link that leads out of the root.
    LinkOutside = "link-outside",
    /// A file or directory that could not be read.
    Unreadable = "unreadable",
    /// Something is in the way of a commit that is in the log of a dead process only.
    CannotReplay = "cannot-replay",
    /// A write-ahead log that cannot be read.
    BadLog = "bad-log",
    /// Bytes that are no record and were moved to the quarantine.
    SetAside = "set-aside",
    /// Whole records or a document that left a file and are kept in the quarantine.
    Quarantined = "quarantined",
    /// A record that its file should not have: fields are missing or make no sense.
    BadRecord = "bad-record",
    /// The metadata of a session are missing or cannot be used.
    BadMetadata = "bad-metadata",
    /// A snapshot that cannot be used; an older one is.
    BadSnapshot = "bad-snapshot",
    /// A change that does not fit the state to which it should be applied.
    BadChange = "bad-change",
    /// A file that another program changed after a commit that was replayed.
    ChangedByOthers = "changed-by-others",
    /// A session has no metadata, as some programs leave it.
    NoMetadata = "no-metadata",
    /// The metadata of a session say something that its files do not bear out.
    WrongMetadata = "wrong-metadata",
    /// A document belongs to another session, or to a directory of another status.
    WrongPlace = "wrong-place",
    /// A session stands in more than one directory.
    SessionTwice = "session-twice",
    /// A file that should be there is not.
    MissingFile = "missing-file",
    /// A file that has no place in a session.
    UnknownFile = "unknown-file",
    /// A turn that is there more than once.
    DuplicateTurn = "duplicate-turn",
    /// Turns that are not there although later ones are.
    MissingTurns = "missing-turns",
    /// Lines that are not in the order of their turns.
    TurnOrder = "turn-order",
    /// A turn that was written again, with the same time; the later line counts.
    SupersededTurn = "superseded-turn",
    /// Turns whose numbers start again, as when a program resumes without knowing the last one.
    RestartedTurns = "restarted-turns",
    /// A line of a turn that its file should not have, going by the name of the file.
    WrongRange = "wrong-range",
    /// Two files of a log that are about the same turns, going by their names.
    FileOverlap = "file-overlap",
    /// The id of an event or a change that is there more than once.
    DuplicateId = "duplicate-id",
    /// The id of an event or a change that tells another turn.
    WrongId = "wrong-id",
    /// A change whose turn or event does not exist.
    DanglingChange = "dangling-change",
    /// A snapshot says something about itself that is not so.
    SnapshotFacts = "snapshot-facts",
    /// A snapshot does not follow from the one before it and the changes since then.
    SnapshotDiffers = "snapshot-differs",
    /// A state file does not follow from the changes.
    StateDiffers = "state-differs",
    /// A character or an area that is named and does not exist.
    UnknownReference = "unknown-reference",
    /// The file of a scene that is over does not follow from the changes.
    SceneDiffers = "scene-differs",
    /// The turns of a scene make no sense.
    SceneRange = "scene-range",
    /// A turn belongs to a scene that does not exist.
    MissingScene = "missing-scene",
    /// More than a hundred turns lie between two snapshots.
    NoSnapshot = "no-snapshot",
    /// An index that does not say what the logs say.
    StaleIndex = "stale-index",
    /// A file is larger than it should be.
    SizeOverTarget = "size-over-target",
    /// A file is larger than it may be.
    SizeOverMax = "size-over-max",
    /// The session from which this one was made is not there.
    MissingParent = "missing-parent",
    /// A session of a later version, which is not looked into.
    NewerVersion = "newer-version",
    /// The index of a home's sessions cannot be used; the sessions are looked up by their files.
    BadIndex = "bad-index",
    /// A tool that was called and never answered, or an answer that nobody asked for.
    OrphanCall = "orphan-call",
    /// A file with secrets that others may read.
    OpenSecret = "open-secret",
    /// A setting that is not what it may be.
    BadSetting = "bad-setting",
    /// A tag that should change a tool and was not understood; it stays in the text.
    OddTag = "odd-tag",
    /// A record that follows one that is not there; it is read after the one before it.
    DanglingParent = "dangling-parent",
    /// A part of a message that is not there.
    OrphanPart = "orphan-part",
    /// A message does not say what the version of it that was chosen says.
    ChoiceDiffers = "choice-differs",
    /// A record that is too long to be held.
    TooLarge = "too-large",
    /// Nothing says whose directory that of a project is, or what says so does not fit it.
    NoProject = "no-project",
    /// A change of a tool has set something off, as its definition says.
    Triggered = "triggered",
    /// A turn, or a part of it, was lost, and a repair has put something in its place that says so.
    LostTurn = "lost-turn",
    /// A turn of which there were two different records; a repair has put one into the other.
    TwinTurn = "twin-turn",
    /// The state has changed in a way that no change tells.
    UnexplainedChange = "unexplained-change",
}

/// How much a [`Finding`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost; somebody may want to know.
    Warning,
    /// Something is wrong.
    Finding,
}

impl Severity {
    /// The word that `--json` prints.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Finding => "finding",
        }
    }
}

impl FindingCode {
    /// How much it matters.
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
            | FindingCode::OrphanCall
            | FindingCode::ChoiceDiffers
            | FindingCode::Triggered
            | FindingCode::LostTurn
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
