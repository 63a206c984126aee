//! Turns a line of the text layout into positioned glyphs: justification, direction, hyphens, missing characters.

use std::collections::BTreeMap;
use std::ops::Range;

use parley::{Cluster, Line as LaidLine};

use crate::clean_text::is_mark;
use crate::compose::TextAlign;
use crate::fonts::FontTable;
use crate::line::{Glyph, GlyphRun, TextLine};
use crate::styled_text::Ink;

/// The maximum growth of a space, relative to the font size. A line that needs more stays short instead of showing
/// holes.
const MOST_GROWTH: f32 = 0.7;

/// How a line ends.
pub(crate) enum LineEnding<'a> {
    Paragraph,
    Wrap,
    Hyphen(&'a TextLine),
}

/// The position of a line.
pub(crate) struct LinePlacement<'a> {
    /// The text of the layout, and the part of it that is the line.
    pub(crate) text: &'a str,
    pub(crate) bounds: Range<usize>,
    pub(crate) width: f32,
    pub(crate) indent: f32,
    pub(crate) align: TextAlign,
    pub(crate) ending: LineEnding<'a>,
}

/// The measurements of a line before it is placed.
struct LineMeasure {
    /// The byte offset at which trailing spaces start.
    end: usize,
    width: f32,
    spaces: f32,
    size: f32,
}

impl LineMeasure {
    fn of(line: &LaidLine<'_, Ink>, placing: &LinePlacement<'_>) -> Self {
        let text = placing.text.get(placing.bounds.clone()).unwrap_or_default();
        let end = placing.bounds.start + text.trim_end_matches(' ').len();
        let mut measure = Self { end, width: 0.0, spaces: 0.0, size: 0.0 };
        for run in line.runs() {
            measure.size = measure.size.max(run.font_size());
            for cluster in run.clusters() {
                if cluster.text_range().start >= end {
                    continue;
                }
                measure.width += cluster.advance();
                if cluster.is_space_or_nbsp() {
                    measure.spaces += 1.0;
                }
            }
        }
        measure
    }
}

/// Builds a positioned line from a line that parley laid out. `backwards` is the direction of the paragraph.
pub(crate) fn assemble_line(
    line: &LaidLine<'_, Ink>,
    backwards: bool,
    placing: &LinePlacement<'_>,
    table: &mut FontTable,
    missing: &mut BTreeMap<char, u64>,
) -> TextLine {
    let mut measure = LineMeasure::of(line, placing);
    let hyphen = match placing.ending {
        LineEnding::Hyphen(hyphen) => Some(hyphen),
        LineEnding::Paragraph | LineEnding::Wrap => None,
    };
    let hyphen_width = hyphen.map_or(0.0, |hyphen| hyphen.right);
    let free = placing.width - placing.indent - measure.width - hyphen_width;
    let growth = match placing.ending {
        _ if placing.align != TextAlign::Justify || measure.spaces == 0.0 => 0.0,
        LineEnding::Paragraph => (free / measure.spaces).min(0.0),
        LineEnding::Wrap | LineEnding::Hyphen(_) => free / measure.spaces,
    };
    let growth = if growth > measure.size * MOST_GROWTH { 0.0 } else { growth };
    measure.width += growth * measure.spaces;
    let free = placing.width - placing.indent - measure.width - hyphen_width;
    let shift = match placing.align {
        TextAlign::Justify | TextAlign::Start if backwards => free,
        TextAlign::Justify | TextAlign::Start => 0.0,
        TextAlign::Center => free / 2.0,
    };
    let left = if backwards { shift } else { placing.indent + shift };
    let mut pen = GlyphPen { text: placing.text, line: TextLine::default(), x: left, open: None };
    for run in line.runs() {
        let font = table.font_number(&run);
        let drawable = table.font(font).is_some();
        for cluster in run.visual_clusters() {
            // Trailing spaces have no width, on whichever side the direction puts them.
            let stretch = match cluster.is_space_or_nbsp() {
                _ if cluster.text_range().start >= measure.end => ClusterStretch::Flat,
                true => ClusterStretch::By(growth),
                false => ClusterStretch::By(0.0),
            };
            count_missing(&cluster, drawable, placing.text, missing);
            pen.draw(&cluster, font, run.font_size(), stretch);
        }
    }
    pen.close();
    let mut made = pen.line;
    made.right = left + measure.width;
    if let Some(hyphen) = hyphen {
        made.append(hyphen);
    }
    made
}

