//! What the formats share when they write: [`PieceWriter`], [`CountingWriter`] and [`ExportProgress`].

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use crate::error::ExportError;
use crate::piece::ExportPiece;
use crate::source::{SessionCover, SessionOutline};

/// The progress of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportProgress {
    /// The session is being scanned; this turn was reached.
    Looking(u64),
    /// The entries are being written.
    Writing {
        /// The number of entries written.
        done: u64,
        /// The number of all entries.
        total: u64,
    },
}

/// A format that is written piece by piece.
pub(crate) trait PieceWriter {
    /// Returns the text before all pieces.
    fn begin(
        &mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<String, ExportError>;

    /// Returns the text of a piece.
    fn piece(&mut self, piece: &ExportPiece) -> Result<String, ExportError>;

    /// Returns the text after all pieces, with the last state, scope by scope.
    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError>;
}

/// Counts the bytes that it writes.
pub(crate) struct CountingWriter<'w> {
    sink: BufWriter<&'w mut dyn Write>,
    pub(crate) bytes: u64,
}

impl<'w> CountingWriter<'w> {
    pub(crate) fn new(sink: &'w mut dyn Write) -> CountingWriter<'w> {
        CountingWriter { sink: BufWriter::with_capacity(1 << 16, sink), bytes: 0 }
    }

    pub(crate) fn put(&mut self, text: &str) -> io::Result<()> {
        self.put_bytes(text.as_bytes())
    }

    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.sink.write_all(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Reports the progress to the callback, which may cancel the export.
pub(crate) fn report_progress(
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
    how_far: ExportProgress,
) -> Result<(), ExportError> {
    match progress(how_far) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ExportError::Stopped),
    }
}
