//! Turns passages into lines: shaping, line breaking and justification. [`Composer`] knows nothing about pages.

use std::collections::BTreeMap;
use std::ops::Range;

use parley::{
    BaseDirection, FontFamily, FontFeatures, FontStyle, FontWeight, Language, Layout,
    LayoutContext, StyleProperty,
};
use parley_engine::{Analysis, AnalysisOptions, Analyzer};

use crate::assemble::{LineEnding, LinePlacement, assemble_line};
use crate::fonts::{FontBook, FontTable};
use crate::hyphens::Hyphenator;
use crate::line::TextLine;
use crate::line_breaks::{self, BreakKind, BreakUnit, LineWidths};
use crate::styled_text::{FontFace, Ink, StyledText, TypeFamily};

/// The size of a part that is shaped at once. Longer texts are split, so that memory use stays bounded.
const PIECE: usize = 12 * 1024;

/// The width available to a passage, and its alignment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFrame {
    pub(crate) width: f32,
    /// The start of the first line of a paragraph.
    pub(crate) first: f32,
    /// The start of the other lines.
    pub(crate) rest: f32,
    pub(crate) align: TextAlign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextAlign {
    /// Both edges are straight, and words are hyphenated.
    Justify,
    /// Only the edge where reading starts is straight.
    Start,
    Center,
}

impl TextFrame {
    pub(crate) fn new(width: f32, align: TextAlign) -> Self {
        Self { width, first: 0.0, rest: 0.0, align }
    }
}

/// The state needed to compose lines, kept from one passage to the next.
pub(crate) struct Composer {
    book: FontBook,
    pub(crate) table: FontTable,
    /// The characters that no font contains, and how often each occurred.
    pub(crate) missing: BTreeMap<char, u64>,
    language: Option<Language>,
    hyphens: Hyphenator,
    /// A hyphen in each face that has needed one.
    hyphen_lines: Vec<(FontFace, TextLine)>,
    contexts: LayoutContext<Ink>,
    layout: Layout<Ink>,
    analyzer: Analyzer,
    analysis: Analysis,
}

/// The part of a passage that is shaped at once.
struct PassagePart<'a> {
    passage: &'a StyledText,
    /// The range in the passage, and its text.
    range: Range<usize>,
    text: &'a str,
    direction: BaseDirection,
    /// Whether a paragraph starts and ends in this part.
    starts: bool,
    ends: bool,
}

/// A unit and its byte offset.
type LocatedUnit = (BreakUnit, usize);

impl Composer {
    pub(crate) fn new(book: FontBook, language: &str) -> Self {
        Self {
            book,
            table: FontTable::default(),
            missing: BTreeMap::new(),
            language: Language::parse(language).ok(),
            hyphens: Hyphenator::for_language(language),
            hyphen_lines: Vec::new(),
            contexts: LayoutContext::new(),
            layout: Layout::new(),
            analyzer: Analyzer::new(),
            analysis: Analysis::new(),
        }
    }

    /// Composes the lines of a passage. A line feed ends a line; an empty line gives an empty [`TextLine`].
    pub(crate) fn compose(
        &mut self,
        passage: &StyledText,
        frame: TextFrame,
        emit: &mut dyn FnMut(TextLine),
    ) {
        let mut start = 0;
        for text in passage.text().split('\n') {
            // Only the very first line is indented.
            let frame = if start == 0 { frame } else { TextFrame { first: 0.0, ..frame } };
            self.compose_paragraph(passage, start..start + text.len(), frame, emit);
            start += text.len() + 1;
        }
    }

    /// Returns all lines of a short passage.
    pub(crate) fn lines(&mut self, passage: &StyledText, frame: TextFrame) -> Vec<TextLine> {
        let mut lines = Vec::new();
        self.compose(passage, frame, &mut |line| lines.push(line));
        lines
    }

    /// Returns the passage as one line, truncated with an ellipsis if it does not fit.
    pub(crate) fn one_line(
        &mut self,
        passage: &StyledText,
        width: f32,
        align: TextAlign,
    ) -> TextLine {
        let mut lines = self.lines(passage, TextFrame::new(width, align)).into_iter();
        let first = lines.next().unwrap_or_default();
        let Some(face) = passage.first_face().filter(|_| lines.next().is_some()) else {
            return first;
        };
        let narrow = TextFrame::new(width - face.size * 1.5, TextAlign::Start);
        let kept = self.lines(passage, narrow).into_iter().next().unwrap_or_default();
        let cut = StyledText::of(&format!("{}…", kept.text.trim_end()), face);
        self.lines(&cut, TextFrame::new(width, align)).into_iter().next().unwrap_or_default()
    }

