//! [`ArchiveError`]: why an archive was refused, or could not be created.

use std::fmt;
use std::io;

use thiserror::Error;

use everturn_json::names::{FilePath, Name, NameError};
use everturn_store::StoreError;

/// Why an archive could not be created or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The archive could not be read, whatever its contents.
    #[error("cannot read the archive")]
    Read(#[source] io::Error),
    /// The archive is not a complete `tar.gz`, or has trailing bytes.
    #[error("the archive is damaged at byte {at} of its contents: {reason}")]
    Damaged {
        /// The number of valid bytes of the contents.
        at: u64,
        /// The reason.
        reason: &'static str,
    },
    /// The archive contains an entry that is refused.
    #[error("the archive contains {name:?}, which {refusal}")]
    Refused {
        /// The name of the entry, as far as it can be shown.
        name: String,
        /// The reason.
        refusal: EntryRefusal,
    },
    /// The archive exceeds the limits, or would.
    #[error("the archive has {excess} (maximum {most})")]
    LimitExceeded {
        /// The limit that is exceeded.
        excess: LimitKind,
        /// The maximum.
        most: u64,
    },
    /// A path in the store cannot be used for an archive.
    #[error("cannot use {path} for an archive: it {refusal}")]
    Unsupported {
        /// The path.
        path: FilePath,
        /// The reason.
        refusal: EntryRefusal,
    },
    /// Another program has changed a file while it was read.
    #[error("{path} changed while it was being read")]
    Changed {
        /// The file.
        path: FilePath,
    },
    /// The archive does not have the expected contents.
    #[error("the archive does not contain {path} as it was archived")]
    Differs {
        /// The first path that is missing, added, or different.
        path: FilePath,
    },
}

impl ArchiveError {
    /// Whether the archive itself is damaged, so that no other request can succeed either.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            ArchiveError::Damaged { .. }
                | ArchiveError::Refused { .. }
                | ArchiveError::Differs { .. }
        )
    }

    pub(super) fn refused(name: &[u8], refusal: EntryRefusal) -> ArchiveError {
        const SHOWN: usize = 200;
        let text = String::from_utf8_lossy(name.get(..SHOWN).unwrap_or(name)).into_owned();
        ArchiveError::Refused { name: text, refusal }
    }

    /// Returns an error if a count exceeds a limit.
    pub(super) fn check_limit(
        excess: LimitKind,
        count: u64,
        most: u64,
    ) -> Result<(), ArchiveError> {
        if count > most { Err(ArchiveError::LimitExceeded { excess, most }) } else { Ok(()) }
    }

    /// The error inside an [`io::Error`] that has passed through other code, or the error itself.
    pub(super) fn from_io(error: io::Error) -> ArchiveError {
        error.downcast::<ArchiveError>().unwrap_or_else(ArchiveError::Read)
    }
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> io::Error {
        io::Error::other(error)
    }
}

/// Why an entry of an archive or a directory is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryRefusal {
    /// Its name is absolute, leaves the directory, is too long, or is invalid for another reason.
    #[error("has an invalid name")]
    Name(#[from] NameError),
    /// It is a directory that contains such a name.
    #[error("contains an invalid name")]
    BadNameInside(#[source] NameError),
    /// It is a hard or a symbolic link.
    #[error("is a link")]
    Link,
    /// It is a device, a pipe, or something else.
    #[error("is neither a file nor a directory")]
    Special,
    /// It is a sparse file.
    #[error("is a sparse file")]
    Sparse,
    /// Its name occurred before.
    #[error("is a duplicate")]
    Twice,
    /// It is below a file, or is a file with something below it.
    #[error("is both a file and a directory")]
    FileAndDirectory,
    /// It is outside the only directory that is allowed.
    #[error("is not in the directory {top}")]
    Outside {
        /// That directory.
        top: Name,
    },
    /// It should be a file.
    #[error("is not a file")]
    NotAFile,
    /// It should be a directory.
    #[error("is not a directory")]
    NotADirectory,
    /// It is too large.
    #[error("is larger than {most} bytes")]
    TooLarge {
        /// The maximum size.
        most: u64,
    },
}

/// A limit of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKind {
    /// The bytes of the archive itself.
    ArchiveBytes,
    /// The bytes of its contents.
    TotalBytes,
    /// Entries.
    Entries,
    /// Bytes in the names of its entries.
    NameBytes,
    /// The ratio of contents to archive.
    Ratio,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitKind::ArchiveBytes => "too many bytes",
            LimitKind::TotalBytes => "too many unpacked bytes",
            LimitKind::Entries => "too many entries",
            LimitKind::NameBytes => "too many bytes in the names of its entries",
            LimitKind::Ratio => "too high a compression ratio",
        })
    }
}
