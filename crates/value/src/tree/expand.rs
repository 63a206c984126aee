//! Expands containers, one level at a time.

use std::borrow::{Borrow, Cow};
use std::hash::{Hash, Hasher};
use std::ops::Range;

use serde_json::value::RawValue;

use super::marks::TextEntries;
use super::{ObjectMembers, TextSlice, TreeNode, ValueKind, parse_index};
use everturn_json::json;

/// The range of the only value in `text`.
pub(super) fn only_value(text: &str) -> Result<Range<usize>, json::JsonError> {
    // The fast parser only detects an error; the other one locates it.
    if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
        let start = text.len() - text.trim_ascii_start().len();
        return Ok(start..start + raw.get().len());
    }
    let is_space = |byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let start = json::find_byte(text.as_bytes(), |byte| !is_space(byte));
    let end = json::value_end(text.as_bytes(), start)?;
    let after = text.as_bytes().get(end..).unwrap_or_default();
    match after.iter().enumerate().find(|&(_, &byte)| !is_space(byte)) {
        None => Ok(start..end),
        Some((at, &byte)) => {
            let reason = json::JsonErrorKind::Unexpected { byte, wanted: "the end of the value" };
            Err(json::JsonError { at: (end + at) as u64, reason })
        }
    }
}

/// A key of an object. Keys are equal if they are the same characters.
#[derive(Debug, Clone)]
pub struct ObjectKey {
    /// The text between the quotes, with the fewest escapes.
    normal: TextSlice,
    /// The original text between the quotes, if it differs.
    spelled: Option<Box<str>>,
}

impl ObjectKey {
    /// The key with these characters.
    pub fn new(characters: &str) -> ObjectKey {
        ObjectKey { normal: TextSlice::from_text(escape_key(characters)), spelled: None }
    }

    /// A key with its quotes, as part of `slice`.
    fn from_text(slice: &TextSlice, raw: &str) -> ObjectKey {
        let inner = without_quotes(raw);
        if !inner.contains('\\') {
            return ObjectKey { normal: slice.subslice(inner), spelled: None };
        }
        let mut normal = String::with_capacity(inner.len());
        escape_into(&json::unescape(raw.as_bytes()), &mut normal);
        let spelled = (normal != inner).then(|| inner.into());
        ObjectKey { normal: TextSlice::from_text(normal), spelled }
    }

    /// The text between the quotes, with the fewest escapes.
    pub(super) fn normal_text(&self) -> &str {
        self.normal.as_str()
    }

    /// The text to write between the quotes.
    pub(super) fn written_text(&self) -> &str {
        self.spelled.as_deref().unwrap_or(self.normal_text())
    }

    /// The characters of the key; `None` if it contains a lone surrogate.
    pub(crate) fn characters(&self) -> Option<Cow<'_, str>> {
        match json::unescape_inner(self.normal_text().as_bytes()) {
            Cow::Borrowed(_) => Some(Cow::Borrowed(self.normal_text())),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
    }

    /// The characters of the key, with replacement characters for invalid ones.
    pub(super) fn display_text(&self) -> String {
        String::from_utf8_lossy(&json::unescape_inner(self.normal_text().as_bytes())).into_owned()
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &ObjectKey) -> bool {
        self.normal_text() == other.normal_text()
    }
}

impl Eq for ObjectKey {}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normal_text().hash(state);
    }
}

/// Lookups use the result of `escape_key`.
impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        self.normal_text()
    }
}

/// A string without its quotes.
pub(super) fn without_quotes(raw: &str) -> &str {
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw)
}

/// Escapes characters for use between quotes, with the fewest escapes.
pub(crate) fn escape_key(key: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if key.bytes().all(plain) {
        return Cow::Borrowed(key);
    }
    let mut out = String::with_capacity(key.len() + 8);
    escape_into(key.as_bytes(), &mut out);
    Cow::Owned(out)
}

/// Writes a string with the fewest escapes, given as the result of [`json::unescape`].
pub(super) fn escape_into(bytes: &[u8], out: &mut String) {
    let mut rest = bytes;
    loop {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => return escape_text(text, out),
            Err(error) => error.valid_up_to(),
        };
        let (before, after) = rest.split_at_checked(valid).unwrap_or((rest, &[]));
        escape_text(std::str::from_utf8(before).unwrap_or_default(), out);
        // A lone surrogate, in the three bytes that its number would have.
        let Some((half, after)) = after.split_at_checked(3) else { return };
        let unit = half.iter().fold(0, |unit, byte| (unit << 6) | u32::from(byte & 0x3f));
        out.push_str(&format!("\\u{:04x}", unit & 0xffff));
        rest = after;
    }
}

fn escape_text(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
}

impl TreeNode {
    /// Expands the value by one level, if it is a container.
    pub(crate) fn expand(&mut self) {
        if let Some(apart) = self.expand_text() {
            *self = apart;
        }
    }

    /// The value, expanded by one level if it is a container.
    pub(crate) fn expanded(&self) -> Cow<'_, TreeNode> {
        self.expand_text().map_or(Cow::Borrowed(self), Cow::Owned)
    }

    fn expand_text(&self) -> Option<TreeNode> {
        let TreeNode::Text(slice) = self else { return None };
        let entries = TextEntries::of(slice.as_str());
        let value = |value| TreeNode::Text(slice.subslice(value));
        match self.kind() {
            ValueKind::Object => {
                // Of duplicate keys, the last value takes the position of the first.
                let member = |(key, text)| (ObjectKey::from_text(slice, key), value(text));
                // The map is allocated once for all members.
                let pairs = entries.filter_map(|(key, text)| Some((key?, text)));
                let pairs: Vec<(&str, &str)> = pairs.collect();
                Some(TreeNode::Object(pairs.into_iter().map(member).collect::<ObjectMembers>()))
            }
            ValueKind::Array => {
                Some(TreeNode::Array(entries.map(|(_, text)| value(text)).collect()))
            }
            _ => None,
        }
    }
}

/// Finds one value inside a text, without expanding it.
pub(super) fn find_child(slice: &TextSlice, segment: &str) -> Option<TextSlice> {
    let text = slice.as_str();
    let mut entries = TextEntries::of(text);
    let found = match text.bytes().next()? {
        b'{' => {
            let is_it = |raw: &str| json::key_matches(raw.as_bytes(), segment);
            entries.filter(|(key, _)| key.is_some_and(is_it)).last()
        }
        b'[' => entries.nth(parse_index(segment)?),
        _ => None,
    };
    found.map(|(_, value)| slice.subslice(value))
}
