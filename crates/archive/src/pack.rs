//! Packs a directory into an archive.

use std::io::{self, Read};

use flate2::Compression;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};

use super::error::{ArchiveError, EntryRefusal, LimitKind};
use super::gzip_writer::GzipWriter;
use super::store_file::StoreFileReader;
use super::{ArchiveContents, ArchiveLimits, FileDigest};
use everturn_json::names::{FilePath, Name};
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};

const FILE_BITS: u32 = 0o644;
const DIR_BITS: u32 = 0o755;

/// An archive and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedArchive {
    /// The archive: a `tar.gz`.
    pub bytes: Vec<u8>,
    /// Its contents, to [`verify`](super::verify) the archive.
    pub contents: ArchiveContents,
}

/// The progress of packing or unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackProgress {
    /// The bytes of files processed so far.
    pub done: u64,
    /// The bytes of all files.
    pub total: u64,
}

/// Packs a directory with everything below it, under the name `top`.
///
/// Links, pipes and invalid names are refused, and so is a file that changes meanwhile. File permissions are not kept.
///
/// Files so repetitive that the archive would look like a bomb are packed without compression; `progress` then
/// restarts.
pub fn pack(
    store: &dyn Store,
    dir: &FilePath,
    top: &Name,
    limits: &ArchiveLimits,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<PackedArchive, ArchiveError> {
    let sources = walk(store, dir, top, limits)?;
    let mut write = |level| {
        let mut packing = Packer::new(store, top, level, limits, &sources, progress);
        sources.iter().try_for_each(|source| packing.add(source))?;
        packing.finish()
    };
    match write(Compression::default()) {
        Err(ArchiveError::LimitExceeded { excess: LimitKind::Ratio, .. }) => {
            write(Compression::none())
        }
        done => done,
    }
}

/// A file or directory to pack.
struct PackSource {
    /// Its path in the store.
    from: FilePath,
    /// Its path in the archive.
    to: FilePath,
    /// The length of a file; a directory has none.
    len: Option<u64>,
}

/// All files and directories at and below `dir`, sorted by path.
fn walk(
    store: &dyn Store,
    dir: &FilePath,
    top: &Name,
    limits: &ArchiveLimits,
) -> Result<Vec<PackSource>, ArchiveError> {
    let stat = store.stat(dir)?.ok_or_else(|| StoreError::Missing { path: dir.clone() })?;
    if stat.kind != FileKind::Dir {
        return Err(unsupported(dir, EntryRefusal::NotADirectory));
    }
    let mut waiting =
        vec![PackSource { from: dir.clone(), to: FilePath::root().join(top), len: None }];
    let mut sources = Vec::new();
    let (mut names, mut total) = (0, 0);
    while let Some(source) = waiting.pop() {
        if source.len.is_none() {
            walk_dir(store, &source, limits, &mut waiting)?;
        }
        names += source.to.as_str().len() as u64;
        total += source.len.unwrap_or_default();
        sources.push(source);
        let entries = (sources.len() + waiting.len()) as u64;
        ArchiveError::check_limit(LimitKind::Entries, entries, limits.entries)?;
        ArchiveError::check_limit(LimitKind::NameBytes, names, limits.names)?;
        ArchiveError::check_limit(LimitKind::TotalBytes, total, limits.total)?;
    }
    sources.sort_by(|a, b| a.to.cmp(&b.to));
    Ok(sources)
}

/// Adds the entries of a directory to `found`.
fn walk_dir(
    store: &dyn Store,
    dir: &PackSource,
    limits: &ArchiveLimits,
    found: &mut Vec<PackSource>,
) -> Result<(), ArchiveError> {
    let listing = store.list(&dir.from)?;
    if let Some((_, reason)) = listing.refused.into_iter().next() {
        return Err(unsupported(&dir.from, EntryRefusal::BadNameInside(reason)));
    }
    for entry in listing.entries {
        let (from, to) = (dir.from.join(&entry.name), dir.to.join(&entry.name));
        let len = match entry.kind {
            _ if entry.linked => return Err(unsupported(&from, EntryRefusal::Link)),
            FileKind::Dir => None,
            FileKind::File => Some(file_len(store, &from, limits)?),
            FileKind::LinkOutside => return Err(unsupported(&from, EntryRefusal::Link)),
            FileKind::Other => return Err(unsupported(&from, EntryRefusal::Special)),
        };
        found.push(PackSource { from, to, len });
    }
    Ok(())
}

fn file_len(
    store: &dyn Store,
    path: &FilePath,
    limits: &ArchiveLimits,
) -> Result<u64, ArchiveError> {
    match store.stat(path)? {
        Some(stat) if stat.kind == FileKind::File && stat.len > limits.file => {
            Err(unsupported(path, EntryRefusal::TooLarge { most: limits.file }))
        }
        Some(stat) if stat.kind == FileKind::File => Ok(stat.len),
        _ => Err(ArchiveError::Changed { path: path.clone() }),
    }
}

fn unsupported(path: &FilePath, refusal: EntryRefusal) -> ArchiveError {
    ArchiveError::Unsupported { path: path.clone(), refusal }
}

/// An archive that is being built.
struct Packer<'a> {
    store: &'a dyn Store,
    tar: Builder<GzipWriter>,
    contents: ArchiveContents,
    state: PackProgress,
    progress: &'a mut dyn FnMut(PackProgress),
}

