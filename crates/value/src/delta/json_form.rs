//! Deltas as JSON: `{"op", "path", "value", "previousValue"}`.
//!
//! Three more fields contain the data that the inverse needs: `createdParents`, `positions`, `position`. Other fields
//! are preserved.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Delta, DeltaOp, DeltaPath, PathNotation};
use crate::tree::{JsonTree, TextSlice, TreeNode};

/// A delta as borrowed text.
#[derive(Debug)]
pub struct DeltaText<'t> {
    op: Cow<'t, str>,
    path: &'t RawValue,
    value: Option<&'t RawValue>,
    previous: Option<&'t RawValue>,
    created: usize,
    positions: Vec<usize>,
    position: Option<usize>,
    /// Unknown fields.
    extra: Vec<(Cow<'t, str>, &'t RawValue)>,
}

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
struct BorrowedStr<'t>(#[serde(borrow)] Cow<'t, str>);

/// Reads the fields of a delta, known and unknown; the latter keep their spelling.
struct DeltaVisitor;

/// Sets a field that may occur once.
fn set_once<T, E: de::Error>(place: &mut Option<T>, name: &'static str, value: T) -> Result<(), E> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

impl<'de> Visitor<'de> for DeltaVisitor {
    type Value = DeltaText<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a change")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<DeltaText<'de>, M::Error> {
        let (mut op, mut path, mut value, mut previous) = (None, None, None, None);
        let (mut created, mut positions, mut position) = (None, None, None);
        let mut extra = Vec::new();
        while let Some(BorrowedStr(key)) = map.next_key()? {
            match &*key {
                "op" => set_once(&mut op, "op", map.next_value::<BorrowedStr<'_>>()?.0)?,
                "path" => set_once(&mut path, "path", map.next_value()?)?,
                "value" => set_once(&mut value, "value", map.next_value()?)?,
                "previousValue" => set_once(&mut previous, "previousValue", map.next_value()?)?,
                "createdParents" => set_once(&mut created, "createdParents", map.next_value()?)?,
                "positions" => set_once(&mut positions, "positions", map.next_value()?)?,
                "position" => set_once(&mut position, "position", map.next_value()?)?,
                _ => extra.push((key, map.next_value()?)),
            }
        }
        Ok(DeltaText {
            op: op.ok_or_else(|| de::Error::missing_field("op"))?,
            path: path.ok_or_else(|| de::Error::missing_field("path"))?,
            value,
            previous,
            created: created.unwrap_or(0),
            positions: positions.unwrap_or_default(),
            position: position.flatten(),
            extra,
        })
    }
}

impl<'de: 't, 't> Deserialize<'de> for DeltaText<'t> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<DeltaText<'t>, D::Error> {
        from.deserialize_map(DeltaVisitor)
    }
}

/// A field that is present, even if it is `null`.
pub fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Any part of a text, as a tree that shares it.
pub fn shared_tree(slice: &TextSlice, raw: &RawValue) -> JsonTree {
    JsonTree(TreeNode::Text(slice.subslice(raw.get())))
}

impl DeltaText<'_> {
    /// The delta; its values share the text of `slice`, of which this is a part.
    pub fn to_delta(&self, slice: &TextSlice) -> Result<Delta, String> {
        let op =
            DeltaOp::parse(&self.op).ok_or_else(|| format!("unknown operation {:?}", self.op))?;
        let path = parse_path(self.path.get())?;
        if self.created > 0 && self.created >= path.segments().len() {
            return Err(format!("set at {path}: cannot have created {} parents", self.created));
        }
        Ok(Delta {
            op,
            path,
            value: self.value.map(|raw| shared_tree(slice, raw)),
            previous: self.previous.map(|raw| shared_tree(slice, raw)),
            created: self.created,
            positions: self.positions.clone(),
            first_only: false,
            member: self.position,
            extra: self
                .extra
                .iter()
                .map(|(key, raw)| (key.clone().into_owned(), shared_tree(slice, raw)))
                .collect(),
        })
    }
}

/// One segment of a path in array notation.
#[derive(Deserialize)]
#[serde(untagged)]
enum WireSegment {
    Key(Box<str>),
    Index(u64),
}

/// Parses a path in dotted or array notation.
pub fn parse_path(text: &str) -> Result<DeltaPath, String> {
    let bad = |_| format!("{text} is not a path; expected a dotted string or an array of keys");
    if let Some(inner) = text.strip_prefix('"') {
        if !inner.contains('\\') {
            return Ok(DeltaPath::dotted(inner.strip_suffix('"').unwrap_or(inner)));
        }
        let dotted: String = serde_json::from_str(text).map_err(bad)?;
        return Ok(DeltaPath::dotted(&dotted));
    }
    let segments: Vec<WireSegment> = serde_json::from_str(text).map_err(bad)?;
    let text = segments.into_iter().map(|segment| match segment {
        WireSegment::Key(key) => key,
        WireSegment::Index(index) => index.to_string().into(),
    });
    Ok(DeltaPath::array(text))
}

/// A path as JSON.
pub fn render_path(path: &DeltaPath) -> String {
    let segments = path.segments();
    let written = match path.notation() {
        PathNotation::Dotted => serde_json::to_string(&segments.join(".")),
        PathNotation::Array => serde_json::to_string(segments),
    };
    // Strings can always be serialized.
    written.unwrap_or_default()
}

/// Appends unknown fields.
pub fn write_fields(fields: &[(String, JsonTree)], out: &mut String) {
    for (key, value) in fields {
        out.push(',');
        // Strings can always be serialized.
        out.push_str(&serde_json::to_string(key).unwrap_or_default());
        out.push(':');
        out.push_str(&value.to_line());
    }
}

impl Delta {
    /// Parses one delta from JSON.
    pub fn parse(text: &str) -> Result<Delta, String> {
        let slice = TextSlice::from_text(text);
        let read: DeltaText<'_> =
            serde_json::from_str(slice.as_str()).map_err(|error| error.to_string())?;
        read.to_delta(&slice)
    }

    /// The delta as JSON on one line.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut out = String::new();
        self.write_line(&mut out);
        out
    }

    /// Writes the delta as JSON on one line.
    pub fn write_line(&self, out: &mut String) {
        out.push_str("{\"op\":\"");
        out.push_str(self.op.as_str());
        out.push_str("\",\"path\":");
        out.push_str(&render_path(&self.path));
        for (name, tree) in [("value", &self.value), ("previousValue", &self.previous)] {
            if let Some(tree) = tree {
                out.push_str(",\"");
                out.push_str(name);
                out.push_str("\":");
                out.push_str(&tree.to_line());
            }
        }
        self.write_inverse_data(out);
        write_fields(&self.extra, out);
        out.push('}');
    }

    /// Writes the inverse data beyond the documented fields.
    pub fn write_inverse_data(&self, out: &mut String) {
        let mut number = |name: &str, value: &dyn fmt::Display| {
            out.push_str(&format!(",\"{name}\":{value}"));
        };
        if self.created > 0 {
            number("createdParents", &self.created);
        }
        if let Some(member) = self.member {
            number("position", &member);
        }
        if !self.positions.is_empty() {
            let list: Vec<String> = self.positions.iter().map(usize::to_string).collect();
            number("positions", &format!("[{}]", list.join(",")));
        }
    }

    /// The result of an increment, if it was applied.
    pub fn total(&self) -> Option<String> {
        let (was, value) = (self.previous.as_ref()?, self.value.as_ref()?);
        super::number::add_numbers(&was.to_line(), &value.to_line()).ok()
    }
}
