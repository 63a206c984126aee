//! Clean text and the faces it is set in: [`StyledText`], [`FontFace`].

use crate::book::TextRun;
use crate::clean_text::{WhitespaceMode, append_clean};

/// The text colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Body text.
    #[default]
    Black,
    /// Secondary text: times, numbers, labels.
    Grey,
    /// The text of links.
    Blue,
    /// Text that is struck through.
    Struck,
}

/// The kinds of type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeFamily {
    Serif,
    Mono,
}

/// Everything that determines how a letter looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FontFace {
    pub(crate) family: TypeFamily,
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) small_caps: bool,
    pub(crate) size: f32,
    /// Letter spacing, in points.
    pub(crate) tracking: f32,
    pub(crate) ink: Ink,
}

/// The scale of the monospaced font, whose letters are large for their size.
const MONO_SCALE: f32 = 0.8;

impl FontFace {
    /// Upright serif type.
    pub(crate) fn serif(size: f32) -> Self {
        Self {
            family: TypeFamily::Serif,
            bold: false,
            italic: false,
            small_caps: false,
            size,
            tracking: 0.0,
            ink: Ink::Black,
        }
    }

    /// Monospaced type.
    pub(crate) fn mono(size: f32) -> Self {
        Self { family: TypeFamily::Mono, ..Self::serif(size) }
    }

    pub(crate) fn italic(self) -> Self {
        Self { italic: true, ..self }
    }

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) fn grey(self) -> Self {
        Self { ink: Ink::Grey, ..self }
    }

    /// Small capitals, which need letter spacing.
    pub(crate) fn small_caps(self) -> Self {
        Self { small_caps: true, tracking: self.size * 0.06, ..self }
    }

    /// Returns this face with the style of a run applied.
    fn styled(self, run: &TextRun) -> Self {
        let style = run.style;
        let mut face = self;
        face.bold |= style.bold;
        // Emphasis within italics is upright.
        face.italic ^= style.italic;
        if style.code && face.family != TypeFamily::Mono {
            face.family = TypeFamily::Mono;
            face.size *= MONO_SCALE;
        }
        if style.link {
            face.ink = Ink::Blue;
        }
        if style.struck {
            face.ink = Ink::Struck;
        }
        face
    }
}

/// Clean text with faces; line feeds end lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct StyledText {
    text: String,
    /// The end of each face.
    spans: Vec<(usize, FontFace)>,
}

impl StyledText {
    /// Text in one face.
    pub(crate) fn of(text: &str, face: FontFace) -> Self {
        let mut passage = Self::default();
        passage.push(text, face, WhitespaceMode::Collapsed);
        passage.trim();
        passage
    }

    /// Runs in the styles of a face.
    pub(crate) fn runs(runs: &[TextRun], face: FontFace) -> Self {
        let mut passage = Self::default();
        passage.push_runs(runs, face);
        passage.trim();
        passage
    }

    /// Text whose spaces and line breaks are kept.
    pub(crate) fn code(text: &str, face: FontFace) -> Self {
        let mut passage = Self::default();
        passage.push(text, face, WhitespaceMode::Kept);
        passage.trim();
        passage
    }

    pub(crate) fn push(&mut self, text: &str, face: FontFace, spaces: WhitespaceMode) {
        append_clean(&mut self.text, text, spaces);
        let end = self.text.len();
        // A line end may have removed trailing spaces of earlier faces.
        for (earlier, _) in self.spans.iter_mut().rev().take_while(|(earlier, _)| *earlier > end) {
            *earlier = end;
        }
        match self.spans.last_mut() {
            Some((last, same)) if *same == face => *last = end,
            _ => self.spans.push((end, face)),
        }
    }

    pub(crate) fn push_runs(&mut self, runs: &[TextRun], face: FontFace) {
        for run in runs {
            self.push(&run.text, face.styled(run), WhitespaceMode::Collapsed);
        }
    }

    /// Removes trailing white space.
    pub(crate) fn trim(&mut self) {
        self.text.truncate(self.text.trim_end_matches([' ', '\n']).len());
        let end = self.text.len();
        for (earlier, _) in &mut self.spans {
            *earlier = end.min(*earlier);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the faces of a part of the text, with their ranges within that part.
    pub(crate) fn faces(
        &self,
        part: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, FontFace)> + '_ {
        let first = self.spans.partition_point(|(end, _)| *end <= part.start);
        let mut start = part.start;
        let spans = self.spans.iter().skip(first).map_while(move |(end, face)| {
            let range = start..(*end).clamp(start, part.end);
            start = range.end;
            (range.start < part.end)
                .then(|| (range.start - part.start..range.end - part.start, *face))
        });
        // Text may have collapsed to nothing.
        spans.filter(|(range, _)| !range.is_empty())
    }

    /// Returns the face at the beginning, if there is any text.
    pub(crate) fn first_face(&self) -> Option<FontFace> {
        self.spans.iter().find(|(end, _)| *end > 0).map(|(_, face)| *face)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runs: &[TextRun], part: std::ops::Range<usize>, expect: &[(&str, bool)]) {
        let passage = StyledText::runs(runs, FontFace::serif(10.0));
        let text = &passage.text()[part.clone()];
        let faces: Vec<_> =
            passage.faces(part).map(|(range, face)| (&text[range], face.bold)).collect();
        assert_eq!(faces, expect, "{runs:?}");
    }

    #[test]
    fn faces_cover_the_text_in_parts() {
        let runs = [TextRun::plain("one "), TextRun::bold("two"), TextRun::plain(" three")];
        check(&runs, 0..13, &[("one ", false), ("two", true), (" three", false)]);
        check(&runs, 2..6, &[("e ", false), ("tw", true)]);
        check(&runs, 7..13, &[(" three", false)]);
        check(&runs, 5..5, &[]);
    }

    #[test]
    fn spaces_that_collapse_leave_no_faces_behind() {
        check(
            &[TextRun::plain("a "), TextRun::bold(" \n"), TextRun::plain("b")],
            0..3,
            &[("a\n", false), ("b", false)],
        );
        check(&[TextRun::bold("a  "), TextRun::plain("   ")], 0..1, &[("a", true)]);
    }
}
