//! The entries of a `tar` stream, in order, as far as they are accepted.
//!
//! Only the layout of a header is left to the crate `tar`; everything else is decided here, and no function that could
//! write is called.

use std::io::BufRead;

use tar::{EntryType, Header};

use super::ArchiveLimits;
use super::error::{ArchiveError, EntryRefusal, LimitKind};
use super::gzip_reader::GzipReader;
use super::pax::{PaxHeader, parse_decimal};
use super::seen_names::{EntryKind, SeenNames};
use everturn_json::names::{FilePath, Name, NameError};

const BLOCK: usize = 512;

/// The most bytes of a long name or a pax header. Extended attributes of some systems make them long.
const LARGEST_EXTENSION: u64 = 1 << 20;

/// The most bytes of content that are returned at once.
const PIECE: usize = 1 << 16;

/// An accepted entry; its content is read with [`TarEntries::next_chunk`].
#[derive(Debug)]
pub(super) struct EntryHeader {
    pub(super) path: FilePath,
    pub(super) kind: EntryKind,
    pub(super) len: u64,
}

/// Reads entries; an error ends the iteration.
pub(super) struct TarEntries<R> {
    bytes: GzipReader<R>,
    top: Name,
    limits: ArchiveLimits,
    seen: SeenNames,
    count: u64,
    piece: Vec<u8>,
    /// The remaining bytes of the current entry's content; `padding` are the zeros after it.
    left: u64,
    padding: u64,
}

/// The extension headers before an entry.
#[derive(Default)]
struct EntryExtensions {
    long_name: Option<Vec<u8>>,
    long_link: bool,
    pax: Option<Vec<u8>>,
}

impl<R: BufRead> TarEntries<R> {
    pub(super) fn new(archive: R, top: &Name, limits: ArchiveLimits) -> TarEntries<R> {
        TarEntries {
            bytes: GzipReader::new(archive, limits),
            top: top.clone(),
            limits,
            seen: SeenNames::default(),
            count: 0,
            piece: vec![0; PIECE],
            left: 0,
            padding: 0,
        }
    }

    /// The next file or directory; `None` at the regular end of the archive.
    ///
    /// The content of the previous entry must have been read.
    pub(super) fn next(&mut self) -> Result<Option<EntryHeader>, ArchiveError> {
        loop {
            let Some((header, extensions)) = self.described_header()? else {
                if self.seen.is_empty() {
                    return Err(self.bytes.damaged_here("the archive is empty"));
                }
                self.bytes.finish()?;
                return Ok(None);
            };
            self.count_entry()?;
            if let Some(head) = self.admit_entry(&header, &extensions)? {
                self.left = head.len;
                self.padding = padding_len(head.len);
                return Ok(Some(head));
            }
        }
    }

