//! Checks and unpacks archives.

use std::io::BufRead;

use sha2::{Digest, Sha256};

use super::entries::TarEntries;
use super::error::ArchiveError;
use super::seen_names::EntryKind;
use super::{ArchiveContents, ArchiveLimits, FileDigest};
use everturn_json::names::{FilePath, Name};

/// Reads an archive completely and returns its contents, or why it must not be unpacked.
///
/// Everything in it must be in one directory named `top`. Only a piece of it is held in memory, besides the names.
pub fn check(
    archive: impl BufRead,
    top: &Name,
    limits: &ArchiveLimits,
) -> Result<ArchiveContents, ArchiveError> {
    let mut entries = TarEntries::new(archive, top, *limits);
    let mut contents = ArchiveContents { top: top.clone(), dirs: Vec::new(), files: Vec::new() };
    while let Some(head) = entries.next()? {
        match head.kind {
            EntryKind::Dir => contents.dirs.push(head.path),
            EntryKind::File => {
                let sha256 = digest_content(&mut entries)?;
                contents.files.push(FileDigest { path: head.path, len: head.len, sha256 });
            }
        }
    }
    contents.dirs.sort();
    contents.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(contents)
}

fn digest_content(entries: &mut TarEntries<impl BufRead>) -> Result<[u8; 32], ArchiveError> {
    let mut sum = Sha256::new();
    loop {
        let piece = entries.next_chunk()?;
        if piece.is_empty() {
            return Ok(sum.finalize().into());
        }
        sum.update(piece);
    }
}

/// The files of an archive with their contents, in archive order.
///
/// It refuses what [`check`] refuses, but only when it gets there: a caller that writes the files must check the whole
/// archive first. Directories without files are skipped, as a store has none. An error ends the iteration.
///
/// ```
/// use everturn_archive::{ArchiveLimits, Unpacker, check, pack};
/// use everturn_json::names::{FilePath, Name};
/// use everturn_store::{Durability, Precondition, MemoryStore, FileMode, Step, Store};
///
/// let store = MemoryStore::new();
/// let (dir, file) = (FilePath::parse("done/s1")?, FilePath::parse("done/s1/state.json")?);
/// let (bytes, mode) = (b"{}\n".to_vec(), FileMode::Default);
/// let step = Step::Replace { file, expect: Precondition::Absent, bytes, mode };
/// store.lock(&[dir.clone()])?.commit(vec![step], Durability::Synced)?;
///
/// let (top, limits) = (Name::parse("s1")?, ArchiveLimits::default());
/// let packed = pack(&store, &dir, &top, &limits, &mut |_| {})?;
/// assert_eq!(check(&packed.bytes[..], &top, &limits)?, packed.contents);
/// for file in Unpacker::new(&packed.bytes[..], &top, &limits) {
///     let (path, content) = file?;
///     assert_eq!((path.as_str(), &content[..]), ("s1/state.json", &b"{}\n"[..]));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Unpacker<R> {
    entries: TarEntries<R>,
    ended: bool,
}

impl<R: BufRead> Unpacker<R> {
    /// Starts to read an archive, in which everything must be in one directory named `top`.
    pub fn new(archive: R, top: &Name, limits: &ArchiveLimits) -> Unpacker<R> {
        Unpacker { entries: TarEntries::new(archive, top, *limits), ended: false }
    }

    fn next_file(&mut self) -> Result<Option<(FilePath, Vec<u8>)>, ArchiveError> {
        while let Some(head) = self.entries.next()? {
            if head.kind == EntryKind::File {
                return Ok(Some((head.path, self.entries.content()?)));
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Unpacker<R> {
    type Item = Result<(FilePath, Vec<u8>), ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_file();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}
