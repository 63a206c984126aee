//! Runs an export: [`Export`] reads a session, formats its pieces, and returns an [`ExportReport`].

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use everturn::finding::Finding;
use everturn::format::{SessionError, SessionReader};
use everturn::model::SessionSummary;
use everturn_typeset::TypesetError;
use jiff::Timestamp;

use crate::mask::{SecretMask, TextMasker};
use crate::options::{ExportFormat, ExportOptions, ExportStyle};
use crate::piece::ExportPiece;
use crate::source::{ExportSource, SessionCover, SessionOutline, TextMode};
use crate::{html, json, markdown, pdf, template, text};

/// Why a session could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The output cannot be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
    /// The user's template is invalid.
    #[error("the template cannot be used: {0}")]
    Template(String),
    /// The pages cannot be typeset.
    #[error(transparent)]
    Pages(#[from] TypesetError),
    /// The progress callback cancelled the export.
    #[error("the export was stopped")]
    Stopped,
    /// No entry has this speaker.
    #[error("no speaker named {name:?} in the exported entries")]
    NoSpeaker {
        /// The name.
        name: String,
        /// The speakers of the session.
        speakers: Vec<String>,
    },
}

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

/// The result of an export.
#[derive(Debug, Clone, Default)]
pub struct ExportReport {
    /// The number of entries.
    pub entries: u64,
    /// The number of turns.
    pub turns: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The number of pages, if the format has pages.
    pub pages: Option<usize>,
    /// The characters that no font contains, and how often each occurs.
    pub missing: Vec<(char, u64)>,
    /// The number of masked secrets of each family.
    pub masked: BTreeMap<String, u64>,
    /// The findings from reading the session.
    pub findings: Vec<Finding>,
}

/// A session to export.
pub struct Export<'e> {
    /// The summary of the session.
    pub summary: &'e SessionSummary,
    /// The session, or one of its branches.
    pub reader: &'e dyn SessionReader,
    /// Which parts to export, and in which style.
    pub choices: &'e ExportOptions,
    /// Finds secrets; without it none are masked.
    pub mask: Option<&'e dyn SecretMask>,
    /// The user's template for the custom style: its name and its text.
    pub template: Option<(&'e str, &'e str)>,
    /// The present time.
    pub now: Timestamp,
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

impl CountingWriter<'_> {
    pub(crate) fn put(&mut self, text: &str) -> io::Result<()> {
        self.put_bytes(text.as_bytes())
    }

    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.sink.write_all(bytes)
    }
}

impl Export<'_> {
    /// Writes the session in a format while reading it. The progress callback can cancel the export.
    ///
    /// After an error the sink contains a part of the output.
    pub fn write(
        &self,
        format: ExportFormat,
        sink: &mut dyn Write,
        progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
    ) -> Result<ExportReport, ExportError> {
        let masker = TextMasker::new(self.mask);
        let custom = self.choices.style == ExportStyle::Custom;
        let texts = match format {
            ExportFormat::Json if !custom => TextMode::Exact,
            _ => TextMode::Shown,
        };
        let source = ExportSource::new(self.summary, self.reader, self.choices, &masker, texts)?;
        let outline =
            source.outline(|turn| report_progress(progress, ExportProgress::Looking(turn)))?;
        self.check_speaker(&source, &outline)?;
        let mut out = CountingWriter { sink: BufWriter::with_capacity(1 << 16, sink), bytes: 0 };
        let mut report = ExportReport {
            entries: outline.entries,
            turns: outline.turns,
            ..ExportReport::default()
        };
        let cover = source.cover(self.now);
        report.findings = match (custom, format) {
            (true, _) => {
                let mut shape = template::TemplateWriter::new(self.template, self.choices)?;
                write_pieces(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
            (false, ExportFormat::Json) => {
                json::write(&source, &cover, &outline, &mut out, progress)?
            }
            (false, ExportFormat::Pdf) => {
                let made = pdf::write(&source, &cover, &outline, &mut out, progress)?;
                (report.pages, report.missing) = (Some(made.pages), made.missing);
                made.findings
            }
            (false, ExportFormat::Text) => {
                let mut shape = text::PlainTextWriter::new(self.choices);
                write_pieces(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
            (false, ExportFormat::Markdown) => {
                let mut shape = markdown::MarkdownWriter::new(self.choices);
                write_pieces(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
            (false, ExportFormat::Html) => {
                let mut shape = html::HtmlWriter::new(self.choices);
                write_pieces(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
        };
        out.sink.flush()?;
        report.bytes = out.bytes;
        report.masked = masker.counts();
        Ok(report)
    }

    /// Returns an error if no entry has the requested speaker, because an empty export is rarely wanted.
    fn check_speaker(
        &self,
        source: &ExportSource<'_>,
        outline: &SessionOutline,
    ) -> Result<(), ExportError> {
        let Some(name) = self.choices.speaker.clone().filter(|_| outline.entries == 0) else {
            return Ok(());
        };
        let anybody = ExportOptions { speaker: None, ..self.choices.clone() };
        let unmasked = TextMasker::new(None);
        let all =
            ExportSource::new(self.summary, source.reader, &anybody, &unmasked, TextMode::Shown)?;
        let speakers = all.outline(|_| Ok(()))?.speakers;
        let speakers = speakers.into_iter().map(|speaker| speaker.name).collect();
        Err(ExportError::NoSpeaker { name, speakers })
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

/// Writes all pieces in a format; returns the findings.
fn write_pieces(
    shape: &mut dyn PieceWriter,
    source: &ExportSource<'_>,
    cover: &SessionCover,
    outline: &SessionOutline,
    out: &mut CountingWriter<'_>,
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
) -> Result<Vec<Finding>, ExportError> {
    out.put(&shape.begin(cover, outline)?)?;
    let mut pieces = source.pieces(outline)?;
    let mut done = 0;
    while let Some(piece) = pieces.next() {
        let piece = piece?;
        out.put(&shape.piece(&piece)?)?;
        if matches!(piece, ExportPiece::Message(_)) {
            done += 1;
            report_progress(progress, ExportProgress::Writing { done, total: outline.entries })?;
        }
    }
    let findings = std::mem::take(&mut pieces.findings);
    drop(pieces);
    out.put(&shape.end(&source.last_state())?)?;
    Ok(findings)
}
