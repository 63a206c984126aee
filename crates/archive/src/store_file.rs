//! [`StoreFileReader`]: a file of a store as a stream of bytes, with one piece in memory.

use std::io::{self, BufRead, Read};

use super::error::{ArchiveError, EntryRefusal};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};

/// The number of bytes that are read at once.
const PIECE: u64 = 1 << 20;

/// Reads a file of a store up to the length that it had when it was opened.
pub struct StoreFileReader<'a> {
    store: &'a dyn Store,
    file: FilePath,
    piece: Vec<u8>,
    /// The number of consumed bytes of the piece.
    used: usize,
    /// The offset of the next piece.
    at: u64,
    end: u64,
}

impl<'a> StoreFileReader<'a> {
    /// Opens a file.
    pub fn open(
        store: &'a dyn Store,
        file: &FilePath,
    ) -> Result<StoreFileReader<'a>, ArchiveError> {
        let stat = store.stat(file)?.ok_or_else(|| StoreError::Missing { path: file.clone() })?;
        if stat.kind != FileKind::File {
            return Err(ArchiveError::Unsupported {
                path: file.clone(),
                refusal: EntryRefusal::NotAFile,
            });
        }
        let (file, piece) = (file.clone(), Vec::new());
        Ok(StoreFileReader { store, file, piece, used: 0, at: 0, end: stat.len })
    }

    /// The length of the file when it was opened.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Whether the file is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    fn next_piece(&mut self) -> Result<(), ArchiveError> {
        let end = self.end.min(self.at + PIECE);
        self.piece = self.store.read(&self.file, self.at..end)?;
        self.used = 0;
        self.at += self.piece.len() as u64;
        // A short read means that the file was truncated.
        if self.at == end { Ok(()) } else { Err(ArchiveError::Changed { path: self.file.clone() }) }
    }
}

impl BufRead for StoreFileReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used == self.piece.len() && self.at < self.end {
            self.next_piece()?;
        }
        Ok(self.piece.get(self.used..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.used = self.piece.len().min(self.used + amount);
    }
}

impl Read for StoreFileReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buf)?;
        self.consume(read);
        Ok(read)
    }
}
