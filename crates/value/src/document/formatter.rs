//! Writes values in a style.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::style::{Indent, JsonLayout, JsonStyle, NonAscii};

/// Writes `value` on one line in `style`, without a newline: a record of a JSONL file.
///
/// A pretty style has no single-line form; such a record is written with a space after `,` and `:`.
///
/// ```
/// use everturn_value::document::{JsonStyle, render_line};
///
/// let record = serde_json::json!({"type": "user", "text": "né"});
/// assert_eq!(render_line(&record, &JsonStyle::COMPACT)?, r#"{"type":"user","text":"né"}"#);
/// assert_eq!(render_line(&record, &JsonStyle::SPACED_ASCII)?, r#"{"type": "user", "text": "n\u00e9"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn render_line<T: Serialize + ?Sized>(
    value: &T,
    style: &JsonStyle,
) -> serde_json::Result<String> {
    render_value(value, style, style.flat_layout(), "")
}

/// Writes `value` in `layout`; every line but the first starts with `base`.
pub(super) fn render_value<T: Serialize + ?Sized>(
    value: &T,
    style: &JsonStyle,
    layout: JsonLayout,
    base: &str,
) -> serde_json::Result<String> {
    let mut out = Vec::new();
    let pen = StyleFormatter { style, layout, base, depth: 0, empty: true };
    value.serialize(&mut Serializer::with_formatter(&mut out, pen))?;
    String::from_utf8(out).map_err(serde::ser::Error::custom)
}

impl JsonLayout {
    /// The indent of entries that are `depth` levels deep.
    pub fn indent(self, depth: usize) -> String {
        match self {
            JsonLayout::Compact | JsonLayout::Spaced => String::new(),
            JsonLayout::Pretty(Indent::Spaces(count)) => " ".repeat(depth * usize::from(count)),
            JsonLayout::Pretty(Indent::Tab) => "\t".repeat(depth),
        }
    }

    /// A line break with the next indent, if entries are on separate lines.
    pub(super) fn line_break(self, style: &JsonStyle, indent: &str) -> String {
        match self {
            JsonLayout::Compact | JsonLayout::Spaced => String::new(),
            JsonLayout::Pretty(_) => [style.line_end.as_str(), indent].concat(),
        }
    }
}

/// The separator between a key and its value.
pub(super) fn colon(layout: JsonLayout) -> &'static str {
    match layout {
        JsonLayout::Compact => ":",
        JsonLayout::Spaced | JsonLayout::Pretty(_) => ": ",
    }
}

/// Defines for serde_json what to write between values, and how to write characters.
struct StyleFormatter<'s> {
    style: &'s JsonStyle,
    /// The layout of the style, or its single-line form.
    layout: JsonLayout,
    base: &'s str,
    depth: usize,
    /// Whether the current container has no entry yet.
    empty: bool,
}

impl StyleFormatter<'_> {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if !self.empty {
            self.break_line(out)?;
        }
        self.empty = false;
        out.write_all(bracket)
    }

    fn entry<W: ?Sized + Write>(&self, out: &mut W, first: bool) -> io::Result<()> {
        match (self.layout, first) {
            (JsonLayout::Spaced, false) => out.write_all(b", "),
            (JsonLayout::Compact | JsonLayout::Pretty(_), false) => out.write_all(b","),
            (_, true) => Ok(()),
        }?;
        self.break_line(out)
    }

    fn break_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        let indent = [self.base, &self.layout.indent(self.depth)].concat();
        out.write_all(self.layout.line_break(self.style, &indent).as_bytes())
    }
}

impl Formatter for StyleFormatter<'_> {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.entry(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.entry(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(colon(self.layout).as_bytes())
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.empty = false;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.style.non_ascii == NonAscii::Raw {
            return out.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(|c: char| !c.is_ascii() || c == '\u{7f}') {
            let (plain, after) = rest.split_at(at);
            out.write_all(plain.as_bytes())?;
            let mut after = after.chars();
            if let Some(character) = after.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            rest = after.as_str();
        }
        out.write_all(rest.as_bytes())
    }

    /// Writes JSON that is already text; outside pretty layouts it must not break the line.
    fn write_raw_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if matches!(self.layout, JsonLayout::Pretty(_)) {
            return out.write_all(fragment.as_bytes());
        }
        // Line ends are white space here: inside strings JSON has only their escapes.
        out.write_all(fragment.replace(['\n', '\r'], " ").as_bytes())
    }
}
