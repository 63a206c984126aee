//! Sets each kind of block: [`BlockSetter`] turns blocks into lines on pages.

use crate::book::{Block, ListMarker, PictureBlock, SpeakerLine, TableBlock, TextRun};
use crate::clean_text::{WhitespaceMode, clean_title};
use crate::compose::{Composer, TextAlign, TextFrame};
use crate::design::PageDesign;
use crate::line::{Shade, TextLine};
use crate::pager::{Backdrop, ElementLayout, ElementRole, PageSet, Pager};
use crate::pictures::fit_picture;
use crate::styled_text::StyledText;
use crate::tables::table_rows;

/// The deepest indentation of a list. Deeper lists are set at this depth, because the page is narrow.
const DEEPEST_LIST: u8 = 5;

/// The maximum number of consecutive empty lines in code.
const MOST_EMPTY_LINES: usize = 12;

/// Sets blocks onto pages.
pub(crate) struct BlockSetter {
    design: PageDesign,
    pager: Pager,
    /// The titles of the chapters, for the running heads.
    chapters: Vec<String>,
    /// Whether the previous block was a text paragraph, so that the next one is indented.
    indents: bool,
}

impl BlockSetter {
    pub(crate) fn new(design: PageDesign, pager: Pager) -> Self {
        Self { design, pager, chapters: vec![String::new()], indents: false }
    }

    /// Returns the pages, and the titles of the chapters that they refer to.
    pub(crate) fn finish(self) -> (PageSet, Vec<String>) {
        (self.pager.finish(), self.chapters)
    }

    /// Returns the default layout of a text element.
    fn setting(&self, role: ElementRole) -> ElementLayout {
        ElementLayout {
            role,
            above: 0.0,
            below: 0.0,
            leading: self.design.leading,
            shift: 0.0,
            announces: false,
            backdrop: None,
        }
    }

    pub(crate) fn start_chapter(&mut self, composer: &mut Composer, words: &str) {
        let title = clean_title(words);
        self.pager.start_chapter(self.chapters.len());
        self.chapters.push(title.clone());
        self.indents = false;
        let design = self.design;
        if title.is_empty() {
            return;
        }
        self.pager.skip_height(design.leading * 4.0);
        let face = design.chapter_face();
        let frame = TextFrame::new(design.text_width(), TextAlign::Start);
        let lines = composer.lines(&StyledText::of(&title, face), frame);
        let setting = ElementLayout {
            leading: design.leading * 2.0,
            announces: true,
            below: design.leading * 2.0,
            ..self.setting(ElementRole::Heading { level: 1, title })
        };
        self.pager.add_element(setting, lines);
    }

    pub(crate) fn add_block(&mut self, composer: &mut Composer, block: &Block) {
        let indents = std::mem::replace(&mut self.indents, false);
        match block {
            Block::Heading { level, text } => self.heading(composer, *level, text),
            Block::Paragraph(text) => self.paragraph(composer, text, indents),
            Block::Speaker(speaker) => self.speaker(composer, speaker),
            Block::Quotation { depth, text } => self.quotation(composer, *depth, text),
            Block::Item { depth, marker, text } => self.item(composer, *depth, *marker, text),
            Block::Code(text) => self.code(composer, text),
            Block::Table(table) => self.set_table(composer, table),
            Block::Picture(picture) => self.picture(composer, picture),
            Block::Break => self.scene_break(composer),
            Block::Note { label, text } => self.note(composer, label, text),
        }
    }

    fn set_table(&mut self, composer: &mut Composer, table: &TableBlock) {
        let design = self.design;
        let rows = table_rows(table, design, composer);
        let last = rows.len().saturating_sub(1);
        for (index, lines) in rows.into_iter().enumerate() {
            let (is_head, is_last) = (index == 0, index == last);
            let space = design.leading * 0.5;
            let setting = ElementLayout {
                above: if is_head { space } else { design.size * 0.25 },
                below: if is_last { space } else { 0.0 },
                leading: design.small_leading(),
                announces: is_head && !is_last,
                ..self.setting(ElementRole::Paragraph)
            };
            self.pager.add_element(setting, lines);
            let rule = Backdrop { shade: Shade::Rule, x: 0.0, width: design.text_width() };
            let line = ElementLayout {
                above: design.size * 0.15,
                leading: if is_head { 0.9 } else { 0.4 },
                announces: is_head && !is_last,
                backdrop: Some(rule),
                below: if is_last { space } else { 0.0 },
                ..self.setting(ElementRole::Ornament)
            };
            self.pager.add_element(line, [TextLine::default()]);
        }
    }

