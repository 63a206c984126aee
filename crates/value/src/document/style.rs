//! What a JSON file looks like.

use std::ops::Range;

use super::BOM;
use everturn_json::json;

/// How containers are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `{"a":1,"b":2}`
    Compact,
    /// `{"a": 1, "b": 2}`
    Spaced,
    /// One entry per line; an empty container stays `{}`.
    Pretty(Indent),
}

/// What stands before an entry on its own line, for each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indent {
    /// So many spaces.
    Spaces(u8),
    /// One tab.
    Tab,
}

/// How characters beyond ASCII are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonAscii {
    /// As they are.
    Raw,
    /// As `\uXXXX` in lower case, those beyond 16 bits as a pair; DEL counts as one of them.
    Escaped,
}

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl LineEnd {
    /// The characters themselves.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
        }
    }
}

/// All that can differ between files with the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// How containers are laid out.
    pub layout: Layout,
    /// How characters beyond ASCII are written.
    pub non_ascii: NonAscii,
    /// How lines end.
    pub line_end: LineEnd,
    /// Whether the last line has an end.
    pub final_newline: bool,
    /// Whether a byte order mark comes first.
    pub bom: bool,
}

impl Style {
    /// Two spaces, everything in ASCII, no final newline: `json.dumps(value, indent=2)` in Python.
    pub const PRETTY_ASCII: Style = Style { non_ascii: NonAscii::Escaped, ..Style::PRETTY_RAW };

    /// Two spaces, no final newline: `JSON.stringify(value, null, 2)`, or serde_json's pretty writer.
    pub const PRETTY_RAW: Style = Style {
        layout: Layout::Pretty(Indent::Spaces(2)),
        non_ascii: NonAscii::Raw,
        line_end: LineEnd::Lf,
        final_newline: false,
        bom: false,
    };

    /// Two spaces and a final newline: `writeJson(file, value, {spaces: 2})` in fs-extra.
    pub const PRETTY_RAW_LINE: Style = Style { final_newline: true, ..Style::PRETTY_RAW };

    /// One line with a space after `,` and `:`, everything in ASCII: `json.dumps(value)` in Python.
    pub const SPACED_ASCII: Style = Style { layout: Layout::Spaced, ..Style::PRETTY_ASCII };

    /// One line without any space: `JSON.stringify(value)`, or serde_json's plain writer.
    pub const COMPACT: Style = Style { layout: Layout::Compact, ..Style::PRETTY_RAW };

    /// How a value that has to stay on one line is laid out.
    pub(super) fn flat_layout(&self) -> Layout {
        match self.layout {
            Layout::Compact => Layout::Compact,
            Layout::Spaced | Layout::Pretty(_) => Layout::Spaced,
        }
    }

    /// The style of `text`, with `fallback` for what it does not show.
    pub(super) fn detect(text: &str, root: &Range<usize>, fallback: &Style) -> Style {
        let line_end = match text.find('\n') {
            Some(at) if text.get(..at).is_some_and(|before| before.ends_with('\r')) => {
                LineEnd::CrLf
            }
            Some(_) => LineEnd::Lf,
            None => fallback.line_end,
        };
        let value = text.get(root.clone()).unwrap_or_default();
        Style {
            layout: detect_layout(text, root.start).unwrap_or(fallback.layout),
            non_ascii: detect_non_ascii(value).unwrap_or(fallback.non_ascii),
            line_end,
            final_newline: text.ends_with('\n'),
            bom: text.starts_with(BOM),
        }
    }
}

/// How many levels are searched for a sign of the layout.
const LEVELS_SEARCHED: usize = 8;

/// The layout of the first container that shows one: from the root, along the first entries.
fn detect_layout(text: &str, mut start: usize) -> Option<Layout> {
    for _ in 0..LEVELS_SEARCHED {
        let entries = json::entries(text.as_bytes(), start).ok()??;
        let first = entries.list.first()?;
        let lead = text.get(entries.span.start + 1..first.start())?;
        if let Some((_, indent)) = lead.rsplit_once('\n') {
            return Some(Layout::Pretty(if indent.starts_with('\t') {
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
            return Some(if spaced { Layout::Spaced } else { Layout::Compact });
        }
        start = first.value.start;
    }
    None
}

/// Raw, if anything is; escaped, if some escape need not be one in a raw text.
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
