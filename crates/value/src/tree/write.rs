//! Writes trees as text.

use std::ops::Range;

use super::marks::{StructuralMarks, trim_between};
use super::{JsonTree, TreeNode};
use crate::document::{JsonLayout, JsonStyle, NonAscii};

/// The number of levels of a pretty text that have lines of their own. Below them the indents would become longer than
/// everything else, so values stay on one line.
const INDENTED_LEVELS: usize = 128;

impl JsonTree {
    /// The value on one line, without any space between its parts.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut printer = TreePrinter::new(JsonStyle::COMPACT);
        printer.node(&self.0);
        printer.out
    }

    /// The value as the content of a file.
    ///
    /// In a pretty style, values more than 128 levels deep stay on one line.
    #[must_use]
    pub fn to_text(&self, style: &JsonStyle) -> String {
        let mut printer = TreePrinter::new(*style);
        if style.bom {
            printer.out.push('\u{feff}');
        }
        printer.node(&self.0);
        if style.final_newline {
            printer.out.push_str(style.line_end.as_str());
        }
        printer.out
    }
}

/// The separators of a layout.
struct LayoutSeparators {
    layout: JsonLayout,
    /// A comma, a line ending and the deepest indent so far.
    line: String,
    /// The indent of one level.
    indent: String,
    /// The length of the comma and the line ending.
    before_indent: usize,
}

impl LayoutSeparators {
    fn new(style: &JsonStyle) -> LayoutSeparators {
        let line = [",", style.line_end.as_str()].concat();
        let before_indent = line.len();
        LayoutSeparators {
            layout: style.layout,
            line,
            indent: style.layout.indent(1),
            before_indent,
        }
    }

    /// The separator before an entry at `depth`, with or without a comma.
    #[inline]
    fn separator_before(&mut self, depth: usize, comma: bool) -> &str {
        match self.layout {
            JsonLayout::Pretty(_) if depth <= INDENTED_LEVELS => {
                let length = self.before_indent + depth * self.indent.len();
                while self.line.len() < length {
                    self.line.push_str(&self.indent);
                }
                self.line.get(usize::from(!comma)..length).unwrap_or_default()
            }
            JsonLayout::Compact if comma => ",",
            JsonLayout::Spaced | JsonLayout::Pretty(_) if comma => ", ",
            _ => "",
        }
    }

    fn colon(&self) -> &'static str {
        if self.layout == JsonLayout::Compact { ":" } else { ": " }
    }
}

/// Writes values in the layout of the style.
struct TreePrinter {
    out: String,
    gaps: LayoutSeparators,
    depth: usize,
    /// Whether non-ASCII characters are written raw.
    raw: bool,
}

impl TreePrinter {
    fn new(style: JsonStyle) -> TreePrinter {
        let raw = style.non_ascii == NonAscii::Raw;
        TreePrinter { out: String::new(), gaps: LayoutSeparators::new(&style), depth: 0, raw }
    }

    /// Only values on a changed path are expanded, so the recursion is not much deeper than paths.
    fn node(&mut self, node: &TreeNode) {
        match node {
            TreeNode::Text(slice) => self.text(slice.as_str()),
            TreeNode::Array(elements) => {
                self.open('[');
                for (at, element) in elements.iter().enumerate() {
                    self.out.push_str(self.gaps.separator_before(self.depth, at > 0));
                    self.node(element);
                }
                self.close(']', elements.is_empty());
            }
            TreeNode::Object(members) => {
                self.open('{');
                for (at, (key, member)) in members.iter().enumerate() {
                    self.out.push_str(self.gaps.separator_before(self.depth, at > 0));
                    self.out.push('"');
                    self.characters(key.written_text());
                    self.out.push('"');
                    self.out.push_str(self.gaps.colon());
                    self.node(member);
                }
                self.close('}', members.is_empty());
            }
        }
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
    }

    /// Closes a container; an empty one stays on one line.
    fn close(&mut self, bracket: char, empty: bool) {
        self.depth -= 1;
        if !empty {
            self.out.push_str(self.gaps.separator_before(self.depth, false));
        }
        self.out.push(bracket);
    }

    /// Writes the characters and escapes of a string, or any other scalar.
    fn characters(&mut self, text: &str) {
        if self.raw || is_plain(text) {
            self.out.push_str(text);
            return;
        }
        for character in text.chars() {
            if is_plain(character.encode_utf8(&mut [0; 4])) {
                self.out.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    self.out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }

    /// Reformats an unexpanded value.
    fn text(&mut self, text: &str) {
        if !text.starts_with(['{', '[']) {
            self.characters(text);
            return;
        }
        self.out.reserve(text.len());
        let as_it_is = self.raw || is_plain(text);
        let mut run = CopyRun { text, span: 0..0 };
        // Whether the last mark opened a container.
        let mut opened = false;
        let mut start = 0;
        for at in StructuralMarks::new(text) {
            let scalar = trim_between(text, start.max(run.span.end)..at);
            start = at + 1;
            let mark = text.as_bytes().get(at);
            let empty = opened && scalar.is_empty() && matches!(mark, Some(b'}' | b']'));
            if opened && !empty {
                run.gap(self.gaps.separator_before(self.depth, false), &mut self.out);
            }
            if as_it_is {
                run.take(scalar, &mut self.out);
            } else {
                run.skip_to(scalar.end, &mut self.out);
                self.characters(text.get(scalar).unwrap_or_default());
            }
            opened = false;
            match mark {
                Some(b',') => run.gap(self.gaps.separator_before(self.depth, true), &mut self.out),
                Some(b':') => run.gap(self.gaps.colon(), &mut self.out),
                Some(b'{' | b'[') => {
                    self.depth += 1;
                    opened = true;
                    run.take(at..start, &mut self.out);
                }
                _ => {
                    self.depth -= 1;
                    if !empty {
                        run.gap(self.gaps.separator_before(self.depth, false), &mut self.out);
                    }
                    run.take(at..start, &mut self.out);
                }
            }
        }
        run.skip_to(text.len(), &mut self.out);
    }
}

/// Whether no character needs an escape in an all-ASCII text.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte < 0x7f)
}

/// A part of a text to be copied unchanged, extended as far as possible.
struct CopyRun<'t> {
    text: &'t str,
    span: Range<usize>,
}

impl CopyRun<'_> {
    /// Writes the collected part; the text continues at `place`.
    fn skip_to(&mut self, place: usize, out: &mut String) {
        out.push_str(self.text.get(self.span.clone()).unwrap_or_default());
        self.span = place..place;
    }

    /// Appends this part of the text.
    #[inline]
    fn take(&mut self, part: Range<usize>, out: &mut String) {
        if part.is_empty() {
            return;
        }
        if part.start != self.span.end {
            self.skip_to(part.start, out);
        }
        self.span.end = part.end;
    }

    /// Appends `gap`, which often equals the text at this position.
    #[inline]
    fn gap(&mut self, gap: &str, out: &mut String) {
        let rest = self.text.as_bytes().get(self.span.end..).unwrap_or_default();
        if rest.starts_with(gap.as_bytes()) {
            self.span.end += gap.len();
        } else {
            self.skip_to(self.span.end, out);
            out.push_str(gap);
        }
    }
}
