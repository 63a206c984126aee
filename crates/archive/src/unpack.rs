//! From an archive back to files.

use std::io::BufRead;

use sha2::{Digest, Sha256};

use super::entries::Entries;
use super::error::ArchiveError;
use super::seen::EntryKind;
use super::{Contents, FileSum, Limits};
use everturn_json::names::{FilePath, Name};

/// Reads an archive from start to end and says what it holds, or why it must not be unpacked.
///
/// Everything in it must lie in one directory named `top`. No more than a piece of it is held in memory,
/// beside the names.
pub fn check(archive: impl BufRead, top: &Name, limits: &Limits) -> Result<Contents, ArchiveError> {
    let mut entries = Entries::new(archive, top, *limits);
    let mut contents = Contents { top: top.clone(), dirs: Vec::new(), files: Vec::new() };
    while let Some(head) = entries.next()? {
        match head.kind {
            EntryKind::Dir => contents.dirs.push(head.path),
            EntryKind::File => {
                let sha256 = sum(&mut entries)?;
                contents.files.push(FileSum { path: head.path, len: head.len, sha256 });
            }
        }
    }
    contents.dirs.sort();
    contents.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(contents)
}

fn sum(entries: &mut Entries<impl BufRead>) -> Result<[u8; 32], ArchiveError> {
    let mut sum = Sha256::new();
    loop {
        let piece = entries.piece()?;
        if piece.is_empty() {
            return Ok(sum.finalize().into());
        }
        sum.update(piece);
    }
}

/// The files of an archive with their contents, in the order in which they stand there.
///
/// It refuses what [`check`] refuses, but only when it gets there: whoever writes what comes out checks
/// the whole archive before. Directories without files are passed over, as a store has none.
/// After an error nothing more comes.
///
/// ```
/// use everturn_archive::{Limits, Unpack, check, pack};
/// use everturn_json::names::{FilePath, Name};
/// use everturn_store::{Durability, Expect, MemoryStore, Secrecy, Step, Store};
///
/// let store = MemoryStore::new();
/// let (dir, file) = (FilePath::parse("done/s1")?, FilePath::parse("done/s1/state.json")?);
/// let (bytes, secrecy) = (b"{}\n".to_vec(), Secrecy::Usual);
/// let step = Step::Replace { file, expect: Expect::Absent, bytes, secrecy };
/// store.lock(&[dir.clone()])?.commit(vec![step], Durability::Synced)?;
///
/// let (top, limits) = (Name::parse("s1")?, Limits::default());
/// let packed = pack(&store, &dir, &top, &limits, &mut |_| {})?;
/// assert_eq!(check(&packed.bytes[..], &top, &limits)?, packed.contents);
/// for file in Unpack::new(&packed.bytes[..], &top, &limits) {
///     let (path, content) = file?;
///     assert_eq!((path.as_str(), &content[..]), ("s1/state.json", &b"{}\n"[..]));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Unpack<R> {
    entries: Entries<R>,
    ended: bool,
}

impl<R: BufRead> Unpack<R> {
    /// Starts at the beginning of an archive, in which everything must lie in one directory named `top`.
    pub fn new(archive: R, top: &Name, limits: &Limits) -> Unpack<R> {
        Unpack { entries: Entries::new(archive, top, *limits), ended: false }
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

impl<R: BufRead> Iterator for Unpack<R> {
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
