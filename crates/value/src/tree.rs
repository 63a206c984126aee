//! Lazily parsed JSON values.
//!
//! A state of hundreds of kilobytes is read, changed in a few places and written again. A [`JsonTree`] is the text it
//! was read from; a change expands only the containers on its path, one level at a time. Everything else keeps its
//! text: numbers their digits, strings their escapes. Copies share the text.
//!
//! If an object has the same key twice, the last one counts; the others are dropped when the object is expanded.

mod canonical;
mod expand;
mod marks;
mod write;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::delta::MAX_SEGMENTS;
use everturn_json::json;

pub use canonical::{ValueDigest, canonical_text, digest};
pub use expand::ObjectKey;
pub(crate) use expand::escape_key;

/// The most levels of a tree that may be expanded; no single path reaches that deep.
const MAX_APART: usize = 4 * MAX_SEGMENTS;

/// A JSON value.
///
/// ```
/// use everturn_value::tree::JsonTree;
///
/// let tree = JsonTree::parse(r#"{"npcs": {"luna": {"mood": "calm"}}, "big": 1.50}"#)?;
/// assert_eq!(tree.text_at(&["npcs", "luna", "mood"]).as_deref(), Some("\"calm\""));
/// assert_eq!(tree.text_at(&["npcs", "vex"]), None);
/// assert_eq!(tree.text_at(&["big"]).as_deref(), Some("1.50"));
/// # Ok::<(), everturn_json::json::JsonError>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonTree(#[doc(hidden)] pub TreeNode);

/// The members of an object.
#[doc(hidden)]
pub type ObjectMembers = IndexMap<ObjectKey, TreeNode, foldhash::fast::RandomState>;

/// A node of a tree. Not part of the stable interface: the representation may change.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum TreeNode {
    /// A value that was not expanded, or has nothing inside.
    Text(TextSlice),
    /// An expanded object.
    Object(ObjectMembers),
    /// An expanded array.
    Array(Vec<TreeNode>),
}

/// A part of a shared text: one JSON value, without white space around it.
#[derive(Clone)]
pub struct TextSlice {
    // Not `Arc<str>`, which would copy the text of a file once more.
    text: Arc<String>,
    span: Range<usize>,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ValueKind::Null => "null",
            ValueKind::Bool => "a boolean",
            ValueKind::Number => "a number",
            ValueKind::String => "a string",
            ValueKind::Array => "an array",
            ValueKind::Object => "an object",
        })
    }
}

impl TextSlice {
    /// The value at `span` of `text`.
    pub fn new(text: Arc<String>, span: Range<usize>) -> TextSlice {
        TextSlice { text, span }
    }

    /// All of `text`, which is one value without white space around it.
    pub fn from_text(text: impl Into<String>) -> TextSlice {
        let text = text.into();
        TextSlice { span: 0..text.len(), text: Arc::new(text) }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        self.text.get(self.span.clone()).unwrap_or_default()
    }

    /// A value inside this one, by its text.
    pub fn subslice(&self, text: &str) -> TextSlice {
        let start = (text.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        match self.text.get(start..start.saturating_add(text.len())) {
            Some(_) => TextSlice { text: Arc::clone(&self.text), span: start..start + text.len() },
            None => TextSlice::from_text(text),
        }
    }
}

impl fmt::Debug for TextSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TreeNode {
    pub(crate) fn null() -> TreeNode {
        TreeNode::Text(TextSlice::from_text("null"))
    }

    pub(crate) fn kind(&self) -> ValueKind {
        match self {
            TreeNode::Object(_) => ValueKind::Object,
            TreeNode::Array(_) => ValueKind::Array,
            TreeNode::Text(slice) => match slice.as_str().bytes().next() {
                Some(b'{') => ValueKind::Object,
                Some(b'[') => ValueKind::Array,
                Some(b'"') => ValueKind::String,
                Some(b't' | b'f') => ValueKind::Bool,
                Some(b'n') => ValueKind::Null,
                _ => ValueKind::Number,
            },
        }
    }

    /// Whether both are unexpanded and have the same text.
    pub(crate) fn has_text_of(&self, other: &TreeNode) -> bool {
        match (self, other) {
            (TreeNode::Text(a), TreeNode::Text(b)) => a.as_str() == b.as_str(),
            _ => false,
        }
    }

    pub(crate) fn is_same(&self, other: &TreeNode) -> bool {
        self.has_text_of(other)
            || self.kind() == other.kind() && self.canonical() == other.canonical()
    }

    /// Limits the depth of this value as a part of a tree, `depth` levels from the top: expanded levels are processed
    /// by recursion, which must not overflow the stack.
    pub(crate) fn limit_depth(self, depth: usize) -> TreeNode {
        if depth + self.depth() <= MAX_APART {
            return self;
        }
        TreeNode::Text(TextSlice::from_text(JsonTree(self).to_line()))
    }

    /// The number of expanded levels.
    fn depth(&self) -> usize {
        let below = match self {
            TreeNode::Text(_) => return 0,
            TreeNode::Object(members) => members.values().map(TreeNode::depth).max(),
            TreeNode::Array(elements) => elements.iter().map(TreeNode::depth).max(),
        };
        below.unwrap_or_default() + 1
    }

    /// The value at a key or index, without changing the node.
    fn child(&self, segment: &str) -> Option<Cow<'_, TreeNode>> {
        match self {
            TreeNode::Object(members) => members.get(&*escape_key(segment)).map(Cow::Borrowed),
            TreeNode::Array(elements) => elements.get(parse_index(segment)?).map(Cow::Borrowed),
            TreeNode::Text(slice) => {
                expand::find_child(slice, segment).map(TreeNode::Text).map(Cow::Owned)
            }
        }
    }
}