/// How the width of a cluster changes.
#[derive(Clone, Copy, PartialEq)]
enum ClusterStretch {
    By(f32),
    Flat,
}

/// Draws clusters from left to right, and merges neighbours of the same font, size and colour into one run.
struct GlyphPen<'a> {
    text: &'a str,
    line: TextLine,
    x: f32,
    open: Option<OpenPiece>,
}

/// A run that is being drawn.
struct OpenPiece {
    piece: GlyphRun,
    text: Range<usize>,
    first_glyph: usize,
    /// The glyph that carries the text of its cluster.
    head: Option<usize>,
    /// The number of text bytes that no glyph carries yet.
    waiting: usize,
}

impl GlyphPen<'_> {
    fn draw(&mut self, cluster: &Cluster<'_, Ink>, font: u16, size: f32, stretch: ClusterStretch) {
        let ink = cluster.style().brush;
        let backwards = cluster.is_rtl();
        let same = |open: &OpenPiece| {
            let piece = &open.piece;
            (piece.font, piece.ink, piece.backwards) == (font, ink, backwards) && piece.size == size
        };
        if !self.open.as_ref().is_some_and(same) {
            self.close();
        }
        let (x, first_glyph) = (self.x, self.line.glyphs.len());
        let text = cluster.text_range();
        let open = self.open.get_or_insert_with(|| OpenPiece {
            piece: GlyphRun { font, ink, backwards, size, x, y: 0.0, glyphs: 0, text: 0 },
            text: text.clone(),
            first_glyph,
            head: None,
            waiting: 0,
        });
        open.text = open.text.start.min(text.start)..open.text.end.max(text.end);
        open.waiting += text.len();
        let before = self.line.glyphs.len();
        for glyph in cluster.glyphs() {
            let advance = if stretch == ClusterStretch::Flat { 0.0 } else { glyph.advance };
            self.x += advance;
            self.line.glyphs.push(Glyph {
                id: u16::try_from(glyph.id).unwrap_or(0),
                text: 0,
                advance: advance / size,
                right: thousandths(glyph.x / size),
                up: thousandths(-glyph.y / size),
            });
        }
        if self.line.glyphs.len() > before {
            open.head = Some(before);
            if let Some(last) = self.line.glyphs.last_mut()
                && let ClusterStretch::By(growth) = stretch
            {
                last.advance += growth / size;
                self.x += growth;
            }
        }
        // The later part of a ligature belongs to the glyph before it; in right-to-left text it comes first.
        if self.line.glyphs.len() > before || !backwards {
            open.assign_text(&mut self.line.glyphs);
        }
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        open.assign_text(&mut self.line.glyphs);
        let text = self.text.get(open.text.clone()).unwrap_or_default();
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        open.piece.glyphs = count(self.line.glyphs.len() - open.first_glyph);
        open.piece.text = count(text.len());
        self.line.text.push_str(text);
        self.line.pieces.push(open.piece);
    }
}

impl OpenPiece {
    /// Assigns the pending text to the glyph of the cluster.
    fn assign_text(&mut self, glyphs: &mut [Glyph]) {
        if let Some(glyph) = self.head.and_then(|head| glyphs.get_mut(head)) {
            let waiting = u16::try_from(self.waiting).unwrap_or(u16::MAX);
            glyph.text = glyph.text.saturating_add(waiting);
            self.waiting = 0;
        }
    }
}

fn thousandths(part: f32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    let whole = (part * 1000.0).round() as i16;
    whole
}

/// Counts the characters of a cluster that no font contains.
fn count_missing(
    cluster: &Cluster<'_, Ink>,
    drawable: bool,
    text: &str,
    missing: &mut BTreeMap<char, u64>,
) {
    let absent = |glyph: &parley_engine::Glyph| glyph.id == 0 || !drawable;
    if !cluster.glyphs().any(|glyph| absent(&glyph)) {
        return;
    }
    let letters = text.get(cluster.text_range()).unwrap_or_default();
    let glyphs: Vec<_> = cluster.glyphs().collect();
    // With one glyph per character the missing ones are known; otherwise all of them count as missing.
    let paired = glyphs.len() == letters.chars().count() && !cluster.is_rtl();
    for (index, letter) in letters.chars().enumerate() {
        let is_absent = !paired || glyphs.get(index).is_some_and(absent);
        if is_absent && (!is_mark(letter) || glyphs.len() > 1 && !is_joiner(letter)) {
            *missing.entry(letter).or_default() += 1;
        }
    }
}

/// Returns whether a character only affects its neighbours.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}
