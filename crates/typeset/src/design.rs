//! The design of a book: font sizes, margins and spacing, in points, all derived from the paper size.

use crate::options::PaperSize;
use crate::styled_text::FontFace;

/// The measures of a book.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageDesign {
    pub(crate) width: f32,
    pub(crate) height: f32,
    /// The margins at the spine and at the edge.
    inner: f32,
    outer: f32,
    /// Where the text starts, and how many lines fit on a page.
    pub(crate) top: f32,
    lines: f32,
    /// The font size of the text, and its line spacing.
    pub(crate) size: f32,
    pub(crate) leading: f32,
}

impl PageDesign {
    /// Returns the design for a paper size. A line of text has about 65 letters on every paper.
    pub(crate) fn for_paper(paper: PaperSize) -> Self {
        match paper {
            PaperSize::A5 => Self {
                width: 419.53,
                height: 595.28,
                inner: 58.0,
                outer: 69.0,
                top: 62.0,
                lines: 35.0,
                size: 10.3,
                leading: 13.5,
            },
            PaperSize::A4 => Self {
                width: 595.28,
                height: 841.89,
                inner: 116.0,
                outer: 139.0,
                top: 96.0,
                lines: 40.0,
                size: 12.0,
                leading: 15.75,
            },
            PaperSize::Letter => Self {
                width: 612.0,
                height: 792.0,
                inner: 124.0,
                outer: 148.0,
                top: 92.0,
                lines: 37.0,
                size: 12.0,
                leading: 15.75,
            },
        }
    }

    /// The width of the text.
    pub(crate) fn text_width(&self) -> f32 {
        self.width - self.inner - self.outer
    }

    /// The lowest position of text.
    pub(crate) fn bottom(&self) -> f32 {
        self.top + self.lines * self.leading
    }

    /// The left edge of the text. Even pages are left of the spine.
    pub(crate) fn left(&self, number: usize) -> f32 {
        if number.is_multiple_of(2) { self.outer } else { self.inner }
    }

    /// The baselines of the running head and of the page number.
    pub(crate) fn head(&self) -> f32 {
        self.top - self.leading * 1.45
    }

    pub(crate) fn foot(&self) -> f32 {
        self.bottom() + self.leading * 2.0
    }

    /// Returns the baseline of a line of the given height, from its top.
    pub(crate) fn baseline(height: f32) -> f32 {
        height * 0.74
    }

    pub(crate) fn indent(&self) -> f32 {
        self.size * 1.35
    }

    pub(crate) fn text_face(&self) -> FontFace {
        FontFace::serif(self.size)
    }

    /// The face of secondary text: notes, times, numbers.
    pub(crate) fn small_face(&self) -> FontFace {
        FontFace::serif(self.size * 0.86)
    }

    pub(crate) fn small_leading(&self) -> f32 {
        self.leading * 0.86
    }

    pub(crate) fn code_face(&self) -> FontFace {
        FontFace::mono(self.size * 0.735)
    }

    pub(crate) fn code_leading(&self) -> f32 {
        self.leading * 0.8
    }

    pub(crate) fn speaker_face(&self) -> FontFace {
        FontFace::serif(self.size * 0.98).bold().small_caps()
    }

    pub(crate) fn running_head_face(&self) -> FontFace {
        FontFace::serif(self.size * 0.86).small_caps().grey()
    }

    pub(crate) fn number_face(&self) -> FontFace {
        FontFace::serif(self.size * 0.92)
    }

    pub(crate) fn chapter_face(&self) -> FontFace {
        FontFace::serif(self.size * 1.95)
    }

    pub(crate) fn heading_face(&self, level: u8) -> FontFace {
        match level {
            0 | 1 => FontFace::serif(self.size * 1.22).bold(),
            2 => FontFace::serif(self.size * 1.05).bold(),
            _ => FontFace::serif(self.size * 1.05).italic(),
        }
    }
}
