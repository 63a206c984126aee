//! What comes out of a gzip stream, as far as the limits allow.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::Limits;
use super::error::{ArchiveError, Excess};

/// The contents of a gzip stream, counted.
pub(super) struct Inflated<R> {
    gzip: GzDecoder<Counted<R>>,
    out: u64,
    limits: Limits,
}

impl<R: BufRead> Inflated<R> {
    pub(super) fn new(archive: R, limits: Limits) -> Inflated<R> {
        Inflated { gzip: GzDecoder::new(Counted { inner: archive, count: 0 }), out: 0, limits }
    }

    /// That the contents are wrong where the reading is.
    pub(super) fn damaged(&self, reason: &'static str) -> ArchiveError {
        ArchiveError::Damaged { at: self.out, reason }
    }

    /// Reads until `buf` is full or the stream ends; returns how much was read.
    pub(super) fn fill(&mut self, buf: &mut [u8]) -> Result<usize, ArchiveError> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.gzip.read(rest) {
                Ok(0) => break,
                Ok(read) => {
                    done += read;
                    self.out += read as u64;
                    self.within_limits()?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failure(error)),
            }
        }
        Ok(done)
    }

    /// As [`Inflated::fill`], for bytes that must be there.
    pub(super) fn fill_whole(&mut self, buf: &mut [u8]) -> Result<(), ArchiveError> {
        let read = self.fill(buf)?;
        if read < buf.len() { Err(self.damaged("it ends too early")) } else { Ok(()) }
    }

    /// Sees to it that nothing but zeros is left in the stream, and nothing at all behind it.
    pub(super) fn finish(&mut self) -> Result<(), ArchiveError> {
        let mut buf = vec![0; 1 << 16];
        loop {
            let read = self.fill(&mut buf)?;
            if read == 0 {
                break;
            }
            if buf.iter().take(read).any(|byte| *byte != 0) {
                return Err(self.damaged("something follows its end"));
            }
        }
        let behind = self.gzip.get_mut().fill_buf().map_err(ArchiveError::unwrap)?;
        if behind.is_empty() { Ok(()) } else { Err(self.damaged("something follows its end")) }
    }

    fn within_limits(&self) -> Result<(), ArchiveError> {
        let Limits { total, ratio, archive, .. } = self.limits;
        let read = self.gzip.get_ref().count;
        ArchiveError::within(Excess::ArchiveBytes, read, archive)?;
        ArchiveError::within(Excess::TotalBytes, self.out, total)?;
        if self.out > Limits::RATIO_COUNTS_FROM && self.out > read.saturating_mul(ratio) {
            return Err(ArchiveError::TooMuch { excess: Excess::Ratio, most: ratio });
        }
        Ok(())
    }

    /// The decoder reports what is wrong with the stream in the same type as a failed read.
    fn failure(&self, error: io::Error) -> ArchiveError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("it ends too early"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                self.damaged("its compression is corrupt")
            }
            _ => ArchiveError::unwrap(error),
        }
    }
}

/// Counts the bytes that the decoder has used, not those that were read ahead.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count += amount as u64;
        self.inner.consume(amount);
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.fill_buf()?.read(buf)?;
        self.consume(read);
        Ok(read)
    }
}
