//! Builds the text of the intact parts.

use std::collections::BTreeSet;

use everturn_json::json::find_string_special;

use crate::tree::JsonTree;

/// An object or array that is still open.
#[derive(Debug, Clone)]
struct OpenContainer {
    /// Its key or index in the container above.
    key: String,
    is_object: bool,
    count: usize,
    keys: BTreeSet<String>,
}

/// A document under construction. Its root is an object.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentBuilder {
    text: String,
    open: Vec<OpenContainer>,
    gaps: Vec<Vec<String>>,
    is_closed: bool,
    /// The offsets after which the number of open containers has changed, with that number.
    depths: Vec<(usize, usize)>,
}

/// What the grammar expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Member,
    Separator,
}

impl DocumentBuilder {
    /// Returns the number of open containers.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of containers that were open at an offset, as far as the grammar was followed.
    pub(super) fn depth_at(&self, offset: usize) -> usize {
        let after = self.depths.partition_point(|(at, _)| *at <= offset);
        after.checked_sub(1).and_then(|last| self.depths.get(last)).map_or(0, |(_, depth)| *depth)
    }

    /// Returns whether the document has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns whether the innermost container is an object.
    pub(super) fn is_in_object(&self) -> bool {
        self.open.last().is_some_and(|container| container.is_object)
    }

    /// Returns whether the open container at a depth, counted from 1, is an object.
    pub(super) fn is_object_at(&self, depth: usize) -> bool {
        let container = depth.checked_sub(1).and_then(|at| self.open.get(at));
        container.is_some_and(|container| container.is_object)
    }

    /// Records that the innermost container lacks something.
    pub(super) fn add_gap(&mut self) {
        let path: Vec<String> =
            self.open.iter().skip(1).map(|container| container.key.clone()).collect();
        if !self.gaps.contains(&path) {
            self.gaps.push(path);
        }
    }

    /// Starts a member, and returns its key or index. A second member of one key is refused.
    fn start(&mut self, key: Option<&str>) -> Option<String> {
        let container = self.open.last_mut()?;
        if container.is_object != key.is_some() {
            return None;
        }
        let name = match key {
            Some(key) => serde_json::from_str::<String>(key).ok()?,
            None => container.count.to_string(),
        };
        if key.is_some() && !container.keys.insert(name.clone()) {
            return None;
        }
        if container.count > 0 {
            self.text.push(',');
        }
        container.count += 1;
        if let Some(key) = key {
            self.text.push_str(key);
            self.text.push(':');
        }
        Some(name)
    }

    /// Adds a value to the innermost container. `key` is the text of its key, with its quotes.
    pub(super) fn add_value(&mut self, key: Option<&str>, value: &str) {
        match self.start(key) {
            Some(_) => self.text.push_str(value),
            None => self.add_gap(),
        }
    }

    /// Opens an object or an array. Returns whether it has a place.
    pub(super) fn open(&mut self, key: Option<&str>, is_object: bool) -> bool {
        let name = match self.open.is_empty() {
            true => Some(String::new()).filter(|_| is_object && !self.is_closed),
            false => self.start(key),
        };
        let Some(key) = name else {
            self.add_gap();
            return false;
        };
        self.text.push(if is_object { '{' } else { '[' });
        self.open.push(OpenContainer { key, is_object, count: 0, keys: BTreeSet::new() });
        true
    }

    /// Closes the innermost container.
    pub(super) fn close(&mut self) {
        if let Some(container) = self.open.pop() {
            self.text.push(if container.is_object { '}' } else { ']' });
        }
        self.is_closed = self.open.is_empty();
    }

    /// Closes everything, and returns the document and its gaps, unless it is empty.
    pub(super) fn finish(mut self) -> Option<(JsonTree, Vec<Vec<String>>)> {
        while !self.open.is_empty() {
            self.add_gap();
            self.close();
        }
        let tree = JsonTree::parse(self.text).ok()?;
        let is_empty = tree.len_at::<&str>(&[]) == Some(0);
        self.gaps.sort();
        (!is_empty).then_some((tree, self.gaps))
    }

    /// Reads by the grammar up to the first error, and returns its offset. A number at the end or before an error is
    /// not trusted: digits may be missing.
    pub(super) fn read_prefix(&mut self, text: &str) -> usize {
        let mut rest = Cursor { text, at: 0 };
        let mut expected = Expected::Member;
        loop {
            if self.depths.last().map_or(0, |(_, depth)| *depth) != self.depth() {
                self.depths.push((rest.at, self.depth()));
            }
            rest.skip_spaces();
            let start = rest.at;
            let Some(byte) = rest.peek() else { return start };
            match (byte, expected) {
                (b'}' | b']', _) if self.is_in_object() == (byte == b'}') && self.depth() > 0 => {
                    rest.at += 1;
                    self.close();
                    expected = Expected::Separator;
                    if self.is_closed {
                        return rest.at;
                    }
                }
                (b',', Expected::Separator) => {
                    rest.at += 1;
                    expected = Expected::Member;
                }
                (_, Expected::Member) => match self.read_member(&mut rest) {
                    Some(next) => expected = next,
                    None => return rest.at.max(start),
                },
                _ => return start,
            }
        }
    }

    /// Reads a key and the value, or the start of the value. Returns `None` on an error.
    fn read_member(&mut self, rest: &mut Cursor<'_>) -> Option<Expected> {
        let key = match self.is_in_object() {
            true => {
                let key = rest.take_string()?;
                rest.skip_spaces();
                if rest.peek()? != b':' {
                    return None;
                }
                rest.at += 1;
                rest.skip_spaces();
                Some(key)
            }
            false => None,
        };
        let byte = rest.peek()?;
        if matches!(byte, b'{' | b'[') {
            rest.at += 1;
            return self.open(key, byte == b'{').then_some(Expected::Member);
        }
        let value = match byte {
            b'"' => rest.take_string()?,
            _ => rest.take_word()?,
        };
        // What follows must be possible after a value.
        let is_number = byte == b'-' || byte.is_ascii_digit();
        let after = *rest;
        rest.skip_spaces();
        let fits = match rest.peek() {
            None => !is_number || after.at < rest.at,
            Some(next) => matches!(next, b',' | b'}' | b']'),
        };
        let closes_wrong = match rest.peek() {
            Some(b'}') => !self.is_in_object(),
            Some(b']') => self.is_in_object(),
            _ => false,
        };
        if !fits || closes_wrong || JsonTree::parse(value).is_err() {
            return None;
        }
        self.add_value(key, value);
        Some(Expected::Separator)
    }
}

/// A position in a text.
#[derive(Clone, Copy)]
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    fn skip_spaces(&mut self) {
        let spaces =
            self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.at += spaces.count();
    }

    fn take(&mut self, length: usize) -> Option<&'t str> {
        let taken = self.text.get(self.at..self.at + length)?;
        self.at += length;
        Some(taken)
    }

    fn take_string(&mut self) -> Option<&'t str> {
        let length = string_end(self.rest())?;
        let string = self.take(length)?;
        JsonTree::parse(string).is_ok().then_some(string)
    }

    fn take_word(&mut self) -> Option<&'t str> {
        let is_word =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        match self.rest().iter().take_while(is_word).count() {
            0 => None,
            length => self.take(length),
        }
    }
}

/// Returns the end of the string at the start of `bytes`, if it has one.
pub(super) fn string_end(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        let rest = bytes.get(at..)?;
        at += find_string_special(rest);
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            byte if *byte < b' ' => return None,
            _ => at += 1,
        }
    }
}