    fn compose_paragraph(
        &mut self,
        passage: &StyledText,
        range: Range<usize>,
        frame: TextFrame,
        emit: &mut dyn FnMut(TextLine),
    ) {
        let mut start = range.start;
        let mut direction = BaseDirection::Auto;
        loop {
            let end = piece_end(passage.text(), start..range.end);
            let Some(text) = passage.text().get(start..end) else { return };
            if text.is_empty() {
                emit(TextLine::default());
                return;
            }
            let (starts, ends) = (start == range.start, end == range.end);
            let part = PassagePart { passage, range: start..end, text, direction, starts, ends };
            let taken = self.compose_part(&part, frame, emit);
            start += taken;
            if ends || taken == 0 {
                return;
            }
            // The beginning of a paragraph determines its direction.
            direction = if self.layout.is_rtl() { BaseDirection::Rtl } else { BaseDirection::Ltr };
        }
    }

    /// Composes the lines of a part, without the last one if the paragraph continues. Returns how much text was
    /// consumed.
    fn compose_part(
        &mut self,
        part: &PassagePart<'_>,
        frame: TextFrame,
        emit: &mut dyn FnMut(TextLine),
    ) -> usize {
        if frame.align == TextAlign::Justify {
            self.make_hyphens(part);
        }
        self.shape(part);
        let first = if part.starts { frame.first } else { frame.rest };
        let room = LineWidths { first: frame.width - first, rest: frame.width - frame.rest };
        let located = self.units(part, frame.align == TextAlign::Justify);
        let mut units: Vec<BreakUnit> = located.iter().map(|(unit, _)| *unit).collect();
        line_breaks::cut_long_words(&mut units, room);
        let mut ends = match frame.align {
            TextAlign::Justify => line_breaks::break_evenly(&units, room),
            _ => line_breaks::fill_lines(&units, room),
        };
        if !part.ends && ends.len() > 1 {
            ends.pop();
        }
        let byte_of = |end: usize| located.get(end).map_or(part.text.len(), |(_, at)| *at);
        self.break_lines(part.text, ends.iter().map(|end| byte_of(*end)));
        let mut taken = 0;
        for (index, end) in ends.iter().copied().enumerate() {
            let bounds = taken..byte_of(end);
            taken = bounds.end;
            let parted =
                matches!(units.get(end), Some(BreakUnit { before: BreakKind::Hyphen(_), .. }));
            let hyphen = parted.then(|| hyphen_at(&self.hyphen_lines, part, taken)).flatten();
            let ending = match (part.ends && index + 1 == ends.len(), hyphen) {
                (true, _) => LineEnding::Paragraph,
                (false, None) => LineEnding::Wrap,
                (false, Some(hyphen)) => LineEnding::Hyphen(hyphen),
            };
            let indent = if index == 0 { first } else { frame.rest };
            let placing = LinePlacement {
                text: part.text,
                bounds,
                width: frame.width,
                indent,
                align: frame.align,
                ending,
            };
            let Some(line) = self.layout.get(index) else { break };
            let rtl = self.layout.is_rtl();
            let line = assemble_line(&line, rtl, &placing, &mut self.table, &mut self.missing);
            emit(TextLine { continued: !(part.starts && index == 0), ..line });
        }
        taken
    }

    /// Shapes a part into the layout, as one line.
    fn shape(&mut self, part: &PassagePart<'_>) {
        let FontBook { context, serif, mono } = &mut self.book;
        let mut builder = self.contexts.ranged_builder(context, part.text, 1.0, false);
        builder.set_base_direction(part.direction);
        builder.push_default(StyleProperty::Locale(self.language));
        for (range, face) in part.passage.faces(part.range.clone()) {
            let families = match face.family {
                TypeFamily::Serif => serif.as_slice(),
                TypeFamily::Mono => mono.as_slice(),
            };
            builder.push(FontFamily::List(families.into()), range.clone());
            builder.push(StyleProperty::FontSize(face.size), range.clone());
            builder.push(StyleProperty::Brush(face.ink), range.clone());
            builder.push(FontFeatures::from(features(face)), range.clone());
            if face.bold {
                builder.push(FontWeight::BOLD, range.clone());
            }
            if face.italic {
                builder.push(FontStyle::Italic, range.clone());
            }
            if face.tracking != 0.0 {
                builder.push(StyleProperty::LetterSpacing(face.tracking), range);
            }
        }
        builder.build_into(&mut self.layout, part.text);
        self.layout.break_all_lines(None);
    }

