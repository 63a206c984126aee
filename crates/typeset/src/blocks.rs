//! How each kind of block is set.

use crate::book::{Block, Marker, Run, Speaker};
use crate::clean::{Spaces, title};
use crate::compose::{Align, Composer, Frame};
use crate::design::Design;
use crate::line::{Line, Shade};
use crate::pager::{Backdrop, Pager, Pages, Role, Setting};
use crate::passage::Passage;

/// Lists that are deeper are set like this deep ones; the page is only so wide.
const DEEPEST_LIST: u8 = 5;

/// More empty lines than this in code say nothing.
const MOST_EMPTY_LINES: usize = 12;

/// Sets blocks onto pages.
pub(crate) struct Setter {
    design: Design,
    pager: Pager,
    /// The titles of the chapters, for the running heads.
    chapters: Vec<String>,
    /// Whether the paragraph before was text, so that the next one is indented.
    indents: bool,
}

impl Setter {
    pub(crate) fn new(design: Design, pager: Pager) -> Self {
        Self { design, pager, chapters: vec![String::new()], indents: false }
    }

    /// The pages, and the titles of the chapters that they refer to.
    pub(crate) fn finish(self) -> (Pages, Vec<String>) {
        (self.pager.finish(), self.chapters)
    }

    /// A setting of text, before anything is special about it.
    fn setting(&self, role: Role) -> Setting {
        Setting {
            role,
            above: 0.0,
            below: 0.0,
            leading: self.design.leading,
            shift: 0.0,
            announces: false,
            backdrop: None,
        }
    }

    pub(crate) fn chapter(&mut self, composer: &mut Composer, words: &str) {
        let title = title(words);
        self.pager.chapter(self.chapters.len());
        self.chapters.push(title.clone());
        self.indents = false;
        let design = self.design;
        if title.is_empty() {
            return;
        }
        self.pager.skip(design.leading * 4.0);
        let face = design.chapter();
        let frame = Frame::new(design.measure(), Align::Start);
        let lines = composer.lines(&Passage::of(&title, face), frame);
        let setting = Setting {
            leading: design.leading * 2.0,
            announces: true,
            below: design.leading * 2.0,
            ..self.setting(Role::Heading { level: 1, title })
        };
        self.pager.element(setting, lines);
    }

    pub(crate) fn block(&mut self, composer: &mut Composer, block: &Block) {
        let indents = std::mem::replace(&mut self.indents, false);
        match block {
            Block::Heading { level, text } => self.heading(composer, *level, text),
            Block::Paragraph(text) => self.paragraph(composer, text, indents),
            Block::Speaker(speaker) => self.speaker(composer, speaker),
            Block::Quotation(text) => self.quotation(composer, text),
            Block::Item { depth, marker, text } => self.item(composer, *depth, *marker, text),
            Block::Code(text) => self.code(composer, text),
            Block::Break => self.scene_break(composer),
            Block::Note { label, text } => self.note(composer, label, text),
        }
    }

    /// Sets a passage as an element, line by line, so that long ones are never held as a whole.
    fn set(&mut self, composer: &mut Composer, passage: &Passage, frame: Frame, setting: Setting) {
        if passage.is_empty() {
            return;
        }
        self.pager.begin(setting);
        composer.compose(passage, frame, &mut |line| self.pager.line(line));
        self.pager.end();
    }

    fn heading(&mut self, composer: &mut Composer, level: u8, text: &[Run]) {
        let design = self.design;
        let passage = Passage::runs(text, design.heading(level));
        let words = title(passage.text());
        let setting = Setting {
            above: design.leading * 1.25,
            below: design.leading * 0.4,
            leading: design.leading * 1.15,
            announces: true,
            ..self.setting(Role::Heading { level: level.clamp(1, 4) + 1, title: words })
        };
        let frame = Frame::new(design.measure(), Align::Start);
        self.set(composer, &passage, frame, setting);
    }

    fn paragraph(&mut self, composer: &mut Composer, text: &[Run], indents: bool) {
        let design = self.design;
        let passage = Passage::runs(text, design.text());
        let first = if indents { design.indent() } else { 0.0 };
        let frame = Frame { first, ..Frame::new(design.measure(), Align::Justify) };
        let setting = self.setting(Role::Paragraph);
        self.set(composer, &passage, frame, setting);
        self.indents = true;
    }

    fn quotation(&mut self, composer: &mut Composer, text: &[Run]) {
        let design = self.design;
        let shift = design.indent() * 1.3;
        let passage = Passage::runs(text, design.text().italic());
        let frame = Frame::new(design.measure() - shift * 2.0, Align::Justify);
        let space = design.leading * 0.5;
        let setting =
            Setting { above: space, below: space, shift, ..self.setting(Role::Quotation) };
        self.set(composer, &passage, frame, setting);
    }

