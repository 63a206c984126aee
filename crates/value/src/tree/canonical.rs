//! The canonical text of a value, independent of its spelling, and the checksum of that text.
//!
//! The form is that of RFC 8785: no white space, keys sorted by UTF-16 code units, strings with the fewest escapes,
//! numbers as in ECMAScript. Only integers differ: they keep all their digits, so that two different ones never have
//! the same text. An integer of more than 21 digits that is exactly a floating-point number is written as one.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::expand::{ObjectKey, escape_into, without_quotes};
use super::marks::{StructuralMarks, trim_between};
use super::{JsonTree, ObjectMembers, TreeNode};
use everturn_json::json::{self, Container};

/// The number of digits that ECMAScript prints before it uses an exponent.
const INTEGER_DIGITS: usize = 21;

/// A checksum as stored in files: `sha256:` and 64 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueDigest([u8; 32]);

impl fmt::Display for ValueDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The checksum of a value: SHA-256 over its canonical text.
#[must_use]
pub fn digest(tree: &JsonTree) -> ValueDigest {
    ValueDigest(Sha256::digest(canonical_text(tree).as_bytes()).into())
}

/// The canonical text of a value.
#[must_use]
pub fn canonical_text(tree: &JsonTree) -> String {
    tree.0.canonical()
}

impl TreeNode {
    pub(crate) fn canonical(&self) -> String {
        let mut writer = CanonicalWriter::default();
        writer.node(self);
        writer.out
    }
}

/// Writes expanded nodes directly, and unexpanded text in the order of its sorted values.
#[derive(Default)]
struct CanonicalWriter<'t> {
    out: String,
    outline: CanonicalOrder<'t>,
    /// Members of the objects that are being written, adjacent and sorted for each object.
    members: Vec<(Cow<'t, [u8]>, &'t ObjectKey, &'t TreeNode)>,
}

impl<'t> CanonicalWriter<'t> {
    /// Only values on a changed path are expanded, so the recursion is not much deeper than paths.
    fn node(&mut self, node: &'t TreeNode) {
        match node {
            TreeNode::Text(slice) if !slice.as_str().starts_with(['{', '[']) => {
                write_scalar(slice.as_str(), &mut self.out);
            }
            TreeNode::Text(slice) => {
                self.outline.clear();
                self.outline.text(slice.as_str());
                self.outline.write(&mut self.out);
            }
            TreeNode::Array(elements) => {
                self.out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        self.out.push(',');
                    }
                    self.node(element);
                }
                self.out.push(']');
            }
            TreeNode::Object(members) => self.object(members),
        }
    }

    fn object(&mut self, members: &'t ObjectMembers) {
        let first = self.members.len();
        let member = |(key, node): (&'t ObjectKey, &'t TreeNode)| {
            (json::unescape_inner(key.normal_text().as_bytes()), key, node)
        };
        self.members.extend(members.iter().map(member));
        if let Some(own) = self.members.get_mut(first..) {
            own.sort_unstable_by(|(a, ..), (b, ..)| by_utf16(a, b));
        }
        self.out.push('{');
        for at in first..first + members.len() {
            let Some(&(_, key, node)) = self.members.get(at) else { break };
            self.out.push_str(if at > first { ",\"" } else { "\"" });
            self.out.push_str(key.normal_text());
            self.out.push_str("\":");
            self.node(node);
        }
        self.out.push('}');
        self.members.truncate(first);
    }
}

/// A value, with its key if it is a member of an object.
struct CanonicalValue<'t> {
    /// The text between the quotes.
    key: &'t str,
    content: CanonicalContent<'t>,
}

enum CanonicalContent<'t> {
    Scalar(&'t str),
    /// Its entries, as a range of the order.
    Holds(Container, Range<usize>),
}

/// All values of a tree, each after its own entries.
#[derive(Default)]
struct CanonicalOrder<'t> {
    values: Vec<CanonicalValue<'t>>,
    /// For each container the indexes of its entries, adjacent and sorted.
    order: Vec<usize>,
    /// The indexes of values whose container is still open.
    waiting: Vec<usize>,
    /// A buffer for sorting.
    keyed: Vec<(Cow<'t, [u8]>, usize)>,
    /// The approximate length of the output.
    length: usize,
    /// Whether all strings are unescaped, and their bytes compare like UTF-16.
    plain: bool,
}

/// The estimated number of bytes of text for each value.
const BYTES_PER_VALUE: usize = 16;

impl<'t> CanonicalOrder<'t> {
    /// Clears everything.
    fn clear(&mut self) {
        self.values.clear();
        self.order.clear();
        self.waiting.clear();
        self.length = 0;
    }

