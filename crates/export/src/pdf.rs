//! Pages, typeset like a book: the pieces become chapters and blocks, `everturn-typeset` makes the pages.

mod blocks;

use std::ops::ControlFlow;

use everturn::finding::Finding;
use everturn::view::{Mark, MarkKind};
use everturn_typeset::{Block, Date, Front, Press, Run, Speaker};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::choices::Style;
use crate::export::{Counted, ExportError, Progress, told};
use crate::facts::{day, facts, minute};
use crate::piece::{Changes, Piece, Role, Said};
use crate::source::{Cover, Outline, Source};
use blocks::{blocks, plain};

/// What became of the pages.
pub(crate) struct Made {
    pub(crate) pages: usize,
    pub(crate) missing: Vec<(char, u64)>,
    pub(crate) findings: Vec<Finding>,
}

/// Makes the pages and writes them.
pub(crate) fn write(
    source: &Source<'_>,
    cover: &Cover,
    outline: &Outline,
    out: &mut Counted<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Made, ExportError> {
    let choices = source.choices;
    let press = Press::new(&front(source, cover, outline), &choices.pages)?;
    let mut book = Book { press, is_rich: choices.style != Style::Minimal };
    let mut pieces = source.pieces(outline)?;
    let mut done = 0;
    while let Some(piece) = pieces.next() {
        match piece? {
            Piece::Heading(mark) => book.heading(&mark),
            Piece::Turn { .. } => {}
            Piece::Said(said) => {
                book.said(&said);
                done += 1;
                told(progress, Progress::Writing { done, total: outline.entries })?;
            }
            Piece::Changes(changes) => book.changes(&changes),
        }
    }
    let findings = std::mem::take(&mut pieces.findings);
    drop(pieces);
    book.state(&source.last_state());
    let pdf = book.press.finish()?;
    out.put_bytes(&pdf.bytes)?;
    let missing = pdf.missing.iter().map(|missing| (missing.character, missing.count)).collect();
    Ok(Made { pages: pdf.pages, missing, findings })
}

fn date(time: Timestamp) -> Option<Date> {
    let time = time.to_zoned(TimeZone::UTC);
    let small = |number: i8| u8::try_from(number).ok();
    Some(Date {
        year: u16::try_from(time.year()).ok()?,
        month: small(time.month())?,
        day: small(time.day())?,
        hour: small(time.hour())?,
        minute: small(time.minute())?,
        second: small(time.second())?,
    })
}

fn front(source: &Source<'_>, cover: &Cover, outline: &Outline) -> Front {
    let choices = source.choices;
    let is_rich = choices.style != Style::Minimal;
    let subtitle = match outline.times.filter(|_| is_rich).map(|(a, b)| (day(a), day(b))) {
        Some((first, last)) if first == last => first,
        Some((first, last)) => format!("{first} – {last}"),
        None => String::new(),
    };
    let imprint = match choices.metadata {
        true => facts(cover, outline)
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect(),
        false => Vec::new(),
    };
    Front {
        title: cover.title.clone(),
        subtitle,
        author: String::new(),
        imprint: imprint.join("\n"),
        language: choices.language.clone().unwrap_or_else(|| "en".to_owned()),
        date: date(cover.now),
    }
}

struct Book {
    press: Press,
    is_rich: bool,
}

impl Book {
    fn heading(&mut self, mark: &Mark) {
        match mark.kind {
            MarkKind::Chapter => self.press.chapter(&mark.name),
            MarkKind::Scene => {
                let text = vec![Run::plain(mark.name.clone())];
                self.press.block(&Block::Heading { level: 1, text });
            }
            _ if self.is_rich => {
                let label = mark.kind.to_string();
                self.press.block(&Block::Note { label, text: vec![Run::plain(mark.name.clone())] });
            }
            _ => return,
        }
        if self.is_rich && !mark.description.trim().is_empty() {
            let text = vec![Run::italic(mark.description.trim())];
            self.press.block(&Block::Paragraph(text));
        }
    }

    fn all(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.press.block(block);
        }
    }

    fn said(&mut self, said: &Said) {
        let role = said.role();
        let note = role.note().unwrap_or_default();
        match role {
            Role::Call | Role::Answer => {
                let (name, body) = said.tool();
                let name = name.filter(|name| *name != said.speaker).unwrap_or_default();
                let mut text = Vec::new();
                if !name.is_empty() {
                    text.push(Run::code(name));
                }
                let label = format!("{} {note}", said.speaker);
                self.press.block(&Block::Note { label, text });
                if !body.is_empty() {
                    self.press.block(&Block::Code(body));
                }
            }
            Role::Thought => {
                let text = vec![Run::italic(said.text.trim())];
                self.press.block(&Block::Note { label: format!("{} {note}", said.speaker), text });
            }
            Role::Narrator if !self.is_rich => self.all(&blocks(&said.text)),
            Role::System | Role::Event => {
                let label = match note {
                    "" => said.speaker.clone(),
                    note => format!("{} ({note})", said.speaker),
                };
                match said.text.len() {
                    0..4096 => {
                        let text = vec![Run::plain(said.text.trim())];
                        self.press.block(&Block::Note { label, text });
                    }
                    _ => {
                        self.press.block(&Block::Note { label, text: Vec::new() });
                        self.all(&plain(&said.text));
                    }
                }
            }
            _ => {
                self.press.block(&Block::Speaker(Speaker {
                    who: said.speaker.clone(),
                    when: said.time.filter(|_| self.is_rich).map(minute).unwrap_or_default(),
                    kind: note.to_owned(),
                    turn: Some(said.turn).filter(|_| self.is_rich),
                }));
                self.all(&blocks(&said.text));
            }
        }
    }

    fn changes(&mut self, changes: &Changes) {
        for line in &changes.lines {
            let text = vec![Run::plain(format!("{}: {}", line.place, line.words()))];
            self.press.block(&Block::Note { label: "state".to_owned(), text });
        }
    }

    fn state(&mut self, state: &[(String, String)]) {
        if !state.is_empty() {
            self.press.chapter("The state at the end");
        }
        for (scope, value) in state {
            let text = vec![Run::plain(scope.clone())];
            self.press.block(&Block::Heading { level: 1, text });
            self.press.block(&Block::Code(value.clone()));
        }
    }
}
