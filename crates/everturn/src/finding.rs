//! What a reader noticed about a file: the place, what is wrong, in words.

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
    pub code: Code,
    /// The same in words, with the detail.
    pub message: String,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// The kind of a [`Finding`]; its text is stable and documented.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The text that `--json` prints and the documentation explains.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$variant => $text,)*
                }
            }
        }
    };
}

codes! {
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
    /// Commits of a process that is gone wait to be replayed.
    CommitsWaiting = "commits-waiting",
    /// A write-ahead log that cannot be read.
    BadLog = "bad-log",
    /// Bytes that were moved to the quarantine before an append.
    SetAside = "set-aside",
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
    /// A document belongs to another session, or to a directory of another status.
    WrongPlace = "wrong-place",
    /// A turn that is there more than once.
    DuplicateTurn = "duplicate-turn",
    /// Turns that are not there although later ones are.
    MissingTurns = "missing-turns",
    /// Lines that are not in the order of their turns.
    TurnOrder = "turn-order",
    /// A state file does not follow from the changes.
    StateDiffers = "state-differs",
    /// A character or an area that is named and does not exist.
    UnknownReference = "unknown-reference",
}

impl fmt::Display for Code {
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