    /// Returns the units of the shaped text, in reading order.
    fn units(&mut self, part: &PassagePart<'_>, parts_words: bool) -> Vec<LocatedUnit> {
        let options = AnalysisOptions::default();
        self.analyzer.analyze(part.text, &options, &mut self.analysis);
        let information = part.text.char_indices().zip(self.analysis.char_info());
        let wraps = information
            .filter(|(_, information)| information.is_soft_wrap_opportunity())
            .map(|((at, _), _)| at);
        let mut wraps = wraps.peekable();
        // Hyphens are drawn at the right end of a line, which is where a right-to-left line starts.
        let parts_words = parts_words && !self.layout.is_rtl();
        let places = if parts_words { self.hyphens.break_positions(part.text) } else { Vec::new() };
        let mut places = places.into_iter().peekable();

        let Some(line) = self.layout.get(0) else { return Vec::new() };
        let mut runs: Vec<_> = line.runs().collect();
        runs.sort_by_key(|run| run.text_range().start);
        let mut units = Vec::with_capacity(part.text.len());
        for cluster in runs.iter().flat_map(parley::Run::clusters) {
            let at = cluster.text_range().start;
            let joined = cluster.is_ligature_continuation();
            while wraps.next_if(|wrap| *wrap < at).is_some() {}
            while places.next_if(|place| *place < at).is_some() {}
            let before = if joined {
                BreakKind::No
            } else if wraps.next_if_eq(&at).is_some() {
                BreakKind::Wrap
            } else if places.next_if_eq(&at).is_some() && !cluster.is_rtl() {
                let hyphen = hyphen_at(&self.hyphen_lines, part, at);
                hyphen.map_or(BreakKind::No, |hyphen| BreakKind::Hyphen(hyphen.right))
            } else {
                BreakKind::No
            };
            let space = cluster.is_space_or_nbsp();
            units.push((BreakUnit { width: cluster.advance(), space, joined, before }, at));
        }
        units
    }

    /// Breaks the layout at the given byte offsets.
    fn break_lines(&mut self, text: &str, ends: impl Iterator<Item = usize>) {
        let mut breaker = self.layout.break_lines();
        let mut start = 0;
        for end in ends {
            let characters = text.get(start..end).map_or(0, |line| line.chars().count());
            let Some(characters) = u32::try_from(characters).ok().filter(|count| *count > 0) else {
                continue;
            };
            if breaker.break_next_with_length(characters).is_none() {
                break;
            }
            start = end;
        }
        breaker.finish();
    }

    /// Prepares a hyphen for every face in which words may be hyphenated.
    fn make_hyphens(&mut self, part: &PassagePart<'_>) {
        for (_, face) in part.passage.faces(part.range.clone()) {
            let known = self.hyphen_lines.iter().any(|(known, _)| *known == face);
            if known || face.family == TypeFamily::Mono {
                continue;
            }
            let frame = TextFrame::new(f32::MAX, TextAlign::Start);
            let mut line = self.lines(&StyledText::of("-", face), frame).pop().unwrap_or_default();
            // Copied text contains a soft hyphen, which is not part of the word.
            line.text = "\u{ad}".to_owned();
            for glyph in &mut line.glyphs {
                glyph.text = 2;
            }
            for piece in &mut line.pieces {
                piece.text = 2;
            }
            self.hyphen_lines.push((face, line));
        }
    }
}

/// Returns the hyphen in the face of the letter before a position, unless that letter is code.
fn hyphen_at<'a>(
    hyphens: &'a [(FontFace, TextLine)],
    part: &PassagePart<'_>,
    at: usize,
) -> Option<&'a TextLine> {
    let end = part.range.start + at;
    let (_, face) = part.passage.faces(end.checked_sub(1)?..end).next()?;
    hyphens.iter().find(|(known, _)| *known == face).map(|(_, line)| line)
}