    fn picture(&mut self, composer: &mut Composer, block: &PictureBlock) {
        let design = self.design;
        let caption = clean_title(&block.caption);
        let words = StyledText::of(&caption, design.small_face().grey());
        let space = design.leading * 0.75;
        if let Some(picture) = fit_picture(&block.data, design) {
            let shift = (design.text_width() - picture.width) / 2.0;
            let setting = ElementLayout {
                above: space,
                below: if words.is_empty() { space } else { design.leading * 0.3 },
                shift: shift.max(0.0),
                announces: !words.is_empty(),
                ..self.setting(ElementRole::Figure { alt: caption })
            };
            self.pager.begin_element(setting);
            self.pager.add_picture(picture);
            self.pager.end_element();
        }
        let setting = ElementLayout {
            below: space,
            leading: design.small_leading(),
            ..self.setting(ElementRole::Note)
        };
        let frame = TextFrame::new(design.text_width(), TextAlign::Center);
        self.set_text(composer, &words, frame, setting);
    }

    /// Sets a passage as an element, line by line, so that a long passage is never in memory as a whole.
    fn set_text(
        &mut self,
        composer: &mut Composer,
        passage: &StyledText,
        frame: TextFrame,
        setting: ElementLayout,
    ) {
        if passage.is_empty() {
            return;
        }
        self.pager.begin_element(setting);
        composer.compose(passage, frame, &mut |line| self.pager.add_line(line));
        self.pager.end_element();
    }

    fn heading(&mut self, composer: &mut Composer, level: u8, text: &[TextRun]) {
        let design = self.design;
        let passage = StyledText::runs(text, design.heading_face(level));
        let words = clean_title(passage.text());
        let setting = ElementLayout {
            above: design.leading * 1.25,
            below: design.leading * 0.4,
            leading: design.leading * 1.15,
            announces: true,
            ..self.setting(ElementRole::Heading { level: level.clamp(1, 4) + 1, title: words })
        };
        let frame = TextFrame::new(design.text_width(), TextAlign::Start);
        self.set_text(composer, &passage, frame, setting);
    }

    fn paragraph(&mut self, composer: &mut Composer, text: &[TextRun], indents: bool) {
        let design = self.design;
        let passage = StyledText::runs(text, design.text_face());
        let first = if indents { design.indent() } else { 0.0 };
        let frame = TextFrame { first, ..TextFrame::new(design.text_width(), TextAlign::Justify) };
        let setting = self.setting(ElementRole::Paragraph);
        self.set_text(composer, &passage, frame, setting);
        self.indents = true;
    }

    fn quotation(&mut self, composer: &mut Composer, depth: u8, text: &[TextRun]) {
        let design = self.design;
        let side = design.indent() * 1.3;
        let shift = side * (f32::from(depth.min(DEEPEST_LIST)) + 1.0);
        let passage = StyledText::runs(text, design.text_face().italic());
        let frame = TextFrame::new(design.text_width() - shift - side, TextAlign::Justify);
        let space = design.leading * 0.5;
        let setting = ElementLayout {
            above: space,
            below: space,
            shift,
            ..self.setting(ElementRole::Quotation)
        };
        self.set_text(composer, &passage, frame, setting);
    }

    fn speaker(&mut self, composer: &mut Composer, speaker: &SpeakerLine) {
        let design = self.design;
        let when = StyledText::of(&clean_title(&speaker.when), design.small_face().grey());
        let when = composer.one_line(&when, design.text_width() * 0.6, TextAlign::Start);
        let mut who = StyledText::of(&clean_title(&speaker.who), design.speaker_face());
        if !speaker.kind.is_empty() {
            let kind = format!("\u{2002}{}", clean_title(&speaker.kind));
            who.push(&kind, design.small_face().italic().grey(), WhitespaceMode::Collapsed);
        }
        let gap = if when.pieces.is_empty() { 0.0 } else { design.size };
        let room = design.text_width() - when.right - gap;
        let mut line = composer.one_line(&who, room, TextAlign::Start);
        let shift = design.text_width() - when.right;
        line.add(&when, shift);
        let margin = speaker.turn.map(|turn| {
            let number = StyledText::of(&turn.to_string(), design.small_face().grey());
            composer.one_line(&number, design.text_width(), TextAlign::Start)
        });
        if line.pieces.is_empty() && margin.is_none() {
            return;
        }
        let setting = ElementLayout {
            above: design.leading * 0.8,
            leading: design.leading * 1.1,
            announces: true,
            ..self.setting(ElementRole::Paragraph)
        };
        self.pager.begin_element(setting);
        self.pager.add_line_with_margin(line, margin);
        self.pager.end_element();
    }

