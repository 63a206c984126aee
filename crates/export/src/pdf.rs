//! Writes a PDF: turns pieces into chapters and blocks, which `everturn-typeset` sets like a book.

mod blocks;

use std::ops::ControlFlow;

use everturn::finding::Finding;
use everturn::model::{Attachment, Mark, MarkKind};
use everturn_typeset::{
    Block, FrontMatter, PdfDate, PictureBlock, PictureData, SpeakerLine, TextRun, Typesetter,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::ExportError;
use crate::facts::{format_day, format_minute, session_facts};
use crate::options::ExportStyle;
use crate::output::{CountingWriter, ExportProgress, report_progress};
use crate::picture::{Picture, PictureFiles, PictureFormat};
use crate::piece::{ExportPiece, Message, SpeakerRole, TurnChanges};
use crate::source::{ExportSource, SessionCover, SessionOutline};
use blocks::{markdown_blocks, plain_blocks};

/// The result of writing the pages.
pub(crate) struct PdfOutcome {
    pub(crate) pages: usize,
    pub(crate) missing: Vec<(char, u64)>,
    pub(crate) findings: Vec<Finding>,
}

/// Typesets the pages and writes them.
pub(crate) fn write(
    source: &ExportSource<'_>,
    cover: &SessionCover,
    outline: &SessionOutline,
    pictures: Option<&dyn PictureFiles>,
    out: &mut CountingWriter<'_>,
    progress: &mut dyn FnMut(ExportProgress) -> ControlFlow<()>,
) -> Result<PdfOutcome, ExportError> {
    let choices = source.choices;
    let press = Typesetter::new(&front(source, cover, outline), &choices.pages)?;
    let is_rich = choices.style != ExportStyle::Minimal;
    let mut book = BookWriter { press, is_rich, pictures, room: ALL_PICTURES, last_speaker: None };
    let mut pieces = source.pieces(outline)?;
    let mut done = 0;
    while let Some(piece) = pieces.next() {
        match piece? {
            ExportPiece::Heading(mark) => book.heading(&mark),
            ExportPiece::Turn { .. } => {}
            ExportPiece::Message(said) => {
                book.message(&said);
                done += 1;
                report_progress(
                    progress,
                    ExportProgress::Writing { done, total: outline.entries },
                )?;
            }
            ExportPiece::Changes(changes) => book.changes(&changes),
        }
    }
    let findings = std::mem::take(&mut pieces.findings);
    drop(pieces);
    book.state(&source.last_state());
    let pdf = book.press.finish()?;
    out.put_bytes(&pdf.bytes)?;
    let missing = pdf.missing.iter().map(|missing| (missing.character, missing.count)).collect();
    Ok(PdfOutcome { pages: pdf.pages, missing, findings })
}

fn date(time: Timestamp) -> Option<PdfDate> {
    let time = time.to_zoned(TimeZone::UTC);
    let small = |number: i8| u8::try_from(number).ok();
    Some(PdfDate {
        year: u16::try_from(time.year()).ok()?,
        month: small(time.month())?,
        day: small(time.day())?,
        hour: small(time.hour())?,
        minute: small(time.minute())?,
        second: small(time.second())?,
    })
}

fn front(source: &ExportSource<'_>, cover: &SessionCover, outline: &SessionOutline) -> FrontMatter {
    let choices = source.choices;
    let is_rich = choices.style != ExportStyle::Minimal;
    let subtitle =
        match outline.times.filter(|_| is_rich).map(|(a, b)| (format_day(a), format_day(b))) {
            Some((first, last)) if first == last => first,
            Some((first, last)) => format!("{first} – {last}"),
            None => String::new(),
        };
    let imprint = match choices.metadata {
        true => session_facts(cover, outline)
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect(),
        false => Vec::new(),
    };
    FrontMatter {
        title: cover.title.clone(),
        subtitle,
        author: String::new(),
        imprint: imprint.join("\n"),
        language: choices.language.clone().unwrap_or_else(|| "en".to_owned()),
        date: date(cover.now),
    }
}

/// The maximum size of all pictures of a book in bytes, because they are kept until it is finished.
const ALL_PICTURES: usize = 96 << 20;

struct BookWriter<'p> {
    press: Typesetter,
    is_rich: bool,
    pictures: Option<&'p dyn PictureFiles>,
    /// How many more bytes of pictures may be taken.
    room: usize,
    /// The speaker of the last message, unless a heading came after it.
    last_speaker: Option<String>,
}

