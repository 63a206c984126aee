//! [`GzipWriter`]: compresses to memory within the limits.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::ArchiveLimits;
use super::error::{ArchiveError, LimitKind};

/// A gzip stream in memory.
pub(super) struct GzipWriter {
    gzip: GzEncoder<Vec<u8>>,
    taken: u64,
    limits: ArchiveLimits,
}

impl GzipWriter {
    pub(super) fn new(level: Compression, limits: ArchiveLimits) -> GzipWriter {
        // The header has no name, time or system.
        GzipWriter { gzip: GzEncoder::new(Vec::new(), level), taken: 0, limits }
    }

    /// The whole stream.
    pub(super) fn finish(self) -> Result<Vec<u8>, ArchiveError> {
        let ArchiveLimits { archive, .. } = self.limits;
        let bytes = self.gzip.finish().map_err(ArchiveError::from_io)?;
        ArchiveError::check_limit(LimitKind::ArchiveBytes, bytes.len() as u64, archive)?;
        Ok(bytes)
    }

    /// Whether a reader of the bytes so far would refuse them for their ratio, or nearly so.
    ///
    /// A reader needs at least the bytes that the encoder has written so far; the margin of an eighth covers that the
    /// reader checks at other positions.
    fn is_too_dense(&self) -> bool {
        let (made, ArchiveLimits { ratio, .. }) = (self.gzip.get_ref().len() as u64, self.limits);
        let nearly = ratio - ratio / 8;
        self.taken > ArchiveLimits::RATIO_COUNTS_FROM && self.taken > made.saturating_mul(nearly)
    }
}

impl Write for GzipWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.gzip.write(bytes)?;
        self.taken += written as u64;
        let ArchiveLimits { archive, total, .. } = self.limits;
        ArchiveError::check_limit(
            LimitKind::ArchiveBytes,
            self.gzip.get_ref().len() as u64,
            archive,
        )?;
        ArchiveError::check_limit(LimitKind::TotalBytes, self.taken, total)?;
        if self.is_too_dense() {
            let most = self.limits.ratio;
            return Err(ArchiveError::LimitExceeded { excess: LimitKind::Ratio, most }.into());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
