//! All of it put together: a session goes in, a file comes out.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use everturn::finding::Finding;
use everturn::layout::{LayoutError, Reader};
use everturn::view::Summary;
use jiff::Timestamp;

use crate::choices::{Choices, Format, Style};
use crate::mask::{Mask, Masker};
use crate::piece::Piece;
use crate::source::{Cover, Outline, Source, Texts};
use crate::{html, json, markdown, template, text};

/// Why a session could not be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The session cannot be read.
    #[error(transparent)]
    Session(#[from] LayoutError),
    /// What was made of it cannot be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
    /// The user's template is wrong.
    #[error("the template cannot be used: {0}")]
    Template(String),
    /// Whoever watched its progress wanted no more of it.
    #[error("the export was stopped")]
    Stopped,
    /// There is nobody of that name.
    #[error("nobody called {name:?} speaks in what is exported")]
    NoSpeaker {
        /// The name.
        name: String,
        /// Who does speak.
        speakers: Vec<String>,
    },
}

/// How far an export has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The session is looked through; this turn was reached.
    Looking(u64),
    /// So many entries of so many are written.
    Writing {
        /// Those that are.
        done: u64,
        /// All of them.
        total: u64,
    },
}

/// What became of an export.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How many entries it has.
    pub entries: u64,
    /// How many turns they belong to.
    pub turns: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many secrets of each family were masked.
    pub masked: BTreeMap<String, u64>,
    /// What was noticed while the session was read.
    pub findings: Vec<Finding>,
}

/// A session that is to be exported.
pub struct Export<'e> {
    /// What is known of it at a glance.
    pub summary: &'e Summary,
    /// The session, or one of its branches.
    pub reader: &'e dyn Reader,
    /// What of it is wanted.
    pub choices: &'e Choices,
    /// How secrets are found; none are masked without.
    pub mask: Option<&'e dyn Mask>,
    /// The user's own template, for the custom style: its name and its text.
    pub template: Option<(&'e str, &'e str)>,
    /// The present time.
    pub now: Timestamp,
}

/// A format that is written piece by piece.
pub(crate) trait Shape {
    /// What stands before all pieces.
    fn begin(&mut self, cover: &Cover, outline: &Outline) -> Result<String, ExportError>;

    /// A piece.
    fn piece(&mut self, piece: &Piece) -> Result<String, ExportError>;

    /// What stands after all pieces, with the last state, scope by scope.
    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError>;
}

/// Counts what it hands on.
pub(crate) struct Counted<'w> {
    sink: BufWriter<&'w mut dyn Write>,
    pub(crate) bytes: u64,
}

impl Counted<'_> {
    pub(crate) fn put(&mut self, text: &str) -> io::Result<()> {
        self.bytes += text.len() as u64;
        self.sink.write_all(text.as_bytes())
    }
}

impl Export<'_> {
    /// Writes the session in a format, while it is read. Whoever is told of the progress may end it.
    ///
    /// After an error the sink has part of it.
    pub fn write(
        &self,
        format: Format,
        sink: &mut dyn Write,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Report, ExportError> {
        let masker = Masker::new(self.mask);
        let custom = self.choices.style == Style::Custom;
        let texts = match format {
            Format::Json if !custom => Texts::Exact,
            _ => Texts::Shown,
        };
        let source = Source::new(self.summary, self.reader, self.choices, &masker, texts)?;
        let outline = source.outline(|turn| told(progress, Progress::Looking(turn)))?;
        self.check_speaker(&source, &outline)?;
        let mut out = Counted { sink: BufWriter::with_capacity(1 << 16, sink), bytes: 0 };
        let mut report =
            Report { entries: outline.entries, turns: outline.turns, ..Report::default() };
        let cover = source.cover(self.now);
        report.findings = match (custom, format) {
            (true, _) => {
                let mut shape = template::Custom::new(self.template, self.choices)?;
                drive(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
            (false, Format::Json) => json::write(&source, &cover, &outline, &mut out, progress)?,
            (false, Format::Text) => {
                let mut shape = text::Plain::new(self.choices);
                drive(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
            (false, Format::Markdown) => {
                let mut shape = markdown::Markdown::new(self.choices);
                drive(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
            (false, Format::Html) => {
                let mut shape = html::Page::new(self.choices);
                drive(&mut shape, &source, &cover, &outline, &mut out, progress)?
            }
        };
        out.sink.flush()?;
        report.bytes = out.bytes;
        report.masked = masker.counts();
        Ok(report)
    }

    /// Nothing at all is rarely what somebody wants who names a speaker.
    fn check_speaker(&self, source: &Source<'_>, outline: &Outline) -> Result<(), ExportError> {
        let Some(name) = self.choices.speaker.clone().filter(|_| outline.entries == 0) else {
            return Ok(());
        };
        let anybody = Choices { speaker: None, ..self.choices.clone() };
        let unmasked = Masker::new(None);
        let all = Source::new(self.summary, source.reader, &anybody, &unmasked, Texts::Shown)?;
        let speakers = all.outline(|_| Ok(()))?.speakers;
        let speakers = speakers.into_iter().map(|speaker| speaker.name).collect();
        Err(ExportError::NoSpeaker { name, speakers })
    }
}

/// Tells how far it has come to somebody who may want no more.
pub(crate) fn told(
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    how_far: Progress,
) -> Result<(), ExportError> {
    match progress(how_far) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(ExportError::Stopped),
    }
}

/// Writes all pieces in a format; returns what was noticed.
fn drive(
    shape: &mut dyn Shape,
    source: &Source<'_>,
    cover: &Cover,
    outline: &Outline,
    out: &mut Counted<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Vec<Finding>, ExportError> {
    out.put(&shape.begin(cover, outline)?)?;
    let mut pieces = source.pieces(outline)?;
    let mut done = 0;
    while let Some(piece) = pieces.next() {
        let piece = piece?;
        out.put(&shape.piece(&piece)?)?;
        if matches!(piece, Piece::Said(_)) {
            done += 1;
            told(progress, Progress::Writing { done, total: outline.entries })?;
        }
    }
    let findings = std::mem::take(&mut pieces.findings);
    drop(pieces);
    out.put(&shape.end(&source.last_state())?)?;
    Ok(findings)
}
