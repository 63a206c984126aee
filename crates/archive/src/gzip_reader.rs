//! [`GzipReader`]: decompresses a gzip stream within the limits.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::ArchiveLimits;
use super::error::{ArchiveError, LimitKind};

/// The contents of a gzip stream, counted.
pub(super) struct GzipReader<R> {
    gzip: GzDecoder<CountingReader<R>>,
    out: u64,
    limits: ArchiveLimits,
}

impl<R: BufRead> GzipReader<R> {
    pub(super) fn new(archive: R, limits: ArchiveLimits) -> GzipReader<R> {
        GzipReader {
            gzip: GzDecoder::new(CountingReader { inner: archive, count: 0 }),
            out: 0,
            limits,
        }
    }

    /// The error for damage at the current position.
    pub(super) fn damaged_here(&self, reason: &'static str) -> ArchiveError {
        ArchiveError::Damaged { at: self.out, reason }
    }

    /// Reads until `buf` is full or the stream ends; returns the number of bytes.
    pub(super) fn fill(&mut self, buf: &mut [u8]) -> Result<usize, ArchiveError> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.gzip.read(rest) {
                Ok(0) => break,
                Ok(read) => {
                    done += read;
                    self.out += read as u64;
                    self.check_limits()?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.decode_error(error)),
            }
        }
        Ok(done)
    }

    /// Like [`GzipReader::fill`], for bytes that must exist.
    pub(super) fn fill_whole(&mut self, buf: &mut [u8]) -> Result<(), ArchiveError> {
        let read = self.fill(buf)?;
        if read < buf.len() { Err(self.damaged_here("unexpected end")) } else { Ok(()) }
    }

    /// Verifies that only zeros are left in the stream, and nothing after it.
    pub(super) fn finish(&mut self) -> Result<(), ArchiveError> {
        let mut buf = vec![0; 1 << 16];
        loop {
            let read = self.fill(&mut buf)?;
            if read == 0 {
                break;
            }
            if buf.iter().take(read).any(|byte| *byte != 0) {
                return Err(self.damaged_here("trailing data"));
            }
        }
        let behind = self.gzip.get_mut().fill_buf().map_err(ArchiveError::from_io)?;
        if behind.is_empty() { Ok(()) } else { Err(self.damaged_here("trailing data")) }
    }

    fn check_limits(&self) -> Result<(), ArchiveError> {
        let ArchiveLimits { total, ratio, archive, .. } = self.limits;
        let read = self.gzip.get_ref().count;
        ArchiveError::check_limit(LimitKind::ArchiveBytes, read, archive)?;
        ArchiveError::check_limit(LimitKind::TotalBytes, self.out, total)?;
        if self.out > ArchiveLimits::RATIO_COUNTS_FROM && self.out > read.saturating_mul(ratio) {
            return Err(ArchiveError::LimitExceeded { excess: LimitKind::Ratio, most: ratio });
        }
        Ok(())
    }

    /// The decoder reports damage of the stream in the same type as a failed read.
    fn decode_error(&self, error: io::Error) -> ArchiveError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged_here("unexpected end"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                self.damaged_here("the compressed data is corrupt")
            }
            _ => ArchiveError::from_io(error),
        }
    }
}

/// Counts the bytes that the decoder has consumed, not those that were read ahead.
struct CountingReader<R> {
    inner: R,
    count: u64,
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count += amount as u64;
        self.inner.consume(amount);
    }
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.fill_buf()?.read(buf)?;
        self.consume(read);
        Ok(read)
    }
}