/// Returns the OpenType features of a face, in CSS notation: old-style figures in text, figures of one width in code.
fn features(face: FontFace) -> &'static str {
    match (face.family, face.small_caps) {
        (TypeFamily::Serif, true) => "\"smcp\" 1, \"onum\" 1",
        (TypeFamily::Serif, false) => "\"onum\" 1",
        (TypeFamily::Mono, _) => "\"liga\" 0, \"calt\" 0",
    }
}

/// Returns the end of a part of a long text: after a space, if there is one in its second half.
fn piece_end(text: &str, range: Range<usize>) -> usize {
    if range.len() <= PIECE + PIECE / 2 {
        return range.end;
    }
    let end = text.floor_char_boundary(range.start + PIECE);
    let half = text.floor_char_boundary(range.start + PIECE / 2);
    let space = text.get(half..end).and_then(|tail| tail.rfind(' '));
    space.map_or(end, |space| half + space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::FontSources;

    fn composer(language: &str) -> Composer {
        Composer::new(FontBook::load(&FontSources::default()).unwrap(), language)
    }

    fn lines(text: &str, width: f32, align: TextAlign) -> Vec<TextLine> {
        let passage = StyledText::of(text, FontFace::serif(10.0));
        composer("en").lines(&passage, TextFrame::new(width, align))
    }

    /// Returns where the last glyph of a line ends.
    fn end_of(line: &TextLine) -> f32 {
        let mut glyphs = line.glyphs.iter();
        let ends = line.pieces.iter().map(|piece| {
            let count = usize::try_from(piece.glyphs).unwrap();
            let width: f32 = glyphs.by_ref().take(count).map(|glyph| glyph.advance).sum();
            piece.x + width * piece.size
        });
        ends.fold(0.0, f32::max)
    }

    const TEXT: &str = "The watchman on the northern tower finally saw the dust, and he did not \
        ring the bell, because he had rung it twice that week for nothing but wind. ";

    #[test]
    fn justified_lines_end_where_the_frame_ends() {
        let lines = lines(&TEXT.repeat(8), 290.0, TextAlign::Justify);
        let (last, full) = lines.split_last().unwrap();
        assert!(full.len() > 12);
        for line in full {
            assert!((end_of(line) - 290.0).abs() < 0.1, "{}: {}", line.text, end_of(line));
        }
        assert!(end_of(last) <= 290.1);
    }

    #[test]
    fn no_line_is_wider_than_its_frame() {
        let words = ["a", "extraordinary", "אבגד", "https://example.org/a/b", "日本語", "x_y_z"];
        let text: String = (0..400).map(|n| words[n * 7 % words.len()].to_owned() + " ").collect();
        let cases = [text, "x".repeat(3000), "fi".repeat(900), "m ".repeat(900), "👩".repeat(500)];
        for text in &cases {
            for align in [TextAlign::Justify, TextAlign::Start, TextAlign::Center] {
                for width in [60.0, 150.0, 290.0] {
                    for line in lines(text, width, align) {
                        assert!(end_of(&line) <= width + 0.6, "{width} {align:?}: {}", line.text);
                    }
                }
            }
        }
    }

    #[test]
    fn no_letter_is_lost_or_doubled() {
        let check = |text: &str, align| {
            let made: String =
                lines(text, 200.0, align).iter().map(|line| line.text.as_str()).collect();
            assert_eq!(made.replace('\u{ad}', ""), text);
        };
        for align in [TextAlign::Justify, TextAlign::Start] {
            check(TEXT.trim_end(), align);
            // Longer than one shaped part.
            check(TEXT.repeat(400).trim_end(), align);
            check(&"officeaffinity".repeat(3000), align);
        }
    }

    #[test]
    fn a_long_text_has_no_short_line_where_its_pieces_meet() {
        let text = TEXT.repeat(400);
        assert!(text.len() > PIECE * 4);
        let lines = lines(&text, 290.0, TextAlign::Justify);
        let short = lines.iter().rev().skip(1).filter(|line| end_of(line) < 280.0);
        assert_eq!(short.count(), 0);
    }

    #[test]
    fn what_does_not_fit_on_one_line_is_cut_off() {
        let face = FontFace::serif(10.0);
        let mut composer = composer("en");
        let line = composer.one_line(&StyledText::of("short", face), 200.0, TextAlign::Start);
        assert_eq!(line.text, "short");
        let line = composer.one_line(&StyledText::of(TEXT, face), 100.0, TextAlign::Start);
        assert_eq!(line.text, "The watchman on…");
        assert!(line.right <= 100.0);
    }
}
