//! Reads documents with one value per line, as most programs write them, across damaged lines.

use std::collections::BTreeMap;

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
    let start = line_start(bytes, error);
    let between = bytes.get(start..error).unwrap_or_default();
    match between.iter().all(u8::is_ascii_whitespace) && start > 0 {
        true => line_start(bytes, start - 1),
        false => start,
    }
}

/// Returns whether an offset is the start of a line.
pub(super) fn is_start(bytes: &[u8], at: usize) -> bool {
    line_start(bytes, at) == at
}

/// Returns the start of the line of an offset.
fn line_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(..at).unwrap_or(bytes);
    before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}

/// Returns the indentation of one level: the smallest one that more than one line has, because damage can make a line
/// look less indented than it is.
fn indent_unit(bytes: &[u8]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n').skip(1) {
        let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        if indent > 0 && indent < line.len() {
            *counts.entry(indent).or_default() += 1;
        }
    }
    let common = counts.iter().find(|(_, count)| **count > 1).or_else(|| counts.iter().next());
    common.map(|(indent, _)| *indent)
}

/// Returns whether the document has one value per line, but for the damage.
pub(super) fn is_one_per_line(bytes: &[u8]) -> bool {
    let Some(unit) = indent_unit(bytes) else { return false };
    let all = lines(bytes, unit);
    let is_usual = |line: &&IndentedLine<'_>| {
        line.indent.is_multiple_of(unit) && !matches!(parse_line(line), LineContent::Damaged { .. })
    };
    // Three of four lines; a short document may consist of few more than the damaged ones.
    all.len() >= 2 && all.iter().filter(is_usual).count() * 4 + 8 >= all.len() * 3
}

/// Returns whether the line before `from`, which is not damaged, is indented as its depth implies, so that the following
/// lines can be assigned by their indentation.
pub(super) fn is_aligned(bytes: &[u8], from: usize, depth: usize) -> bool {
    let Some(unit) = indent_unit(bytes) else { return false };
    let Some(before) = from.checked_sub(1) else { return true };
    let line = bytes.get(line_start(bytes, before)..before).unwrap_or_default();
    is_level(line, unit, depth)
}

/// Returns the start of the first line before an error after which the depth is not what the indentation implies.
pub(super) fn first_misaligned(
    bytes: &[u8],
    error: usize,
    read: &DocumentBuilder,
) -> Option<usize> {
    let unit = indent_unit(bytes)?;
    let mut start = 0;
    for (newline, _) in bytes.get(..error)?.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let line = bytes.get(start..newline).unwrap_or_default();
        if !is_level(line, unit, read.depth_at(newline + 1)) {
            return Some(start);
        }
        start = newline + 1;
    }
    None
}

/// Returns whether a line is indented as the depth after it implies.
fn is_level(line: &[u8], unit: usize, depth: usize) -> bool {
    let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let opens = matches!(line.trim_ascii_end().last(), Some(b'{' | b'['));
    indent + usize::from(opens) * unit == depth * unit
}

/// A line of a document.
struct IndentedLine<'l> {
    indent: usize,
    content: &'l [u8],
    /// Whether it has a newline.
    is_ended: bool,
}

/// The lines of a document. An empty line is the indentation of the next one, with a damaged byte.
fn lines(bytes: &[u8], unit: usize) -> Vec<IndentedLine<'_>> {
    let mut all = Vec::new();
    let mut extra = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        rest = rest.get(end.map_or(rest.len(), |end| end + 1)..).unwrap_or_default();
        let is_ended = end.is_some() || line.ends_with(b"\r");
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
            extra += line.len() + 1;
            continue;
        }
        let (indent, content) = split_indent(line);
        // An empty line can also be what is left of a comma.
        let indent = if (indent + extra) % unit == 0 { indent + extra } else { indent };
        all.push(IndentedLine { indent, content, is_ended });
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
    let all = lines(bytes.get(from..).unwrap_or_default(), unit);
    let mut rest = all.as_slice();
    if builder.depth() == 0 {
        builder.open(None, true);
        // The first line is the brace of the document, however damaged it is.
        if let [first, after @ ..] = rest
            && first.indent == 0
        {
            rest = after;
        }
    }
    while let [line, after @ ..] = rest {
        rest = after;
        if line.indent % unit != 0 {
            builder.add_gap();
            continue;
        }
        let depth = line.indent / unit;
        let mut content = parse_line(line);
        if content == LineContent::Close && depth == 0 && !is_last_brace(line, after, unit) {
            content = LineContent::Damaged { key: None };
        }
        // A damaged line may have opened a container, if that fits the lines around it.
        let has_below = depth == builder.depth()
            && after.first().is_some_and(|next| next.indent == line.indent + unit);
        match content {
            LineContent::Close => close_to(builder, depth + 1),
            LineContent::Damaged { .. } => {}
            // Half a line can look like a member of a container further out.
            LineContent::Value { key, .. } | LineContent::Open { key, .. }
                if depth == 0
                    || depth <= builder.depth() && builder.is_object_at(depth) != key.is_some() =>
            {
                builder.add_gap();
                continue;
            }
            // A damaged brace can look like an element.
            LineContent::Value { key: None, .. } if depth < builder.depth() => {
                builder.add_gap();
                continue;
            }
            LineContent::Value { .. } | LineContent::Open { .. } => close_to(builder, depth),
        }
        if content == LineContent::Close && builder.depth() == depth + 1 {
            builder.close();
        }
        if builder.is_closed() {
            return;
        }
        if depth > builder.depth() || matches!(content, LineContent::Damaged { .. }) && !has_below {
            // It is damaged, or in a container whose start is lost.
            builder.add_gap();
            continue;
        }
        match content {
            LineContent::Value { key, value } => builder.add_value(key, value),
            LineContent::Open { key, is_object } => {
                builder.open(key, kind_below(after, line.indent + unit).unwrap_or(is_object));
            }
            LineContent::Damaged { key } if key.is_some() == builder.is_in_object() => {
                builder.open(key, kind_below(after, line.indent + unit).unwrap_or(true));
            }
            LineContent::Damaged { .. } => builder.add_gap(),
            LineContent::Close => {}
        }
    }
}

/// Returns whether a brace without indentation ends the document: no members follow.
fn is_last_brace(line: &IndentedLine<'_>, after: &[IndentedLine<'_>], unit: usize) -> bool {
    let is_member = |line: &IndentedLine<'_>| {
        let key = match parse_line(line) {
            LineContent::Value { key, .. } | LineContent::Open { key, .. } => key,
            LineContent::Damaged { .. } | LineContent::Close => None,
        };
        line.indent >= unit && line.indent.is_multiple_of(unit) && key.is_some()
    };
    line.content.trim_ascii_end() == b"}" && !after.iter().any(is_member)
}

/// Returns whether the members of a container have keys, from the first lines in it: these tell its kind better than
/// one byte does.
fn kind_below(lines: &[IndentedLine<'_>], indent: usize) -> Option<bool> {
    let inside = lines.iter().take_while(|line| line.indent >= indent);
    let members = inside.filter(|line| line.indent == indent && line.is_ended);
    let mut kinds = members.filter_map(|line| match parse_line(line) {
        LineContent::Value { key, .. } | LineContent::Open { key, .. } => Some(key.is_some()),
        LineContent::Damaged { .. } | LineContent::Close => None,
    });
    let first = kinds.next()?;
    Some(first || kinds.next().unwrap_or(false))
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
