//! The entries of a `tar` stream, one after the other, as far as they are let in.
//!
//! Only the layout of a header is left to the crate `tar`; what follows from it is decided here, and
//! nothing that could write is called.

use std::io::BufRead;

use tar::{EntryType, Header};

use super::Limits;
use super::error::{ArchiveError, Excess, Refusal};
use super::inflate::Inflated;
use super::pax::{Pax, decimal};
use super::seen::{EntryKind, Seen};
use everturn_json::names::{FilePath, Name, NameError};

const BLOCK: usize = 512;

/// The most bytes a long name or a pax header may have. Attributes of some systems make them long.
const LARGEST_EXTENSION: u64 = 1 << 20;

/// How much content is handed out in one go.
const PIECE: usize = 1 << 16;

/// One entry that is let in; its content is asked for with [`Entries::piece`].
#[derive(Debug)]
pub(super) struct EntryHead {
    pub(super) path: FilePath,
    pub(super) kind: EntryKind,
    pub(super) len: u64,
}

/// Reads entries; every error is the last thing that it says.
pub(super) struct Entries<R> {
    bytes: Inflated<R>,
    top: Name,
    limits: Limits,
    seen: Seen,
    count: u64,
    piece: Vec<u8>,
    /// What is left of the content of the present entry, and of the zeros behind it.
    left: u64,
    padding: u64,
}

/// What precedes an entry and speaks of it.
#[derive(Default)]
struct Extensions {
    long_name: Option<Vec<u8>>,
    long_link: bool,
    pax: Option<Vec<u8>>,
}

impl<R: BufRead> Entries<R> {
    pub(super) fn new(archive: R, top: &Name, limits: Limits) -> Entries<R> {
        Entries {
            bytes: Inflated::new(archive, limits),
            top: top.clone(),
            limits,
            seen: Seen::default(),
            count: 0,
            piece: vec![0; PIECE],
            left: 0,
            padding: 0,
        }
    }

    /// The next file or directory; `None` when the archive has come to a good end.
    ///
    /// The content of the one before must have been read.
    pub(super) fn next(&mut self) -> Result<Option<EntryHead>, ArchiveError> {
        loop {
            let Some((header, extensions)) = self.described_header()? else {
                if self.seen.is_empty() {
                    return Err(self.bytes.damaged("there is nothing in it"));
                }
                self.bytes.finish()?;
                return Ok(None);
            };
            self.count_entry()?;
            if let Some(head) = self.admit(&header, &extensions)? {
                self.left = head.len;
                self.padding = padding(head.len);
                return Ok(Some(head));
            }
        }
    }

    /// The next piece of the content of the present entry; nothing when it has been read.
    pub(super) fn piece(&mut self) -> Result<&[u8], ArchiveError> {
        let len = usize::try_from(self.left).unwrap_or(PIECE).min(PIECE);
        let piece = self.piece.get_mut(..len).unwrap_or_default();
        self.bytes.fill_whole(piece)?;
        self.left -= len as u64;
        if self.left == 0 && self.padding > 0 {
            let padding = usize::try_from(self.padding).unwrap_or_default();
            self.padding = 0;
            let mut zeros = [0; BLOCK];
            self.bytes.fill_whole(zeros.get_mut(..padding).unwrap_or_default())?;
        }
        Ok(self.piece.get(..len).unwrap_or_default())
    }

    /// The header of an entry with all that precedes it; `None` at the end mark.
    fn described_header(&mut self) -> Result<Option<(Header, Extensions)>, ArchiveError> {
        let mut extensions = Extensions::default();
        loop {
            let Some(header) = self.header()? else {
                return match extensions {
                    Extensions { long_name: None, long_link: false, pax: None } => Ok(None),
                    _ => Err(self.bytes.damaged("an entry is announced that does not follow")),
                };
            };
            let again = match header.entry_type() {
                EntryType::GNULongName => {
                    extensions.long_name.replace(self.extension(&header)?).is_some()
                }
                EntryType::GNULongLink => {
                    self.extension(&header)?;
                    std::mem::replace(&mut extensions.long_link, true)
                }
                EntryType::XHeader => extensions.pax.replace(self.extension(&header)?).is_some(),
                EntryType::XGlobalHeader => {
                    self.count_entry()?;
                    let content = self.extension(&header)?;
                    if !Pax::parse(&content).is_some_and(|pax| pax.is_harmless()) {
                        return Err(self.bytes.damaged("a header for all entries is bad"));
                    }
                    false
                }
                _ => return Ok(Some((header, extensions))),
            };
            if again {
                return Err(self.bytes.damaged("an entry is announced twice"));
            }
        }
    }

    /// The next header; `None` at the end mark.
    fn header(&mut self) -> Result<Option<Header>, ArchiveError> {
        let mut header = Header::new_old();
        self.bytes.fill_whole(header.as_mut_bytes())?;
        let bytes = header.as_bytes();
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        // The sum is taken as if its own field were blank.
        let outside_sum = bytes.iter().enumerate().filter(|(at, _)| !(148..156).contains(at));
        let sum: u32 = outside_sum.map(|(_, byte)| u32::from(*byte)).sum::<u32>() + 8 * 32;
        match header.cksum() {
            Ok(stored) if stored == sum => Ok(Some(header)),
            _ => Err(self.bytes.damaged("an entry begins with a bad header")),
        }
    }

