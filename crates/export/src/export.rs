//! Runs an export: [`Export`] reads a session, formats its pieces, and returns an [`ExportReport`].

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;

use everturn::finding::Finding;
use everturn::format::SessionReader;
use everturn::model::SessionSummary;
use jiff::Timestamp;

use crate::error::ExportError;
use crate::mask::{SecretMask, TextMasker};
use crate::options::{ExportFormat, ExportOptions, ExportStyle};
use crate::output::{CountingWriter, ExportProgress, PieceWriter, report_progress};
use crate::picture::PictureFiles;
use crate::piece::ExportPiece;
use crate::source::{ExportSource, SessionCover, SessionOutline, TextMode};
use crate::{epub, html, json, markdown, pdf, template, text};

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
    /// The picture files beside the session; without them only pictures inside of messages are shown.
    pub pictures: Option<&'e dyn PictureFiles>,
    /// The user's template for the custom style: its name and its text.
    pub template: Option<(&'e str, &'e str)>,
    /// The present time.
    pub now: Timestamp,
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
            ExportFormat::Html | ExportFormat::Epub if !custom => TextMode::Page,
            _ => TextMode::Shown,
        };
        let source = ExportSource::new(self.summary, self.reader, self.choices, &masker, texts)?;
        let outline =
            source.outline(|turn| report_progress(progress, ExportProgress::Looking(turn)))?;
        self.check_speaker(&source, &outline)?;
        let mut out = CountingWriter::new(sink);
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
                let made =
                    pdf::write(&source, &cover, &outline, self.pictures, &mut out, progress)?;
                (report.pages, report.missing) = (Some(made.pages), made.missing);
                made.findings
            }
            (false, ExportFormat::Epub) => {
                epub::write(&source, &cover, &outline, self.pictures, &mut out, progress)?
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
                let mut shape = html::HtmlWriter::new(self.choices, self.pictures);
                write_pieces(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
        };
        out.flush()?;
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
