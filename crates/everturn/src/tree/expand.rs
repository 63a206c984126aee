//! Containers taken apart, one level at a time.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Kind, Members, Node, Slice, index};
use crate::json;

/// Where the one value of `text` is.
pub(super) fn only_value(text: &str) -> Result<Range<usize>, json::Bad> {
    // The quick reader knows only whether it is one; the other one knows where it is not.
    if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
        let start = text.len() - text.trim_ascii_start().len();
        return Ok(start..start + raw.get().len());
    }
    let start = json::find(text.as_bytes(), |byte| !byte.is_ascii_whitespace());
    let end = json::value_end(text.as_bytes(), start)?;
    let after = text.as_bytes().get(end..).unwrap_or_default();
    match after.iter().enumerate().find(|(_, byte)| !byte.is_ascii_whitespace()) {
        None => Ok(start..end),
        Some((at, &byte)) => {
            let reason = json::Reason::Unexpected { byte, wanted: "the end of the value" };
            Err(json::Bad { at: (end + at) as u64, reason })
        }
    }
}

/// A key as it stands between quotes, with the fewest escapes.
pub(crate) fn escape_key(key: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if key.bytes().all(plain) {
        return Cow::Borrowed(key);
    }
    let mut out = String::with_capacity(key.len() + 8);
    escape_into(key.as_bytes(), &mut out);
    Cow::Owned(out)
}

/// The characters that an escaped key stands for, as far as they are characters.
pub(super) fn key_text(key: &str) -> String {
    String::from_utf8_lossy(&json::unescape(key.as_bytes())).into_owned()
}

/// A key with its quotes, as it stands in a file, with the fewest escapes.
fn normal_key(raw: &str) -> Box<str> {
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw);
    if !inner.contains('\\') {
        return inner.into();
    }
    let mut out = String::with_capacity(inner.len());
    escape_into(&json::unescape(raw.as_bytes()), &mut out);
    out.into()
}

/// Writes a string, given as what [`json::unescape`] makes of it, with the fewest escapes.
pub(super) fn escape_into(bytes: &[u8], out: &mut String) {
    let mut rest = bytes;
    loop {
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => return escape_text(text, out),
            Err(error) => error.valid_up_to(),
        };
        let (before, after) = rest.split_at_checked(valid).unwrap_or((rest, &[]));
        escape_text(std::str::from_utf8(before).unwrap_or_default(), out);
        // Half a surrogate pair, in the three bytes that its number would have.
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

impl Node {
    /// Takes the value apart by one level, if it holds others.
    pub(crate) fn expand(&mut self) {
        if let Node::Text(slice) = self {
            match slice.as_str().bytes().next() {
                Some(b'{') => *self = Node::Object(members(slice)),
                Some(b'[') => *self = Node::Array(elements(slice)),
                _ => {}
            }
        }
    }
}

fn members(slice: &Slice) -> Members {
    let mut collect = serde_json::Deserializer::from_str(slice.as_str());
    collect.deserialize_map(Collect(slice)).unwrap_or_else(|_| {
        // A key that is not whole Unicode: the quick reader refuses it.
        let text = slice.as_str();
        let found = json::entries(text.as_bytes(), 0).ok().flatten();
        let pairs = found.into_iter().flat_map(|entries| entries.list).map(|entry| {
            let key = entry.key.and_then(|key| text.get(key)).unwrap_or_default();
            let value = text.get(entry.value).unwrap_or_default();
            (normal_key(key), Node::Text(slice.part(value)))
        });
        pairs.collect()
    })
}

fn elements(slice: &Slice) -> Vec<Node> {
    let raw: Vec<&RawValue> = serde_json::from_str(slice.as_str()).unwrap_or_default();
    raw.into_iter().map(|raw| Node::Text(slice.part(raw.get()))).collect()
}

/// One value inside a text, without taking all of it apart.
pub(super) fn child(slice: &Slice, segment: &str) -> Option<Slice> {
    let node = Node::Text(slice.clone());
    match node.kind() {
        Kind::Object => {
            let mut found = serde_json::Deserializer::from_str(slice.as_str());
            match found.deserialize_map(Pick { key: segment }) {
                Ok(raw) => raw.map(|raw| slice.part(raw.get())),
                Err(_) => match members(slice).swap_remove(&*escape_key(segment))? {
                    Node::Text(slice) => Some(slice),
                    Node::Object(_) | Node::Array(_) => None,
                },
            }
        }
        Kind::Array => {
            let at = index(segment)?;
            let mut found = serde_json::Deserializer::from_str(slice.as_str());
            let raw = found.deserialize_seq(Nth(at)).ok()??;
            Some(slice.part(raw.get()))
        }
        _ => None,
    }
}

/// Collects the members of an object.
struct Collect<'s>(&'s Slice);

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::new();
        while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
            members.insert(key.normal(), Node::Text(self.0.part(value.get())));
        }
        Ok(members)
    }
}

/// A key, borrowed from the text where it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'t>(#[serde(borrow)] Cow<'t, str>);

impl Key<'_> {
    fn normal(&self) -> Box<str> {
        escape_key(&self.0).into()
    }
}

/// Finds the last member with a key.
struct Pick<'k> {
    key: &'k str,
}

impl<'de> Visitor<'de> for Pick<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if key.0 == self.key {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Finds the element at an index.
struct Nth(usize);

impl<'de> Visitor<'de> for Nth {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        for _ in 0..self.0 {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = seq.next_element()?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}
