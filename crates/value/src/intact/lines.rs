//! Reads documents with one value per line, as most programs write them, across damaged lines.

use super::builder::{DocumentBuilder, string_end};
use crate::tree::JsonTree;

/// A line, without its indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineContent<'l> {
    Open {
        key: Option<&'l str>,
        is_object: bool,
    },
    Value {
        key: Option<&'l str>,
        value: &'l str,
    },
    Close,
    /// Its key, if that can still be read.
    Damaged {
        key: Option<&'l str>,
    },
}

/// Returns the start of the line of an error: of the line before it, if the error is at the start of its line, because
/// then the end of that line may be the cause.
pub(super) fn line_before(bytes: &[u8], error: usize) -> usize {
    let start_of = |at: usize| {
        let before = bytes.get(..at).unwrap_or(bytes);
        before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
    };
    let start = start_of(error);
    let between = bytes.get(start..error).unwrap_or_default();
    match between.iter().all(u8::is_ascii_whitespace) && start > 0 {
        true => start_of(start - 1),
        false => start,
    }
}

/// Returns the indentation of one level: that of the first indented line.
fn indent_unit(bytes: &[u8]) -> Option<usize> {
    let mut lines = bytes.split(|byte| *byte == b'\n').skip(1);
    let indent = |line: &[u8]| line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    lines.next().map(indent).filter(|unit| *unit > 0)
}

/// Returns whether the line at `from` is indented as its depth implies, so that the following lines can be assigned by
/// their indentation.
pub(super) fn is_aligned(bytes: &[u8], from: usize, depth: usize) -> bool {
    let Some(unit) = indent_unit(bytes) else { return false };
    if from == 0 {
        return true;
    }
    let line = bytes.get(from..).unwrap_or_default();
    let spaces = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let closes = matches!(line.get(spaces), Some(b'}' | b']'));
    let is_level = |spaces: usize| spaces == (depth - usize::from(closes && depth > 0)) * unit;
    // A damaged byte in the indentation, or the end of the file in it.
    is_level(spaces) || spaces < depth * unit && !closes
}

/// A line of a document.
struct IndentedLine<'l> {
    indent: usize,
    content: &'l [u8],
    /// Whether it has a newline.
    is_ended: bool,
}

/// The lines of a document. An empty line is the indentation of the next one, with a damaged byte.
fn lines(bytes: &[u8]) -> Vec<IndentedLine<'_>> {
    let mut all = Vec::new();
    let mut extra = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        rest = rest.get(end.map_or(rest.len(), |end| end + 1)..).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            extra += line.len() + 1;
            continue;
        }
        let (indent, content) = split_indent(line);
        all.push(IndentedLine { indent: indent + extra, content, is_ended: end.is_some() });
        extra = 0;
    }
    all
}

/// Splits a line into indentation and content. One byte of the indentation may be damaged.
fn split_indent(line: &[u8]) -> (usize, &[u8]) {
    let spaces = |from: usize| {
        let rest = line.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    };
    let mut indent = spaces(0);
    let beyond = spaces(indent + 1);
    let starts = matches!(line.get(beyond), Some(b'"' | b'{' | b'}' | b'[' | b']'));
    let is_noise = |byte: &u8| !matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
    if line.get(indent).is_some_and(is_noise) && starts {
        indent = beyond;
    }
    (indent, line.get(indent..).unwrap_or_default())
}

/// Reads the lines from an offset on into the document, which has been read up to there.
pub(super) fn read_lines(builder: &mut DocumentBuilder, bytes: &[u8], from: usize) {
    let unit = indent_unit(bytes).unwrap_or(1);
    let all = lines(bytes.get(from..).unwrap_or_default());
    let mut rest = all.iter().peekable();
    if builder.depth() == 0 {
        builder.open(None, true);
        // The first line is the brace of the document, however damaged it is.
        rest.next_if(|line| line.indent == 0);
    }
    while let Some(line) = rest.next() {
        let depth = line.indent / unit;
        let is_level = line.indent % unit == 0;
        let below = rest.peek().filter(|next| next.indent / unit > depth);
        let content = match is_level {
            true => parse_line(line),
            false => LineContent::Damaged { key: None },
        };
        match content {
            LineContent::Close => close_to(builder, depth + 1),
            // A damaged line says little about its depth.
            LineContent::Damaged { .. } if below.is_none() => builder.add_gap(),
            _ => close_to(builder, depth.max(1)),
        }
        if content == LineContent::Close && builder.depth() == depth + 1 {
            builder.close();
        }
        if builder.is_closed() {
            return;
        }
        if depth > builder.depth() {
            // It is in a container whose start is lost.
            builder.add_gap();
            continue;
        }
        // The first line in a container tells its kind as well as its brace does.
        let is_object = |given: bool| match below.map(|next| parse_line(next)) {
            Some(LineContent::Value { key, .. } | LineContent::Open { key, .. }) => key.is_some(),
            _ => given,
        };
        match content {
            LineContent::Value { key, value } => builder.add_value(key, value),
            LineContent::Open { key, is_object: given } => {
                builder.open(key, is_object(given));
            }
            LineContent::Damaged { key } if below.is_some() => {
                if key.is_some() == builder.is_in_object() {
                    builder.open(key, is_object(true));
                } else {
                    builder.add_gap();
                }
            }
            LineContent::Damaged { .. } | LineContent::Close => {}
        }
    }
}

/// Closes containers whose ends were not found, up to a depth.
fn close_to(builder: &mut DocumentBuilder, depth: usize) {
    while builder.depth() > depth {
        builder.add_gap();
        builder.close();
    }
}

/// Parses the content of a line.
fn parse_line<'l>(line: &IndentedLine<'l>) -> LineContent<'l> {
    let Ok(text) = std::str::from_utf8(line.content) else {
        return LineContent::Damaged { key: None };
    };
    let text = text.trim_end();
    if matches!(text, "}" | "]" | "}," | "],") {
        return LineContent::Close;
    }
    let (key, value) = match string_end(text.as_bytes()).and_then(|end| text.split_at_checked(end))
    {
        Some((key, rest)) if JsonTree::parse(key).is_ok() && !rest.is_empty() && rest != "," => {
            match rest.trim_start().strip_prefix(':') {
                Some(value) => (Some(key), value.trim_start()),
                None => return damaged_key(text, key, rest),
            }
        }
        _ => (None, text),
    };
    if matches!(value, "{" | "[") {
        return LineContent::Open { key, is_object: value == "{" };
    }
    let plain = value.strip_suffix(',').unwrap_or(value);
    let is_number = plain.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let is_cut = !line.is_ended && plain.len() == value.len() && is_number;
    if !is_cut && JsonTree::parse(plain).is_ok() {
        return LineContent::Value { key, value: plain };
    }
    // The last byte may be a damaged comma.
    let mut characters = value.chars();
    let has_comma = characters.next_back() != Some('"');
    let shorter = characters.as_str();
    match line.is_ended && !is_number && has_comma && JsonTree::parse(shorter).is_ok() {
        true => LineContent::Value { key, value: shorter },
        false => LineContent::Damaged { key },
    }
}

/// Returns a line with a string that no colon follows: an element with a damaged comma, or a damaged member.
fn damaged_key<'l>(text: &'l str, key: &'l str, rest: &str) -> LineContent<'l> {
    match rest.chars().count() {
        1 if text.len() > key.len() => LineContent::Value { key: None, value: key },
        _ => LineContent::Damaged { key: Some(key) },
    }
}