    fn item(&mut self, composer: &mut Composer, depth: u8, marker: ListMarker, text: &[TextRun]) {
        let design = self.design;
        let hang = design.indent() * 1.15;
        let shift = hang * (f32::from(depth.min(DEEPEST_LIST)) + 1.0);
        let mark = match marker {
            ListMarker::Bullet if depth.is_multiple_of(2) => "•".to_owned(),
            ListMarker::Bullet => "–".to_owned(),
            ListMarker::Number(number) => format!("{number}."),
            ListMarker::Task(is_done) => (if is_done { "[x]" } else { "[\u{2007}]" }).to_owned(),
            ListMarker::None => String::new(),
        };
        let mark = StyledText::of(&mark, design.text_face());
        let mark = composer.one_line(&mark, design.text_width(), TextAlign::Start);
        let space = design.leading * 0.25;
        let role = ElementRole::Item { numbered: matches!(marker, ListMarker::Number(_)) };
        let setting = ElementLayout { above: space, below: space, shift, ..self.setting(role) };
        // Numbers end at the position where bullets end; a number that is too wide for that shifts the first line.
        let gap = design.size * 0.45;
        let before = (mark.right + gap).max(hang * 0.75);
        let first = (before - shift).max(0.0);
        let before = before.min(shift);
        let frame =
            TextFrame { first, ..TextFrame::new(design.text_width() - shift, TextAlign::Justify) };
        let passage = StyledText::runs(text, design.text_face());
        let mut mark = Some(mark).filter(|mark| !mark.pieces.is_empty());
        self.pager.begin_element(setting);
        composer.compose(&passage, frame, &mut |line| {
            let Some(mark) = mark.take() else { return self.pager.add_line(line) };
            let mut marked = TextLine::default();
            marked.add(&mark, -before);
            marked.add(&line, 0.0);
            self.pager.add_line(marked);
        });
        self.pager.end_element();
    }

    fn code(&mut self, composer: &mut Composer, text: &str) {
        let design = self.design;
        let passage = StyledText::code(text, design.code_face());
        if passage.is_empty() {
            return;
        }
        let padding = design.size * 0.6;
        let arrow = StyledText::of("↪", design.code_face().grey());
        let arrow = composer.one_line(&arrow, design.text_width(), TextAlign::Start);
        let hang = arrow.right + design.size * 0.35;
        let width = design.text_width();
        let space = design.leading * 0.5;
        let setting = ElementLayout {
            above: space,
            below: space,
            leading: design.code_leading(),
            shift: padding,
            backdrop: Some(Backdrop { shade: Shade::Tint, x: 0.0, width }),
            ..self.setting(ElementRole::Code)
        };
        let frame =
            TextFrame { rest: hang, ..TextFrame::new(width - padding * 2.0, TextAlign::Start) };
        self.pager.begin_element(setting);
        self.pager.add_padding(padding * 0.6);
        let mut empty_lines = 0;
        composer.compose(&passage, frame, &mut |mut line| {
            empty_lines = if line.pieces.is_empty() { empty_lines + 1 } else { 0 };
            if line.continued {
                line.add(&arrow, 0.0);
            }
            if empty_lines <= MOST_EMPTY_LINES {
                self.pager.add_line(line);
            }
        });
        self.pager.add_padding(padding * 0.6);
        self.pager.end_element();
    }

    fn scene_break(&mut self, composer: &mut Composer) {
        let design = self.design;
        let passage = StyledText::of("*\u{2003}*\u{2003}*", design.text_face().grey());
        let line = composer.one_line(&passage, design.text_width(), TextAlign::Center);
        let space = design.leading * 0.75;
        let setting =
            ElementLayout { above: space, below: space, ..self.setting(ElementRole::Ornament) };
        self.pager.add_element(setting, [line]);
    }

    fn note(&mut self, composer: &mut Composer, label: &str, text: &[TextRun]) {
        let design = self.design;
        let label = clean_title(label);
        let mut passage = StyledText::of(&label, design.small_face().small_caps().grey());
        if !label.is_empty() {
            passage.push("\u{2002}", design.small_face(), WhitespaceMode::Collapsed);
        }
        passage.push_runs(text, design.small_face());
        passage.trim();
        let shift = design.indent();
        let space = design.leading * 0.5;
        let rule = Backdrop { shade: Shade::Rule, x: shift * 0.3, width: 0.9 };
        let setting = ElementLayout {
            above: space,
            below: space,
            leading: design.small_leading(),
            shift,
            backdrop: Some(rule),
            ..self.setting(ElementRole::Note)
        };
        let frame = TextFrame::new(design.text_width() - shift, TextAlign::Start);
        self.set_text(composer, &passage, frame, setting);
    }
}
