//! A directory of a store as the bytes of a `tar.gz`, and back, without trusting the archive.
//!
//! The same directory always gives the same bytes: entries are sorted, times and owners are zero. Reading
//! takes archives of other programs too (GNU tar, bsdtar), and refuses whatever could do harm: paths that
//! lead elsewhere, links, names that come twice, bombs, bytes that are left over. Nothing here writes.
//! To unpack, [`check`] the whole archive first, then run through it again with [`Unpack`].
//!
//! Files are read in pieces. [`pack`] holds the compressed archive in memory, because a
//! [`Step`](everturn_store::Step) carries its content whole; [`Limits::archive`] bounds it. Reading an
//! archive from a store through [`Pieces`] holds one piece of it and one file of its contents.
//!
//! It depends on `everturn-store`, and knows nothing of sessions.

use std::io::BufRead;

use everturn_json::names::{FilePath, Name};

mod deflate;
mod entries;
mod error;
mod inflate;
mod pack;
mod pax;
mod pieces;
mod seen;
mod unpack;

pub use error::{ArchiveError, Excess, Refusal};
pub use pack::{Packed, Progress, pack};
pub use pieces::Pieces;
pub use unpack::{Unpack, check};

/// What an archive holds, sorted by path. All paths begin with the name of the top directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The one directory that everything lies in.
    pub top: Name,
    /// The directories that have an entry of their own; other programs do not always make one.
    pub dirs: Vec<FilePath>,
    /// The files.
    pub files: Vec<FileSum>,
}

impl Contents {
    /// The length of all files together.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.files.iter().map(|file| file.len).sum()
    }

    /// Whether there is not a single file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A file of an archive, and what tells its content from any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSum {
    /// The path in the archive.
    pub path: FilePath,
    /// The length in bytes.
    pub len: u64,
    /// The SHA-256 of the content.
    pub sha256: [u8; 32],
}

/// How much an archive may be and hold. What is packed within limits can be unpacked within them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The bytes of the archive itself. The default leaves room for other steps in the batch that
    /// carries it, which may have 1 GiB.
    pub archive: u64,
    /// The bytes that come out of it, with headers and padding.
    pub total: u64,
    /// The entries: files and directories.
    pub entries: u64,
    /// The bytes of one file, which is held in memory.
    pub file: u64,
    /// The bytes of all names, which are held in memory.
    pub names: u64,
    /// How many bytes may come out for each byte that goes in, once more than
    /// [`Limits::RATIO_COUNTS_FROM`] have come out. Text of turns is seldom beyond 20; deflate can reach
    /// 1032.
    pub ratio: u64,
}

impl Limits {
    /// The bytes that may come out before [`Limits::ratio`] counts: little of anything can be dense.
    pub const RATIO_COUNTS_FROM: u64 = 10 << 20;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            archive: (1 << 30) - (16 << 20),
            total: 16 << 30,
            entries: 100_000,
            file: 256 << 20,
            names: 64 << 20,
            ratio: 200,
        }
    }
}

/// Reads an archive back and compares every entry with what it must hold.
pub fn verify(
    archive: impl BufRead,
    expect: &Contents,
    limits: &Limits,
) -> Result<(), ArchiveError> {
    let found = check(archive, &expect.top, limits)?;
    let differing = first_difference(&found.files, &expect.files, |file| &file.path)
        .or_else(|| first_difference(&found.dirs, &expect.dirs, |dir| dir));
    match differing {
        Some(path) => Err(ArchiveError::Differs { path }),
        None => Ok(()),
    }
}

/// The first path at which two sorted lists are not the same.
fn first_difference<T: PartialEq>(
    found: &[T],
    expect: &[T],
    path: impl Fn(&T) -> &FilePath,
) -> Option<FilePath> {
    let same = found.iter().zip(expect).take_while(|(found, expect)| found == expect).count();
    let next = [found.get(same), expect.get(same)];
    next.into_iter().flatten().map(path).min().cloned()
}