    /// Collects all values of a container.
    fn text(&mut self, text: &'t str) {
        self.values.reserve(text.len() / BYTES_PER_VALUE);
        self.plain =
            json::find_byte(text.as_bytes(), |byte| byte == b'\\' || byte >= HIGH) == text.len();
        // The keys of open containers, and for each the first waiting value inside it.
        let mut open: Vec<(&'t str, usize)> = Vec::new();
        let (mut key, mut start) = ("", 0);
        for at in StructuralMarks::new(text) {
            let part = text.get(trim_between(text, start..at)).unwrap_or_default();
            start = at + 1;
            let mark = text.as_bytes().get(at);
            if mark == Some(&b':') {
                key = without_quotes(part);
                continue;
            }
            if !part.is_empty() {
                self.length += key.len() + part.len() + 4;
                self.add(key, CanonicalContent::Scalar(part));
            }
            match mark {
                Some(b'{' | b'[') => open.push((key, self.waiting.len())),
                Some(b'}') => self.close_last(Container::Object, &mut open),
                Some(b']') => self.close_last(Container::Array, &mut open),
                _ => {}
            }
            key = "";
        }
    }

    fn close_last(&mut self, container: Container, open: &mut Vec<(&'t str, usize)>) {
        if let Some((key, first)) = open.pop() {
            self.close(container, key, first);
        }
    }

    fn add(&mut self, key: &'t str, content: CanonicalContent<'t>) {
        self.waiting.push(self.values.len());
        self.values.push(CanonicalValue { key, content });
    }

    /// Closes a container, which contains all waiting values from `first` on.
    fn close(&mut self, container: Container, key: &'t str, first: usize) {
        let start = self.order.len();
        match container {
            Container::Array => self.order.extend(self.waiting.drain(first..)),
            Container::Object => self.sort_members(first),
        }
        self.add(key, CanonicalContent::Holds(container, start..self.order.len()));
    }

    /// Sorts members by key; of duplicate keys the last one stays.
    fn sort_members(&mut self, first: usize) {
        self.keyed.clear();
        for index in self.waiting.drain(first..) {
            let key = self.values.get(index).map_or("", |value| value.key);
            let key = match self.plain {
                true => Cow::Borrowed(key.as_bytes()),
                false => json::unescape_inner(key.as_bytes()),
            };
            self.keyed.push((key, index));
        }
        // A later member is a later value, so the last of equals comes first.
        if self.plain {
            self.keyed.sort_unstable_by(|(a, at), (b, bt)| a.cmp(b).then(bt.cmp(at)));
        } else {
            self.keyed.sort_unstable_by(|(a, at), (b, bt)| by_utf16(a, b).then(bt.cmp(at)));
        }
        self.keyed.dedup_by(|(a, _), (b, _)| a == b);
        self.order.extend(self.keyed.iter().map(|(_, index)| index));
    }

    fn write(&self, out: &mut String) {
        out.reserve(self.length);
        let mut open: Vec<(Range<usize>, char)> = Vec::new();
        // The root is the last value.
        let mut next = self.values.last();
        loop {
            if let Some(value) = next {
                match &value.content {
                    CanonicalContent::Scalar(text) if self.plain && text.starts_with('"') => {
                        out.push_str(text);
                    }
                    CanonicalContent::Scalar(text) => write_scalar(text, out),
                    CanonicalContent::Holds(container, parts) => {
                        let (opening, closing) = match container {
                            Container::Array => ('[', ']'),
                            Container::Object => ('{', '}'),
                        };
                        out.push(opening);
                        open.push((parts.clone(), closing));
                    }
                }
            }
            let Some((parts, closing)) = open.last_mut() else { return };
            let (closing, part) = (*closing, parts.next().and_then(|part| self.order.get(part)));
            next = part.and_then(|part| self.values.get(*part));
            let Some(value) = next else {
                out.push(closing);
                open.pop();
                continue;
            };
            if !out.ends_with(['[', '{']) {
                out.push(',');
            }
            if closing == '}' && self.plain {
                out.push('"');
                out.push_str(value.key);
                out.push_str("\":");
            } else if closing == '}' {
                write_string(value.key, out);
                out.push(':');
            }
        }
    }
}

/// The first byte of characters from U+E000 on, some of which UTF-16 sorts after those beyond 16 bits.
const HIGH: u8 = 0xee;

/// Compares like UTF-16: characters beyond 16 bits come before those from U+E000 on.
fn by_utf16(a: &[u8], b: &[u8]) -> Ordering {
    let differ = a.iter().zip(b).find(|(a, b)| a != b);
    match differ {
        Some((&a, &b)) if a >= HIGH && b >= HIGH => {
            let beyond = |byte: u8| byte >= 0xf0;
            beyond(b).cmp(&beyond(a)).then(a.cmp(&b))
        }
        _ => a.cmp(b),
    }
}

/// Writes a string, given without its quotes.
fn write_string(inner: &str, out: &mut String) {
    out.push('"');
    match json::unescape_inner(inner.as_bytes()) {
        Cow::Borrowed(_) => out.push_str(inner),
        Cow::Owned(bytes) => escape_into(&bytes, out),
    }
    out.push('"');
}

fn write_scalar(text: &str, out: &mut String) {
    if text.starts_with('"') {
        write_string(without_quotes(text), out);
    } else {
        out.push_str(&canonical_number(text));
    }
}

/// A number, `true`, `false` or `null` in its canonical form.
fn canonical_number(text: &str) -> Cow<'_, str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if text == "-0" {
        return Cow::Borrowed("0");
    }
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    if !digits.starts_with(|first: char| first.is_ascii_digit())
        || is_integer && digits.len() <= INTEGER_DIGITS
    {
        return Cow::Borrowed(text);
    }
    match text.parse::<f64>() {
        Ok(number) if is_integer && format!("{number:.0}") != text => Cow::Borrowed(text),
        Ok(number) if number.is_finite() => Cow::Owned(format_ecmascript(number)),
        _ => Cow::Borrowed(text),
    }
}

/// A number as printed by ECMAScript.
fn format_ecmascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The number of digits before the point.
    let point = exponent + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if count <= point && point <= 21 {
        return format!("{sign}{digits}{}", zeros(point - count));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        return format!("{sign}{whole}.{fraction}");
    }
    if -6 < point && point <= 0 {
        return format!("{sign}0.{}{digits}", zeros(-point));
    }
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{rest}e{direction}{}", exponent.abs())
}
