//! Packs a directory of a store into a `tar.gz`, and unpacks archives that are not trusted.
//!
//! The same directory always gives the same bytes: entries are sorted, times and owners are zero. Archives of other
//! programs (GNU tar, bsdtar) are read too. Dangerous ones are refused: paths that leave the directory, links,
//! duplicate names, decompression bombs, trailing bytes. Nothing here writes to a store. To unpack, [`check`] the whole
//! archive first, then read it again with [`Unpacker`].
//!
//! Files are read in pieces. [`pack`] holds the compressed archive in memory, because a [`Step`](everturn_store::Step)
//! carries its whole content; [`ArchiveLimits::archive`] bounds it. Reading an archive from a store through
//! [`StoreFileReader`] holds one piece of it and one file of its contents.
//!
//! - `pack`, `gzip_writer`: creates archives.
//! - `unpack`, `entries`, `pax`, `seen_names`, `gzip_reader`: checks and unpacks archives.
//! - `store_file`: reads a file of a store as a stream.
//! - `error`: [`ArchiveError`], and why an entry is refused.
//!
//! It depends on `everturn-store` and knows nothing of sessions.

use std::io::BufRead;

use everturn_json::names::{FilePath, Name};

mod entries;
mod error;
mod gzip_reader;
mod gzip_writer;
mod pack;
mod pax;
mod seen_names;
mod store_file;
mod unpack;

pub use error::{ArchiveError, EntryRefusal, LimitKind};
pub use pack::{PackProgress, PackedArchive, pack};
pub use store_file::StoreFileReader;
pub use unpack::{Unpacker, check};

/// The contents of an archive, sorted by path. All paths begin with the name of the top directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveContents {
    /// The only top-level directory.
    pub top: Name,
    /// The directories that have an entry of their own; other programs do not always write one.
    pub dirs: Vec<FilePath>,
    /// The files.
    pub files: Vec<FileDigest>,
}

impl ArchiveContents {
    /// The total length of all files.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.files.iter().map(|file| file.len).sum()
    }

    /// Whether there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A file of an archive, with a digest of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigest {
    /// The path in the archive.
    pub path: FilePath,
    /// The length in bytes.
    pub len: u64,
    /// The SHA-256 of the content.
    pub sha256: [u8; 32],
}

/// The limits of an archive. An archive that was packed within limits can be unpacked within them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// The bytes of the archive itself. The default leaves room for other steps in the same batch, which may have 1
    /// GiB.
    pub archive: u64,
    /// The bytes of its contents, with headers and padding.
    pub total: u64,
    /// The entries: files and directories.
    pub entries: u64,
    /// The bytes of one file, which is held in memory.
    pub file: u64,
    /// The bytes of all names, which are held in memory.
    pub names: u64,
    /// The most bytes of contents for each byte of the archive, once more than [`ArchiveLimits::RATIO_COUNTS_FROM`]
    /// were decompressed. Text of turns is seldom beyond 20; deflate can reach 1032.
    pub ratio: u64,
}

impl ArchiveLimits {
    /// The decompressed bytes before [`ArchiveLimits::ratio`] counts: small contents can be dense.
    pub const RATIO_COUNTS_FROM: u64 = 10 << 20;
}

impl Default for ArchiveLimits {
    fn default() -> ArchiveLimits {
        ArchiveLimits {
            archive: (1 << 30) - (16 << 20),
            total: 16 << 30,
            entries: 100_000,
            file: 256 << 20,
            names: 64 << 20,
            ratio: 200,
        }
    }
}

/// Reads an archive back and compares every entry with the expected contents.
pub fn verify(
    archive: impl BufRead,
    expect: &ArchiveContents,
    limits: &ArchiveLimits,
) -> Result<(), ArchiveError> {
    let found = check(archive, &expect.top, limits)?;
    let differing = first_difference(&found.files, &expect.files, |file| &file.path)
        .or_else(|| first_difference(&found.dirs, &expect.dirs, |dir| dir));
    match differing {
        Some(path) => Err(ArchiveError::Differs { path }),
        None => Ok(()),
    }
}

/// The first path at which two sorted lists differ.
fn first_difference<T: PartialEq>(
    found: &[T],
    expect: &[T],
    path: impl Fn(&T) -> &FilePath,
) -> Option<FilePath> {
    let same = found.iter().zip(expect).take_while(|(found, expect)| found == expect).count();
    let next = [found.get(same), expect.get(same)];
    next.into_iter().flatten().map(path).min().cloned()
}