impl BookWriter<'_> {
    fn heading(&mut self, mark: &Mark) {
        self.last_speaker = None;
        match mark.kind {
            MarkKind::Chapter => self.press.start_chapter(&mark.name),
            MarkKind::Scene => {
                let text = vec![TextRun::plain(mark.name.clone())];
                self.press.add_block(&Block::Heading { level: 1, text });
            }
            _ if self.is_rich => {
                let label = mark.kind.to_string();
                self.press.add_block(&Block::Note {
                    label,
                    text: vec![TextRun::plain(mark.name.clone())],
                });
            }
            _ => return,
        }
        if self.is_rich && !mark.description.trim().is_empty() {
            let text = vec![TextRun::italic(mark.description.trim())];
            self.press.add_block(&Block::Paragraph(text));
        }
    }

    fn add_blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.press.add_block(block);
        }
    }

    /// Adds a picture, or what there is to say about an attachment that cannot be shown.
    fn attachment(&mut self, attachment: &Attachment) {
        let picture = Picture::of(attachment, self.pictures);
        let picture = picture.filter(|picture| picture.bytes.len() <= self.room);
        let Some(picture) = picture else {
            let text = vec![TextRun::plain(attachment.describe())];
            return self.press.add_block(&Block::Note { label: String::new(), text });
        };
        self.room -= picture.bytes.len();
        let data = match picture.format {
            PictureFormat::Png => PictureData::Png(picture.bytes),
            PictureFormat::Jpeg => PictureData::Jpeg(picture.bytes),
            PictureFormat::Gif => PictureData::Gif(picture.bytes),
            PictureFormat::Webp => PictureData::Webp(picture.bytes),
        };
        let caption = attachment.description.trim().to_owned();
        self.press.add_block(&Block::Picture(PictureBlock { data, caption }));
    }

    fn message(&mut self, said: &Message) {
        let last = self.last_speaker.replace(said.speaker.clone());
        let is_labelled = self.is_rich || last.as_ref() != Some(&said.speaker);
        self.message_text(said, is_labelled);
        if !matches!(said.role(), SpeakerRole::Call | SpeakerRole::Answer) {
            for attachment in &said.extras.attachments {
                self.attachment(attachment);
            }
        }
    }

    fn message_text(&mut self, said: &Message, is_labelled: bool) {
        let role = said.role();
        let note = role.note().unwrap_or_default();
        match role {
            SpeakerRole::Call | SpeakerRole::Answer => {
                let (name, body) = said.tool();
                let name = name.filter(|name| *name != said.speaker).unwrap_or_default();
                let mut text = Vec::new();
                if !name.is_empty() {
                    text.push(TextRun::code(name));
                }
                let label = format!("{} {note}", said.speaker);
                self.press.add_block(&Block::Note { label, text });
                if !body.is_empty() {
                    self.press.add_block(&Block::Code(body));
                }
            }
            SpeakerRole::Thought => {
                let text = vec![TextRun::italic(said.spoken.trim())];
                self.press
                    .add_block(&Block::Note { label: format!("{} {note}", said.speaker), text });
            }
            SpeakerRole::System | SpeakerRole::Event => {
                let label = match note {
                    "" => said.speaker.clone(),
                    note => format!("{} ({note})", said.speaker),
                };
                match said.spoken.len() {
                    0..4096 => {
                        let text = vec![TextRun::plain(said.spoken.trim())];
                        self.press.add_block(&Block::Note { label, text });
                    }
                    _ => {
                        self.press.add_block(&Block::Note { label, text: Vec::new() });
                        self.add_blocks(&plain_blocks(&said.spoken));
                    }
                }
            }
            _ => {
                let when = said.time.filter(|_| self.is_rich).map(format_minute);
                let speaker = SpeakerLine {
                    who: said.speaker.clone(),
                    when: when.unwrap_or_default(),
                    kind: note.to_owned(),
                    turn: Some(said.turn).filter(|_| self.is_rich),
                };
                if is_labelled {
                    self.press.add_block(&Block::Speaker(speaker));
                }
                self.add_blocks(&markdown_blocks(&said.spoken));
            }
        }
    }

    fn changes(&mut self, changes: &TurnChanges) {
        for line in &changes.lines {
            let text = vec![TextRun::plain(format!("{}: {}", line.place, line.describe()))];
            self.press.add_block(&Block::Note { label: "state".to_owned(), text });
        }
    }

    fn state(&mut self, state: &[(String, String)]) {
        if !state.is_empty() {
            self.press.start_chapter("The state at the end");
        }
        for (scope, value) in state {
            let text = vec![TextRun::plain(scope.clone())];
            self.press.add_block(&Block::Heading { level: 1, text });
            self.press.add_block(&Block::Code(value.clone()));
        }
    }
}