impl<'a> Packer<'a> {
    fn new(
        store: &'a dyn Store,
        top: &Name,
        level: Compression,
        limits: &ArchiveLimits,
        sources: &[PackSource],
        progress: &'a mut dyn FnMut(PackProgress),
    ) -> Packer<'a> {
        let contents = ArchiveContents { top: top.clone(), dirs: Vec::new(), files: Vec::new() };
        let total = sources.iter().filter_map(|source| source.len).sum();
        let tar = Builder::new(GzipWriter::new(level, *limits));
        Packer { store, tar, contents, state: PackProgress { done: 0, total }, progress }
    }

    fn add(&mut self, source: &PackSource) -> Result<(), ArchiveError> {
        let path = source.to.clone();
        match source.len {
            None => {
                let name = format!("{path}/");
                let mut header = header(EntryType::Directory, DIR_BITS, 0);
                self.tar
                    .append_data(&mut header, name, io::empty())
                    .map_err(ArchiveError::from_io)?;
                self.contents.dirs.push(path);
            }
            Some(len) => {
                let sha256 = self.add_file(source, len)?;
                self.contents.files.push(FileDigest { path, len, sha256 });
            }
        }
        Ok(())
    }

    fn add_file(&mut self, source: &PackSource, len: u64) -> Result<[u8; 32], ArchiveError> {
        let PackSource { from, to, .. } = source;
        let changed = || Err(ArchiveError::Changed { path: from.clone() });
        let pieces = StoreFileReader::open(self.store, from)?;
        if pieces.len() != len {
            return changed();
        }
        let (state, progress) = (&mut self.state, &mut *self.progress);
        let mut content = ContentReader { pieces, sum: Sha256::new(), state, progress };
        let mut header = header(EntryType::Regular, FILE_BITS, len);
        let added = self.tar.append_data(&mut header, to.as_str(), &mut content);
        added.map_err(ArchiveError::from_io)?;
        let sha256 = content.sum.finalize().into();
        match self.store.stat(from)? {
            Some(stat) if stat.len == len => Ok(sha256),
            _ => changed(),
        }
    }

    fn finish(self) -> Result<PackedArchive, ArchiveError> {
        let deflated = self.tar.into_inner().map_err(ArchiveError::from_io)?;
        Ok(PackedArchive { bytes: deflated.finish()?, contents: self.contents })
    }
}

/// A header without an owner and, by default, without a time.
fn header(kind: EntryType, mode: u32, len: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(len);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// The content of a file that is being packed.
struct ContentReader<'a> {
    pieces: StoreFileReader<'a>,
    sum: Sha256,
    state: &'a mut PackProgress,
    progress: &'a mut dyn FnMut(PackProgress),
}

impl Read for ContentReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.pieces.read(buf)?;
        self.sum.update(buf.get(..read).unwrap_or_default());
        self.state.done += read as u64;
        (self.progress)(*self.state);
        Ok(read)
    }
}