    fn size(&self, header: &Header) -> Result<u64, ArchiveError> {
        // Sizes in binary are for files far beyond every limit, and programs disagree on them.
        let is_binary = header.as_old().size.first().is_some_and(|first| first & 0x80 != 0);
        match header.entry_size() {
            Ok(size) if !is_binary => Ok(size),
            _ => Err(self.bytes.damaged("an entry has a bad size")),
        }
    }

    /// The content of a header that describes the entry behind it.
    fn extension(&mut self, header: &Header) -> Result<Vec<u8>, ArchiveError> {
        let size = self.size(header)?;
        if size > LARGEST_EXTENSION {
            let refusal = Refusal::TooLarge { most: LARGEST_EXTENSION };
            return Err(ArchiveError::refused(&header.path_bytes(), refusal));
        }
        (self.left, self.padding) = (size, padding(size));
        self.content()
    }

    /// The rest of the content of the present entry.
    pub(super) fn content(&mut self) -> Result<Vec<u8>, ArchiveError> {
        // A size that is only claimed costs no memory.
        let mut content = Vec::new();
        loop {
            let piece = self.piece()?;
            if piece.is_empty() {
                return Ok(content);
            }
            content.extend_from_slice(piece);
        }
    }

    fn count_entry(&mut self) -> Result<(), ArchiveError> {
        self.count += 1;
        ArchiveError::within(Excess::Entries, self.count, self.limits.entries)
    }

    /// Lets an entry in, or says why not; `None` for the directory that the top lies in.
    fn admit(
        &mut self,
        header: &Header,
        extensions: &Extensions,
    ) -> Result<Option<EntryHead>, ArchiveError> {
        let pax = Pax::parse(extensions.pax.as_deref().unwrap_or_default())
            .ok_or_else(|| self.bytes.damaged("a header of an entry is bad"))?;
        let name = match (&extensions.long_name, pax.path) {
            (Some(_), Some(_)) => return Err(self.bytes.damaged("an entry has two long names")),
            (Some(name), None) => name.strip_suffix(b"\0").unwrap_or(name).to_vec(),
            (None, Some(path)) => path.to_vec(),
            (None, None) => header.path_bytes().into_owned(),
        };
        let refused = |refusal| Err(ArchiveError::refused(&name, refusal));
        let kind = match header.entry_type() {
            _ if pax.sparse => return refused(Refusal::Sparse),
            EntryType::Regular => EntryKind::File,
            EntryType::Directory => EntryKind::Dir,
            EntryType::Link | EntryType::Symlink => return refused(Refusal::Link),
            EntryType::GNUSparse => return refused(Refusal::Sparse),
            _ => return refused(Refusal::Special),
        };
        let len = self.size(header)?;
        let disagrees = pax.size.is_some_and(|size| decimal(size) != Some(len));
        if disagrees || (kind == EntryKind::Dir && len > 0) {
            return Err(self.bytes.damaged("an entry has a bad size"));
        }
        if len > self.limits.file {
            return refused(Refusal::TooLarge { most: self.limits.file });
        }
        match self.place(&name, kind) {
            Err(refusal) => refused(refusal),
            Ok(path) => {
                ArchiveError::within(Excess::NameBytes, self.seen.bytes(), self.limits.names)?;
                Ok(path.map(|path| EntryHead { path, kind, len }))
            }
        }
    }

    /// The path of an entry, which must lie at or below the top and fit beside those before it.
    fn place(&mut self, name: &[u8], kind: EntryKind) -> Result<Option<FilePath>, Refusal> {
        let not_utf8 = |_| NameError::NotUtf8 { name: String::from_utf8_lossy(name).into_owned() };
        let mut text = str::from_utf8(name).map_err(not_utf8)?;
        while let Some(rest) = text.strip_prefix("./") {
            text = rest;
        }
        if text.starts_with('/') {
            return Err(NameError::Absolute { path: text.to_owned() }.into());
        }
        if kind == EntryKind::Dir {
            text = text.strip_suffix('/').unwrap_or(text);
            if matches!(text, "" | ".") && !name.is_empty() {
                return Ok(None);
            }
        }
        if text.is_empty() {
            return Err(NameError::Empty.into());
        }
        let path = FilePath::parse(text)?;
        let top = FilePath::root().join(&self.top);
        if !path.is_within(&top) {
            return Err(Refusal::Outside { top: self.top.clone() });
        }
        if path == top && kind == EntryKind::File {
            return Err(Refusal::NotADirectory);
        }
        self.seen.add(&path, kind)?;
        Ok(Some(path))
    }
}

/// How many zeros fill the last block of a content.
fn padding(len: u64) -> u64 {
    len.next_multiple_of(BLOCK as u64) - len
}
