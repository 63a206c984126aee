//! Why an archive was refused, or could not be made.

use std::fmt;
use std::io;

use thiserror::Error;

use everturn_json::names::{FilePath, Name, NameError};
use everturn_store::StoreError;

/// Why an archive could not be made or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The archive could not be read, whatever it holds.
    #[error("cannot read the archive")]
    Read(#[source] io::Error),
    /// The archive is not a whole `tar.gz` with nothing behind it.
    #[error("the archive is damaged at byte {at} of its contents: {reason}")]
    Damaged {
        /// How many bytes of the contents were good.
        at: u64,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The archive holds an entry that is not let in.
    #[error("the archive holds {name:?}, which {refusal}")]
    Refused {
        /// The name of the entry, as far as it can be shown.
        name: String,
        /// What is wrong with it.
        refusal: EntryRefusal,
    },
    /// The archive is, or would be, more than the limits allow.
    #[error("the archive has {excess}, the most is {most}")]
    LimitExceeded {
        /// What there is too much of.
        excess: LimitKind,
        /// How much is allowed.
        most: u64,
    },
    /// Something in the store cannot be used for an archive.
    #[error("cannot use {path} for an archive: it {refusal}")]
    Unsupported {
        /// What cannot be.
        path: FilePath,
        /// Why.
        refusal: EntryRefusal,
    },
    /// Another program has changed a file while it was being read.
    #[error("{path} has changed while it was being read")]
    Changed {
        /// The file.
        path: FilePath,
    },
    /// The archive does not hold what it must.
    #[error("the archive does not hold {path} as it was archived")]
    Differs {
        /// The first path that is missing, added, or not the same.
        path: FilePath,
    },
}

impl ArchiveError {
    /// Whether the archive itself is damaged, so that another request could not be met either.
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

    /// Fails if there is more of something than is allowed.
    pub(super) fn check_limit(
        excess: LimitKind,
        count: u64,
        most: u64,
    ) -> Result<(), ArchiveError> {
        if count > most { Err(ArchiveError::LimitExceeded { excess, most }) } else { Ok(()) }
    }

    /// The error that an [`io::Error`] has carried through somebody else's code, or that it is.
    pub(super) fn from_io(error: io::Error) -> ArchiveError {
        error.downcast::<ArchiveError>().unwrap_or_else(ArchiveError::Read)
    }
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> io::Error {
        io::Error::other(error)
    }
}

/// What is wrong with one entry of an archive or a directory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EntryRefusal {
    /// Its name is absolute, climbs, is too long, or cannot be used for another reason.
    #[error("has a bad name")]
    Name(#[from] NameError),
    /// It is a directory with such a name in it.
    #[error("has a bad name in it")]
    BadNameInside(#[source] NameError),
    /// It is a hard or a symbolic link.
    #[error("is a link")]
    Link,
    /// It is a device, a pipe, or something else.
    #[error("is neither a file nor a directory")]
    Special,
    /// It is a file of which only parts are there.
    #[error("is a sparse file")]
    Sparse,
    /// Its name was there already.
    #[error("is there twice")]
    Twice,
    /// It lies below a file, or is a file with something below it.
    #[error("is both a file and a directory")]
    FileAndDirectory,
    /// It does not lie in the one directory that it must lie in.
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
        /// The size that is allowed.
        most: u64,
    },
}

/// What an archive has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKind {
    /// Bytes, as it is.
    ArchiveBytes,
    /// Bytes that come out of it.
    TotalBytes,
    /// Entries.
    Entries,
    /// Bytes in the names of its entries.
    NameBytes,
    /// Bytes that come out for each byte that goes in.
    Ratio,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitKind::ArchiveBytes => "too many bytes",
            LimitKind::TotalBytes => "too many bytes in it",
            LimitKind::Entries => "too many entries",
            LimitKind::NameBytes => "too many bytes in the names of its entries",
            LimitKind::Ratio => "too many bytes in it for each byte that it has",
        })
    }
}
