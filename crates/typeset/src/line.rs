//! Lines and pages in a compact form: [`Glyph`], [`GlyphRun`], [`TextLine`] and [`Page`].

use krilla::image::Image;

use crate::styled_text::Ink;

/// A glyph. Lengths are relative to the font size of its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyph {
    pub(crate) id: u16,
    /// The number of text bytes it represents; 0 if it belongs to the same cluster as the glyph before it.
    pub(crate) text: u16,
    pub(crate) advance: f32,
    /// The offset to the right and upwards, in thousandths.
    pub(crate) right: i16,
    pub(crate) up: i16,
}

/// Adjacent glyphs of one font, size and colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlyphRun {
    pub(crate) font: u16,
    pub(crate) ink: Ink,
    /// Whether the text runs from right to left, against the order of the glyphs.
    pub(crate) backwards: bool,
    pub(crate) size: f32,
    pub(crate) x: f32,
    /// The baseline; 0 within a line.
    pub(crate) y: f32,
    /// The number of glyphs and of text bytes.
    pub(crate) glyphs: u32,
    pub(crate) text: u32,
}

/// A line of text that is not placed yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextLine {
    pub(crate) pieces: Vec<GlyphRun>,
    pub(crate) glyphs: Vec<Glyph>,
    pub(crate) text: String,
    /// The right end of its text, from the left edge of its frame.
    pub(crate) right: f32,
    /// Whether it continues the line before it, which was broken to fit.
    pub(crate) continued: bool,
}

impl TextLine {
    /// Adds the runs of another line to this one.
    pub(crate) fn add(&mut self, other: &Self, shift: f32) {
        self.pieces
            .extend(other.pieces.iter().map(|piece| GlyphRun { x: piece.x + shift, ..*piece }));
        self.glyphs.extend_from_slice(&other.glyphs);
        self.text.push_str(&other.text);
        self.right = self.right.max(other.right + shift);
    }

    /// Appends another line to the end of this one, merging runs of the same appearance.
    pub(crate) fn append(&mut self, other: &Self) {
        let right = self.right;
        if let (Some(last), [piece]) = (self.pieces.last_mut(), other.pieces.as_slice())
            && (last.font, last.ink, last.backwards) == (piece.font, piece.ink, piece.backwards)
            && last.size == piece.size
        {
            last.glyphs += piece.glyphs;
            last.text += piece.text;
            self.glyphs.extend_from_slice(&other.glyphs);
            self.text.push_str(&other.text);
            self.right += other.right;
        } else {
            self.add(other, right);
        }
    }
}

/// The greys of fills and rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shade {
    /// The background of code.
    Tint,
    /// The rule beside notes and between parts.
    Rule,
}

/// A filled rectangle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilledArea {
    pub(crate) shade: Shade,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) width: f32,
    pub(crate) height: f32,
}

/// A picture and its size on paper.
#[derive(Clone, Debug)]
pub(crate) struct SizedPicture {
    pub(crate) image: Image,
    pub(crate) width: f32,
    pub(crate) height: f32,
}

/// A picture on a page, by its upper left corner.
#[derive(Clone, Debug)]
pub(crate) struct PlacedPicture {
    pub(crate) image: Image,
    pub(crate) element: u32,
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) width: f32,
    pub(crate) height: f32,
}

/// The runs of one element of the book.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementSpan {
    pub(crate) element: u32,
    pub(crate) pieces: u32,
}

/// A page with everything placed on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) glyphs: Vec<Glyph>,
    pub(crate) text: String,
    pub(crate) pieces: Vec<GlyphRun>,
    pub(crate) spans: Vec<ElementSpan>,
    pub(crate) areas: Vec<FilledArea>,
    pub(crate) pictures: Vec<PlacedPicture>,
    /// The chapter that it belongs to.
    pub(crate) chapter: usize,
    /// Whether the chapter starts here, so that there is no running head.
    pub(crate) opens: bool,
}

impl Page {
    /// Places a line at a left edge and a baseline.
    pub(crate) fn place(&mut self, line: &TextLine, x: f32, baseline: f32, element: u32) {
        let placed =
            line.pieces.iter().map(|piece| GlyphRun { x: x + piece.x, y: baseline, ..*piece });
        self.pieces.extend(placed);
        self.glyphs.extend_from_slice(&line.glyphs);
        self.text.push_str(&line.text);
        let pieces = u32::try_from(line.pieces.len()).unwrap_or(u32::MAX);
        match self.spans.last_mut() {
            Some(span) if span.element == element => span.pieces += pieces,
            _ if pieces == 0 => {}
            _ => self.spans.push(ElementSpan { element, pieces }),
        }
    }

    /// Fills an area, or extends the last one downwards if it has the same edges and shade.
    pub(crate) fn fill(&mut self, area: FilledArea) {
        if let Some(last) = self.areas.last_mut()
            && last.shade == area.shade
            && last.x == area.x
            && last.width == area.width
            && (last.y + last.height - area.y).abs() < 0.1
        {
            last.height = area.y + area.height - last.y;
        } else {
            self.areas.push(area);
        }
    }

    /// Frees unused capacity.
    pub(crate) fn shrink(&mut self) {
        self.glyphs.shrink_to_fit();
        self.text.shrink_to_fit();
        self.pieces.shrink_to_fit();
        self.spans.shrink_to_fit();
    }
}