/// Parses a path segment as an array index: digits without leading zeros.
pub(crate) fn parse_index(segment: &str) -> Option<usize> {
    let plain = segment.bytes().all(|byte| byte.is_ascii_digit());
    (plain && (segment == "0" || !segment.starts_with('0'))).then(|| segment.parse().ok()).flatten()
}

impl JsonTree {
    /// Parses a text that is one JSON value, with optional white space around it.
    pub fn parse(text: impl Into<String>) -> Result<JsonTree, json::JsonError> {
        let text = text.into();
        let span = expand::only_value(&text)?;
        Ok(JsonTree::from_trusted(Arc::new(text), span))
    }

    /// A tree of a part of a text that is known to be one JSON value.
    pub fn from_trusted(text: Arc<String>, span: Range<usize>) -> JsonTree {
        JsonTree(TreeNode::Text(TextSlice::new(text, span)))
    }

    /// A tree of a text that is known to be one JSON value, without white space around it.
    pub fn from_trusted_str(text: &str) -> JsonTree {
        JsonTree(TreeNode::Text(TextSlice::from_text(text)))
    }

    /// A tree of the serialized `value`.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<JsonTree> {
        Ok(JsonTree(TreeNode::Text(TextSlice::from_text(serde_json::to_string(value)?))))
    }

    /// The value `null`.
    #[must_use]
    pub fn null() -> JsonTree {
        JsonTree(TreeNode::null())
    }

    /// An empty object.
    #[must_use]
    pub fn object() -> JsonTree {
        JsonTree(TreeNode::Object(ObjectMembers::default()))
    }

    /// The kind of the value.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        self.0.kind()
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == ValueKind::Null
    }

    /// Expands the value by one level, for repeated lookups.
    #[must_use]
    pub fn into_expanded(mut self) -> JsonTree {
        self.0.expand();
        self
    }

    /// An object with these members.
    pub fn from_members(members: impl IntoIterator<Item = (String, JsonTree)>) -> JsonTree {
        let members = members.into_iter().map(|(key, tree)| (ObjectKey::new(&key), tree.0));
        JsonTree(TreeNode::Object(members.collect()))
    }

    fn node_at<S: AsRef<str>>(&self, path: &[S]) -> Option<Cow<'_, TreeNode>> {
        let mut node = Cow::Borrowed(&self.0);
        for segment in path {
            node = match node {
                Cow::Borrowed(node) => node.child(segment.as_ref())?,
                Cow::Owned(node) => Cow::Owned(node.child(segment.as_ref())?.into_owned()),
            };
        }
        Some(node)
    }

    /// The value at `path`, if there is one. A segment is a key of an object or an index of an array.
    #[must_use]
    pub fn value_at<S: AsRef<str>>(&self, path: &[S]) -> Option<JsonTree> {
        Some(JsonTree(self.node_at(path)?.into_owned()))
    }

    /// The value at `path` as JSON text on one line.
    #[must_use]
    pub fn text_at<S: AsRef<str>>(&self, path: &[S]) -> Option<String> {
        Some(JsonTree(self.node_at(path)?.into_owned()).to_line())
    }

    /// The value at `path`, if it is a string of valid Unicode.
    #[must_use]
    pub fn string_at<S: AsRef<str>>(&self, path: &[S]) -> Option<String> {
        match self.node_at(path)?.as_ref() {
            TreeNode::Text(slice) => serde_json::from_str(slice.as_str()).ok(),
            TreeNode::Object(_) | TreeNode::Array(_) => None,
        }
    }

    /// The number of members or elements of the value at `path`; `None` for scalars.
    #[must_use]
    pub fn len_at<S: AsRef<str>>(&self, path: &[S]) -> Option<usize> {
        match self.node_at(path)?.as_ref() {
            TreeNode::Object(members) => Some(members.len()),
            TreeNode::Array(elements) => Some(elements.len()),
            text @ TreeNode::Text(_) => {
                let mut node = text.clone();
                node.expand();
                match node {
                    TreeNode::Object(members) => Some(members.len()),
                    TreeNode::Array(elements) => Some(elements.len()),
                    TreeNode::Text(_) => None,
                }
            }
        }
    }

    /// The members of an object or the elements of an array, with their keys or indexes.
    #[must_use]
    pub fn children(&self) -> Vec<(String, JsonTree)> {
        let mut node = self.0.clone();
        node.expand();
        match node {
            TreeNode::Object(members) => members
                .into_iter()
                .map(|(key, node)| (key.display_text(), JsonTree(node)))
                .collect(),
            TreeNode::Array(elements) => (0..)
                .zip(elements)
                .map(|(at, node): (usize, _)| (at.to_string(), JsonTree(node)))
                .collect(),
            TreeNode::Text(_) => Vec::new(),
        }
    }

    /// Converts the value to a serde_json [`Value`].
    ///
    /// More than 127 levels of nesting, lone surrogates and numbers out of range are errors.
    pub fn to_value(&self) -> serde_json::Result<Value> {
        match &self.0 {
            TreeNode::Text(slice) => serde_json::from_str(slice.as_str()),
            TreeNode::Object(_) | TreeNode::Array(_) => serde_json::from_str(&self.to_line()),
        }
    }

    /// Whether both are the same value, regardless of key order and the spelling of numbers.
    #[must_use]
    pub fn is_same(&self, other: &JsonTree) -> bool {
        self.0.is_same(&other.0)
    }
}