    /// The next chunk of the current entry's content; empty at its end.
    pub(super) fn next_chunk(&mut self) -> Result<&[u8], ArchiveError> {
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

    /// The header of an entry with its extension headers; `None` at the end marker.
    fn described_header(&mut self) -> Result<Option<(Header, EntryExtensions)>, ArchiveError> {
        let mut extensions = EntryExtensions::default();
        loop {
            let Some(header) = self.header()? else {
                return match extensions {
                    EntryExtensions { long_name: None, long_link: false, pax: None } => Ok(None),
                    _ => Err(self
                        .bytes
                        .damaged_here("an extended header is not followed by an entry")),
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
                    if !PaxHeader::parse(&content).is_some_and(|pax| pax.is_harmless()) {
                        return Err(self.bytes.damaged_here("invalid global header"));
                    }
                    false
                }
                _ => return Ok(Some((header, extensions))),
            };
            if again {
                return Err(self.bytes.damaged_here("duplicate extended header"));
            }
        }
    }

    /// The next header; `None` at the end marker.
    fn header(&mut self) -> Result<Option<Header>, ArchiveError> {
        let mut header = Header::new_old();
        self.bytes.fill_whole(header.as_mut_bytes())?;
        let bytes = header.as_bytes();
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        // The checksum is computed as if its own field were blank.
        let outside_sum = bytes.iter().enumerate().filter(|(at, _)| !(148..156).contains(at));
        let sum: u32 = outside_sum.map(|(_, byte)| u32::from(*byte)).sum::<u32>() + 8 * 32;
        match header.cksum() {
            Ok(stored) if stored == sum => Ok(Some(header)),
            _ => Err(self.bytes.damaged_here("invalid entry header")),
        }
    }

    fn size(&self, header: &Header) -> Result<u64, ArchiveError> {
        // Binary sizes are for files far beyond every limit, and programs disagree on them.
        let is_binary = header.as_old().size.first().is_some_and(|first| first & 0x80 != 0);
        match header.entry_size() {
            Ok(size) if !is_binary => Ok(size),
            _ => Err(self.bytes.damaged_here("invalid entry size")),
        }
    }

    /// The content of an extension header.
    fn extension(&mut self, header: &Header) -> Result<Vec<u8>, ArchiveError> {
        let size = self.size(header)?;
        if size > LARGEST_EXTENSION {
            let refusal = EntryRefusal::TooLarge { most: LARGEST_EXTENSION };
            return Err(ArchiveError::refused(&header.path_bytes(), refusal));
        }
        (self.left, self.padding) = (size, padding_len(size));
        self.content()
    }

    /// The rest of the current entry's content.
    pub(super) fn content(&mut self) -> Result<Vec<u8>, ArchiveError> {
        // Memory is not allocated by the claimed size.
        let mut content = Vec::new();
        loop {
            let piece = self.next_chunk()?;
            if piece.is_empty() {
                return Ok(content);
            }
            content.extend_from_slice(piece);
        }
    }

    fn count_entry(&mut self) -> Result<(), ArchiveError> {
        self.count += 1;
        ArchiveError::check_limit(LimitKind::Entries, self.count, self.limits.entries)
    }

    /// Accepts an entry, or returns the reason for refusing it; `None` for the parent of the top directory.
    fn admit_entry(
        &mut self,
        header: &Header,
        extensions: &EntryExtensions,
    ) -> Result<Option<EntryHeader>, ArchiveError> {
        let pax = PaxHeader::parse(extensions.pax.as_deref().unwrap_or_default())
            .ok_or_else(|| self.bytes.damaged_here("invalid extended header"))?;
        let name = match (&extensions.long_name, pax.path) {
            (Some(_), Some(_)) => {
                return Err(self.bytes.damaged_here("an entry has two long names"));
            }
            (Some(name), None) => name.strip_suffix(b"\0").unwrap_or(name).to_vec(),
            (None, Some(path)) => path.to_vec(),
            (None, None) => header.path_bytes().into_owned(),
        };
        let refused = |refusal| Err(ArchiveError::refused(&name, refusal));
        let kind = match header.entry_type() {
            _ if pax.sparse => return refused(EntryRefusal::Sparse),
            EntryType::Regular => EntryKind::File,
            EntryType::Directory => EntryKind::Dir,
            EntryType::Link | EntryType::Symlink => return refused(EntryRefusal::Link),
            EntryType::GNUSparse => return refused(EntryRefusal::Sparse),
            _ => return refused(EntryRefusal::Special),
        };
        let len = self.size(header)?;
        let disagrees = pax.size.is_some_and(|size| parse_decimal(size) != Some(len));
        if disagrees || (kind == EntryKind::Dir && len > 0) {
            return Err(self.bytes.damaged_here("invalid entry size"));
        }
        if len > self.limits.file {
            return refused(EntryRefusal::TooLarge { most: self.limits.file });
        }
        match self.check_path(&name, kind) {
            Err(refusal) => refused(refusal),
            Ok(path) => {
                ArchiveError::check_limit(
                    LimitKind::NameBytes,
                    self.seen.bytes(),
                    self.limits.names,
                )?;
                Ok(path.map(|path| EntryHeader { path, kind, len }))
            }
        }
    }

    /// The path of an entry, which must be at or below the top directory and must not conflict with earlier ones.
    fn check_path(
        &mut self,
        name: &[u8],
        kind: EntryKind,
    ) -> Result<Option<FilePath>, EntryRefusal> {
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
            return Err(EntryRefusal::Outside { top: self.top.clone() });
        }
        if path == top && kind == EntryKind::File {
            return Err(EntryRefusal::NotADirectory);
        }
        self.seen.add(&path, kind)?;
        Ok(Some(path))
    }
}

/// The length of the padding in the last block of a content.
fn padding_len(len: u64) -> u64 {
    len.next_multiple_of(BLOCK as u64) - len
}