    fn speaker(&mut self, composer: &mut Composer, speaker: &Speaker) {
        let design = self.design;
        let when = Passage::of(&title(&speaker.when), design.small().grey());
        let when = composer.one_line(&when, design.measure() * 0.6, Align::Start);
        let mut who = Passage::of(&title(&speaker.who), design.speaker());
        if !speaker.kind.is_empty() {
            let kind = format!("\u{2002}{}", title(&speaker.kind));
            who.push(&kind, design.small().italic().grey(), Spaces::Collapsed);
        }
        let gap = if when.pieces.is_empty() { 0.0 } else { design.size };
        let room = design.measure() - when.right - gap;
        let mut line = composer.one_line(&who, room, Align::Start);
        let shift = design.measure() - when.right;
        line.add(&when, shift);
        let margin = speaker.turn.map(|turn| {
            let number = Passage::of(&turn.to_string(), design.small().grey());
            composer.one_line(&number, design.measure(), Align::Start)
        });
        if line.pieces.is_empty() && margin.is_none() {
            return;
        }
        let setting = Setting {
            above: design.leading * 0.8,
            leading: design.leading * 1.1,
            announces: true,
            ..self.setting(Role::Paragraph)
        };
        self.pager.begin(setting);
        self.pager.line_with(line, margin);
        self.pager.end();
    }

    fn item(&mut self, composer: &mut Composer, depth: u8, marker: Marker, text: &[Run]) {
        let design = self.design;
        let hang = design.indent() * 1.15;
        let shift = hang * (f32::from(depth.min(DEEPEST_LIST)) + 1.0);
        let mark = match marker {
            Marker::Bullet if depth.is_multiple_of(2) => "•".to_owned(),
            Marker::Bullet => "–".to_owned(),
            Marker::Number(number) => format!("{number}."),
            Marker::None => String::new(),
        };
        let mark = Passage::of(&mark, design.text());
        let mark = composer.one_line(&mark, design.measure(), Align::Start);
        let space = design.leading * 0.25;
        let role = Role::Item { numbered: matches!(marker, Marker::Number(_)) };
        let setting = Setting { above: space, below: space, shift, ..self.setting(role) };
        let frame = Frame::new(design.measure() - shift, Align::Justify);
        let passage = Passage::runs(text, design.text());
        let mut mark = Some(mark).filter(|mark| !mark.pieces.is_empty());
        self.pager.begin(setting);
        composer.compose(&passage, frame, &mut |line| {
            let Some(mark) = mark.take() else { return self.pager.line(line) };
            // Numbers end where bullets end, however long they are.
            let gap = design.size * 0.45;
            let mut first = Line::default();
            first.add(&mark, -(mark.right + gap).max(hang * 0.75));
            first.add(&line, 0.0);
            self.pager.line(first);
        });
        self.pager.end();
    }

    fn code(&mut self, composer: &mut Composer, text: &str) {
        let design = self.design;
        let passage = Passage::code(text, design.code());
        if passage.is_empty() {
            return;
        }
        let padding = design.size * 0.6;
        let arrow = Passage::of("↪", design.code().grey());
        let arrow = composer.one_line(&arrow, design.measure(), Align::Start);
        let hang = arrow.right + design.size * 0.35;
        let width = design.measure();
        let space = design.leading * 0.5;
        let setting = Setting {
            above: space,
            below: space,
            leading: design.code_leading(),
            shift: padding,
            backdrop: Some(Backdrop { shade: Shade::Tint, x: 0.0, width }),
            ..self.setting(Role::Code)
        };
        let frame = Frame { rest: hang, ..Frame::new(width - padding * 2.0, Align::Start) };
        self.pager.begin(setting);
        self.pager.padding(padding * 0.6);
        let mut empty_lines = 0;
        composer.compose(&passage, frame, &mut |mut line| {
            empty_lines = if line.pieces.is_empty() { empty_lines + 1 } else { 0 };
            if line.continued {
                line.add(&arrow, 0.0);
            }
            if empty_lines <= MOST_EMPTY_LINES {
                self.pager.line(line);
            }
        });
        self.pager.padding(padding * 0.6);
        self.pager.end();
    }

    fn scene_break(&mut self, composer: &mut Composer) {
        let design = self.design;
        let passage = Passage::of("*\u{2003}*\u{2003}*", design.text().grey());
        let line = composer.one_line(&passage, design.measure(), Align::Center);
        let space = design.leading * 0.75;
        let setting = Setting { above: space, below: space, ..self.setting(Role::Ornament) };
        self.pager.element(setting, [line]);
    }

    fn note(&mut self, composer: &mut Composer, label: &str, text: &[Run]) {
        let design = self.design;
        let label = title(label);
        let mut passage = Passage::of(&label, design.small().small_caps().grey());
        if !label.is_empty() {
            passage.push("\u{2002}", design.small(), Spaces::Collapsed);
        }
        passage.push_runs(text, design.small());
        passage.trim();
        let shift = design.indent();
        let space = design.leading * 0.5;
        let rule = Backdrop { shade: Shade::Rule, x: shift * 0.3, width: 0.9 };
        let setting = Setting {
            above: space,
            below: space,
            leading: design.small_leading(),
            shift,
            backdrop: Some(rule),
            ..self.setting(Role::Note)
        };
        let frame = Frame::new(design.measure() - shift, Align::Start);
        self.set(composer, &passage, frame, setting);
    }
}
