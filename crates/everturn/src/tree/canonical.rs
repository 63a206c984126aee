//! One text for each value, however its file spells it, and the checksum of that text.
//!
//! The form is that of RFC 8785: no white space, keys sorted by their UTF-16 units, strings with the fewest
//! escapes, numbers as ECMAScript prints them. Integers are kept as their digits, however many: two different
//! ones never get the same text.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::Tree;
use super::expand::escape_into;
use crate::json::{self, Container, Scanner, Visit};

/// A checksum as the files hold it: `sha256:` and 64 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The checksum of a value: SHA-256 over its canonical text.
#[must_use]
pub fn digest(tree: &Tree) -> Digest {
    Digest(Sha256::digest(canonical(tree).as_bytes()).into())
}

/// The canonical text of a value.
#[must_use]
pub fn canonical(tree: &Tree) -> String {
    let text = tree.to_line();
    let mut outline = Outline { text: &text, nodes: Vec::new(), open: Vec::new(), key: None };
    // The text of a tree is valid, so there is nothing to complain about; a number ends with the text.
    let mut scanner = Scanner::new();
    if scanner.feed_with(text.as_bytes(), &mut outline).is_err() || outline.nodes.is_empty() {
        outline.scalar(0, text.len() as u64);
    }
    let nodes = outline.nodes;
    let mut out = String::with_capacity(text.len());
    write(&nodes, &mut out);
    out
}

/// One value of the text, with the places of those it holds.
struct Place<'t> {
    key: Option<&'t str>,
    content: Content<'t>,
}

enum Content<'t> {
    Scalar(&'t str),
    Holds(Container, Vec<usize>),
}

/// Collects all values of a text.
struct Outline<'t> {
    text: &'t str,
    nodes: Vec<Place<'t>>,
    open: Vec<usize>,
    key: Option<Range<usize>>,
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

impl<'t> Outline<'t> {
    fn add(&mut self, content: Content<'t>) {
        let key = self.key.take().and_then(|key| self.text.get(key));
        let index = self.nodes.len();
        if let Some(parent) = self.open.last().and_then(|parent| self.nodes.get_mut(*parent))
            && let Content::Holds(_, children) = &mut parent.content
        {
            children.push(index);
        }
        self.nodes.push(Place { key, content });
    }
}

impl Visit for Outline<'_> {
    fn opened(&mut self, container: Container, _start: u64) {
        self.add(Content::Holds(container, Vec::new()));
        self.open.push(self.nodes.len() - 1);
    }

    fn closed(&mut self, _end: u64) {
        self.open.pop();
    }

    fn key(&mut self, start: u64, end: u64) {
        self.key = Some(place(start)..place(end));
    }

    fn scalar(&mut self, start: u64, end: u64) {
        let text = self.text.get(place(start)..place(end)).unwrap_or_default();
        self.add(Content::Scalar(text));
    }
}

/// What is still to be written: a value, or the end of a container.
enum Todo {
    Value { index: usize, first: bool },
    End(char),
}

fn write(nodes: &[Place<'_>], out: &mut String) {
    let mut todo = vec![Todo::Value { index: 0, first: true }];
    while let Some(next) = todo.pop() {
        let (index, first) = match next {
            Todo::End(bracket) => {
                out.push(bracket);
                continue;
            }
            Todo::Value { index, first } => (index, first),
        };
        let Some(node) = nodes.get(index) else { continue };
        if !first {
            out.push(',');
        }
        if let Some(key) = node.key {
            write_string(key, out);
            out.push(':');
        }
        match &node.content {
            Content::Scalar(text) if text.starts_with('"') => write_string(text, out),
            Content::Scalar(text) => out.push_str(&number(text)),
            Content::Holds(container, children) => {
                let (opening, closing, children) = match container {
                    Container::Array => ('[', ']', Cow::Borrowed(children)),
                    Container::Object => ('{', '}', Cow::Owned(sorted(nodes, children))),
                };
                out.push(opening);
                todo.push(Todo::End(closing));
                let entries = children.iter().enumerate().rev();
                todo.extend(entries.map(|(at, &index)| Todo::Value { index, first: at == 0 }));
            }
        }
    }
}

/// The members of an object by their keys; of those with the same key, the last.
fn sorted(nodes: &[Place<'_>], children: &[usize]) -> Vec<usize> {
    let key = |index: &usize| {
        let key = nodes.get(*index).and_then(|node| node.key).unwrap_or_default();
        json::unescape(key.as_bytes())
    };
    let mut keyed: Vec<(Cow<'_, [u8]>, usize)> =
        children.iter().rev().map(|index| (key(index), *index)).collect();
    keyed.sort_by(|(a, _), (b, _)| by_utf16(a, b));
    keyed.dedup_by(|(a, _), (b, _)| a == b);
    keyed.into_iter().map(|(_, index)| index).collect()
}

/// Compares as UTF-16 does: characters beyond 16 bits come before those from U+E000 on.
fn by_utf16(a: &[u8], b: &[u8]) -> Ordering {
    let differ = a.iter().zip(b).find(|(a, b)| a != b);
    match differ {
        Some((&a, &b)) if a >= 0xee && b >= 0xee => {
            let beyond = |byte: u8| byte >= 0xf0;
            beyond(b).cmp(&beyond(a)).then(a.cmp(&b))
        }
        _ => a.cmp(b),
    }
}

fn write_string(raw: &str, out: &mut String) {
    if !raw.contains('\\') {
        out.push_str(raw);
        return;
    }
    out.push('"');
    escape_into(&json::unescape(raw.as_bytes()), out);
    out.push('"');
}

/// A number, `true`, `false` or `null` in its canonical form.
fn number(text: &str) -> Cow<'_, str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if text == "-0" {
        return Cow::Borrowed("0");
    }
    if !digits.starts_with(|first: char| first.is_ascii_digit())
        || digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Cow::Borrowed(text);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Cow::Owned(ecmascript(number)),
        _ => Cow::Borrowed(text),
    }
}

/// A number as ECMAScript prints it.
fn ecmascript(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // How many digits stand before the point.
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
