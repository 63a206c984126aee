//! A file of a store as a stream of bytes, of which one piece is in memory.

use std::io::{self, BufRead, Read};

use super::error::{ArchiveError, EntryRefusal};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{Store, StoreError};

/// How much is read in one go.
const PIECE: u64 = 1 << 20;

/// A file of a store, read from its start to the end that it had when it was opened.
pub struct StoreFileReader<'a> {
    store: &'a dyn Store,
    file: FilePath,
    piece: Vec<u8>,
    /// How much of the piece is used up.
    used: usize,
    /// Where the next piece begins.
    at: u64,
    end: u64,
}

impl<'a> StoreFileReader<'a> {
    /// Starts at the beginning of a file.
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

    /// The length that the file had when it was opened.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    fn next_piece(&mut self) -> Result<(), ArchiveError> {
        let end = self.end.min(self.at + PIECE);
        self.piece = self.store.read(&self.file, self.at..end)?;
        self.used = 0;
        self.at += self.piece.len() as u64;
        // Fewer bytes than were there when it was opened are not the file's end.
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
