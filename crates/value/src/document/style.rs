//! [`JsonStyle`]: the formatting of a JSON file.

use std::ops::Range;

use super::BOM;
use everturn_json::json;

/// The layout of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonLayout {
    /// `{"a":1,"b":2}`
    Compact,
    /// `{"a": 1, "b": 2}`
    Spaced,
    /// One entry per line; an empty container stays `{}`.
    Pretty(Indent),
}

/// The indent of each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indent {
    /// This many spaces.
    Spaces(u8),
    /// One tab.
    Tab,
}

/// How non-ASCII characters are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonAscii {
    /// As they are.
    Raw,
    /// As `\uXXXX` in lower case, beyond 16 bits as a surrogate pair; also for DEL.
    Escaped,
}

/// The line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl LineEnding {
    /// The line ending as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnding::Lf => "\n",
            LineEnding::CrLf => "\r\n",
        }
    }
}

/// Everything that can differ between files with the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonStyle {
    /// The layout of containers.
    pub layout: JsonLayout,
    /// How non-ASCII characters are written.
    pub non_ascii: NonAscii,
    /// The line ending.
    pub line_end: LineEnding,
    /// Whether the last line ends with a newline.
    pub final_newline: bool,
    /// Whether the file starts with a byte order mark.
    pub bom: bool,
}

impl JsonStyle {
    /// Two spaces, everything in ASCII, no final newline: `json.dumps(value, indent=2)` in Python.
    pub const PRETTY_ASCII: JsonStyle =
        JsonStyle { non_ascii: NonAscii::Escaped, ..JsonStyle::PRETTY_RAW };

    /// Two spaces, no final newline: `JSON.stringify(value, null, 2)`, or serde_json's pretty writer.
    pub const PRETTY_RAW: JsonStyle = JsonStyle {
        layout: JsonLayout::Pretty(Indent::Spaces(2)),
        non_ascii: NonAscii::Raw,
        line_end: LineEnding::Lf,
        final_newline: false,
        bom: false,
    };

    /// Two spaces and a final newline: `writeJson(file, value, {spaces: 2})` in fs-extra.
    pub const PRETTY_RAW_LINE: JsonStyle =
        JsonStyle { final_newline: true, ..JsonStyle::PRETTY_RAW };

    /// One line with a space after `,` and `:`, everything in ASCII: `json.dumps(value)` in Python.
    pub const SPACED_ASCII: JsonStyle =
        JsonStyle { layout: JsonLayout::Spaced, ..JsonStyle::PRETTY_ASCII };

    /// One line without any space: `JSON.stringify(value)`, or serde_json's plain writer.
    pub const COMPACT: JsonStyle =
        JsonStyle { layout: JsonLayout::Compact, ..JsonStyle::PRETTY_RAW };

    /// The layout of a value that must stay on one line.
    pub(super) fn flat_layout(&self) -> JsonLayout {
        match self.layout {
            JsonLayout::Compact => JsonLayout::Compact,
            JsonLayout::Spaced | JsonLayout::Pretty(_) => JsonLayout::Spaced,
        }
    }

    /// Detects the style of `text`, with `fallback` for properties that it does not show.
    pub(super) fn detect(text: &str, root: &Range<usize>, fallback: &JsonStyle) -> JsonStyle {
        let line_end = match text.find('\n') {
            Some(at) if text.get(..at).is_some_and(|before| before.ends_with('\r')) => {
                LineEnding::CrLf
            }
            Some(_) => LineEnding::Lf,
            None => fallback.line_end,
        };
        let value = text.get(root.clone()).unwrap_or_default();
        JsonStyle {
            layout: detect_layout(text, root.start).unwrap_or(fallback.layout),
            non_ascii: detect_non_ascii(value).unwrap_or(fallback.non_ascii),
            line_end,
            final_newline: text.ends_with('\n'),
            bom: text.starts_with(BOM),
        }
    }
}

/// The number of levels that are searched for the layout.
const LEVELS_SEARCHED: usize = 8;

/// The layout of the first container that shows one: from the root, along the first entries.
fn detect_layout(text: &str, mut start: usize) -> Option<JsonLayout> {
    for _ in 0..LEVELS_SEARCHED {
        let entries = json::entries(text.as_bytes(), start).ok()??;
        let first = entries.list.first()?;
        let lead = text.get(entries.span.start + 1..first.start())?;
        if let Some((_, indent)) = lead.rsplit_once('\n') {
            return Some(JsonLayout::Pretty(if indent.starts_with('\t') {
                Indent::Tab
            } else {
                Indent::Spaces(u8::try_from(indent.len()).unwrap_or(u8::MAX))
            }));
        }
        let separator = match (&first.key, entries.list.get(1)) {
            (Some(key), _) => text.get(key.end..first.value.start),
            (None, Some(second)) => text.get(first.value.end..second.start()),
            (None, None) => None,
        };
        if let Some(separator) = separator {
            let spaced = separator.ends_with(' ');
            return Some(if spaced { JsonLayout::Spaced } else { JsonLayout::Compact });
        }
        start = first.value.start;
    }
    None
}

/// Raw, if any character is; escaped, if an escape is not needed in raw text.
fn detect_non_ascii(value: &str) -> Option<NonAscii> {
    if !value.is_ascii() {
        return Some(NonAscii::Raw);
    }
    let mut rest = value;
    while let Some(at) = rest.find('\\') {
        let escape = rest.get(at + 1..).unwrap_or_default();
        let digits = escape.strip_prefix('u').and_then(|after| after.get(..4));
        if digits
            .is_some_and(|digits| u16::from_str_radix(digits, 16).is_ok_and(|code| code >= 0x7f))
        {
            return Some(NonAscii::Escaped);
        }
        rest = escape.get(1..).unwrap_or_default();
    }
    None
}
