//! Trees written as text.

use super::{Node, Tree};
use crate::document::{Layout, LineEnd, NonAscii, Style};
use crate::json;

impl Tree {
    /// The value on one line, without any space between its parts.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut printer = Printer::new(Style::COMPACT);
        printer.node(&self.0);
        printer.out
    }

    /// The value as the content of a file.
    #[must_use]
    pub fn to_text(&self, style: &Style) -> String {
        let mut printer = Printer::new(*style);
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

/// Writes values one after the other, each in the layout that the style asks for.
pub(crate) struct Printer {
    pub(crate) out: String,
    style: Style,
    depth: usize,
    /// The end of a line and the deepest indent that was needed so far.
    line: String,
    /// What one more level adds to an indent.
    indent: String,
}

impl Printer {
    pub(crate) fn new(style: Style) -> Printer {
        let line = match style.line_end {
            LineEnd::Lf => "\n",
            LineEnd::CrLf => "\r\n",
        };
        let indent = style.layout.indent(1);
        Printer { out: String::new(), style, depth: 0, line: line.to_owned(), indent }
    }

    pub(crate) fn node(&mut self, node: &Node) {
        // Only what a path led into is taken apart, so this goes no deeper than paths do.
        match node {
            Node::Text(slice) => self.text(slice.as_str()),
            Node::Array(elements) => {
                self.open('[');
                for (at, element) in elements.iter().enumerate() {
                    self.entry(at == 0);
                    self.node(element);
                }
                self.close(']', elements.is_empty());
            }
            Node::Object(members) => {
                self.open('{');
                for (at, (key, member)) in members.iter().enumerate() {
                    self.entry(at == 0);
                    self.out.push('"');
                    self.string(key);
                    self.out.push('"');
                    self.colon();
                    self.node(member);
                }
                self.close('}', members.is_empty());
            }
        }
    }

    pub(crate) fn open(&mut self, bracket: char) {
        self.out.push(bracket);
        self.depth += 1;
    }

    /// Ends a container; one without entries stays on one line.
    pub(crate) fn close(&mut self, bracket: char, empty: bool) {
        self.depth = self.depth.saturating_sub(1);
        if !empty {
            self.break_line();
        }
        self.out.push(bracket);
    }

    pub(crate) fn entry(&mut self, first: bool) {
        if !first {
            self.out.push_str(if self.style.layout == Layout::Spaced { ", " } else { "," });
        }
        self.break_line();
    }

    pub(crate) fn colon(&mut self) {
        self.out.push_str(if self.style.layout == Layout::Compact { ":" } else { ": " });
    }

    fn break_line(&mut self) {
        if !matches!(self.style.layout, Layout::Pretty(_)) {
            return;
        }
        let end = self.style.line_end.as_str().len();
        let needed = end + self.depth * self.indent.len();
        while self.line.len() < needed {
            self.line.push_str(&self.indent);
        }
        self.out.push_str(self.line.get(..needed).unwrap_or(&self.line));
    }

    /// What stands between the quotes of a string.
    fn string(&mut self, inner: &str) {
        if self.style.non_ascii == NonAscii::Raw || inner.is_ascii() {
            self.out.push_str(inner);
            return;
        }
        for character in inner.chars() {
            if character.is_ascii() {
                self.out.push(character);
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    self.out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }

    /// A value that is there as text, laid out anew.
    pub(crate) fn text(&mut self, text: &str) {
        let mut rest = text;
        // Whether the last thing written was an opening bracket.
        let mut opened = false;
        while let Some(first) = rest.bytes().next() {
            let used = match first {
                b' ' | b'\t' | b'\r' | b'\n' => json::find(rest.as_bytes(), |byte| {
                    !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
                }),
                b'}' | b']' => {
                    self.close(char::from(first), opened);
                    opened = false;
                    1
                }
                b',' => {
                    self.entry(false);
                    1
                }
                b':' => {
                    self.colon();
                    1
                }
                _ => {
                    if opened {
                        self.entry(true);
                    }
                    opened = matches!(first, b'{' | b'[');
                    self.token(rest, first)
                }
            };
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    /// An opening bracket, a string, a number or a word; says how long it is.
    fn token(&mut self, rest: &str, first: u8) -> usize {
        match first {
            b'{' | b'[' => {
                self.open(char::from(first));
                1
            }
            b'"' => {
                let end = string_end(rest.as_bytes());
                let inner = rest.get(1..end.saturating_sub(1)).unwrap_or_default();
                self.out.push('"');
                self.string(inner);
                self.out.push('"');
                end
            }
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
                let end = rest.as_bytes().iter().position(ends).unwrap_or(rest.len());
                self.out.push_str(rest.get(..end).unwrap_or_default());
                end
            }
        }
    }
}

/// The place after the closing quote of the string at the start of `text`.
pub(super) fn string_end(text: &[u8]) -> usize {
    let mut at = 1;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += json::find(rest, |byte| byte == b'"' || byte == b'\\');
        match text.get(at) {
            Some(b'\\') => at += 2,
            Some(_) => return at + 1,
            None => return text.len(),
        }
    }
}
