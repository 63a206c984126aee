//! JSON values that are looked into only where somebody looks, and changed only where something changes.
//!
//! A state of hundreds of kilobytes is read, changed in a few places and written again. A [`Tree`] is the
//! text it was read from; where a change reaches into it, the containers on the way are taken apart, one
//! level at a time. Whatever was not touched keeps its text: numbers their digits, strings their escapes.
//! Copies share the text.
//!
//! When an object has the same key twice, the last one counts; the others are gone when the object is taken
//! apart.

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

pub use canonical::{Digest, canonical, digest};
pub use expand::Key;
pub(crate) use expand::escape_key;

/// How many levels of a tree may be taken apart, which no path alone can do.
const MAX_APART: usize = 4 * MAX_SEGMENTS;

/// A JSON value.
///
/// ```
/// use everturn_value::tree::Tree;
///
/// let tree = Tree::parse(r#"{"npcs": {"luna": {"mood": "calm"}}, "big": 1.50}"#)?;
/// assert_eq!(tree.text_at(&["npcs", "luna", "mood"]).as_deref(), Some("\"calm\""));
/// assert_eq!(tree.text_at(&["npcs", "vex"]), None);
/// assert_eq!(tree.text_at(&["big"]).as_deref(), Some("1.50"));
/// # Ok::<(), everturn_json::json::Bad>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tree(#[doc(hidden)] pub Node);

/// The members of an object.
#[doc(hidden)]
pub type Members = IndexMap<Key, Node, foldhash::fast::RandomState>;

/// One value of a tree. Not a promise: how trees are kept may change.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum Node {
    /// A value that was not looked into, or has nothing inside.
    Text(Slice),
    /// An object that was looked into.
    Object(Members),
    /// An array that was looked into.
    Array(Vec<Node>),
}

/// A part of a shared text: one JSON value, without white space around it.
#[derive(Clone)]
pub struct Slice {
    // Not `Arc<str>`, into which a file that was read would be copied once more.
    text: Arc<String>,
    span: Range<usize>,
}

/// What kind of value stands somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Null => "null",
            Kind::Bool => "a truth value",
            Kind::Number => "a number",
            Kind::String => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        })
    }
}

impl Slice {
    /// The value at `span` of `text`.
    pub fn new(text: Arc<String>, span: Range<usize>) -> Slice {
        Slice { text, span }
    }

    /// All of `text`, which is one value without white space around it.
    pub fn whole(text: impl Into<String>) -> Slice {
        let text = text.into();
        Slice { span: 0..text.len(), text: Arc::new(text) }
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        self.text.get(self.span.clone()).unwrap_or_default()
    }

    /// A value inside this one, by its text.
    pub fn part(&self, text: &str) -> Slice {
        let start = (text.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        match self.text.get(start..start.saturating_add(text.len())) {
            Some(_) => Slice { text: Arc::clone(&self.text), span: start..start + text.len() },
            None => Slice::whole(text),
        }
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Node {
    pub(crate) fn null() -> Node {
        Node::Text(Slice::whole("null"))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Node::Object(_) => Kind::Object,
            Node::Array(_) => Kind::Array,
            Node::Text(slice) => match slice.as_str().bytes().next() {
                Some(b'{') => Kind::Object,
                Some(b'[') => Kind::Array,
                Some(b'"') => Kind::String,
                Some(b't' | b'f') => Kind::Bool,
                Some(b'n') => Kind::Null,
                _ => Kind::Number,
            },
        }
    }

    /// Whether both are there as text, and it is the same.
    pub(crate) fn has_text_of(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Text(a), Node::Text(b)) => a.as_str() == b.as_str(),
            _ => false,
        }
    }

    pub(crate) fn is_same(&self, other: &Node) -> bool {
        self.has_text_of(other)
            || self.kind() == other.kind() && self.canonical() == other.canonical()
    }

    /// This value as a part of a tree, `depth` levels from the top: it must not make it so deep that
    /// going through what was taken apart, which is done by recursion, could overflow the stack.
    pub(crate) fn placed(self, depth: usize) -> Node {
        if depth + self.depth() <= MAX_APART {
            return self;
        }
        Node::Text(Slice::whole(Tree(self).to_line()))
    }

    /// How many levels are taken apart.
    fn depth(&self) -> usize {
        let below = match self {
            Node::Text(_) => return 0,
            Node::Object(members) => members.values().map(Node::depth).max(),
            Node::Array(elements) => elements.iter().map(Node::depth).max(),
        };
        below.unwrap_or_default() + 1
    }

    /// The value at a key or index of this one, looked up without changing anything.
    fn child(&self, segment: &str) -> Option<Cow<'_, Node>> {
        match self {
            Node::Object(members) => members.get(&*escape_key(segment)).map(Cow::Borrowed),
            Node::Array(elements) => elements.get(index(segment)?).map(Cow::Borrowed),
            Node::Text(slice) => expand::child(slice, segment).map(Node::Text).map(Cow::Owned),
        }
    }
}

/// A segment of a path as an index of an array: digits without zeros in front.
pub(crate) fn index(segment: &str) -> Option<usize> {
    let plain = segment.bytes().all(|byte| byte.is_ascii_digit());
    (plain && (segment == "0" || !segment.starts_with('0'))).then(|| segment.parse().ok()).flatten()
}

impl Tree {
    /// Takes a text that is one JSON value, with white space around it allowed.
    pub fn parse(text: impl Into<String>) -> Result<Tree, json::Bad> {
        let text = text.into();
        let span = expand::only_value(&text)?;
        Ok(Tree::trusted(Arc::new(text), span))
    }

    /// Takes a part of a text that is known to be one JSON value.
    pub fn trusted(text: Arc<String>, span: Range<usize>) -> Tree {
        Tree(Node::Text(Slice::new(text, span)))
    }

    /// Takes all of a text that is known to be one JSON value, without white space around it.
    pub fn known(text: &str) -> Tree {
        Tree(Node::Text(Slice::whole(text)))
    }

    /// A tree that holds what `value` serializes to.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Tree> {
        Ok(Tree(Node::Text(Slice::whole(serde_json::to_string(value)?))))
    }

    /// The value `null`.
    #[must_use]
    pub fn null() -> Tree {
        Tree(Node::null())
    }

    /// An object without members.
    #[must_use]
    pub fn object() -> Tree {
        Tree(Node::Object(Members::default()))
    }

    /// What kind of value this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// The same value, taken apart by one level: for those who look into it more than once.
    #[must_use]
    pub fn opened(mut self) -> Tree {
        self.0.expand();
        self
    }

    /// An object with these members.
    pub fn of_members(members: impl IntoIterator<Item = (String, Tree)>) -> Tree {
        let members = members.into_iter().map(|(key, tree)| (Key::new(&key), tree.0));
        Tree(Node::Object(members.collect()))
    }

    fn node_at<S: AsRef<str>>(&self, path: &[S]) -> Option<Cow<'_, Node>> {
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
    pub fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<Tree> {
        Some(Tree(self.node_at(path)?.into_owned()))
    }

    /// The value at `path` as JSON text on one line.
    #[must_use]
    pub fn text_at<S: AsRef<str>>(&self, path: &[S]) -> Option<String> {
        Some(Tree(self.node_at(path)?.into_owned()).to_line())
    }

    /// The value at `path`, if it is a string that is whole Unicode.
    #[must_use]
    pub fn string_at<S: AsRef<str>>(&self, path: &[S]) -> Option<String> {
        match self.node_at(path)?.as_ref() {
            Node::Text(slice) => serde_json::from_str(slice.as_str()).ok(),
            Node::Object(_) | Node::Array(_) => None,
        }
    }

    /// How many members or elements the value at `path` has; none for values that hold no others.
    #[must_use]
    pub fn len_at<S: AsRef<str>>(&self, path: &[S]) -> Option<usize> {
        match self.node_at(path)?.as_ref() {
            Node::Object(members) => Some(members.len()),
            Node::Array(elements) => Some(elements.len()),
            text @ Node::Text(_) => {
                let mut node = text.clone();
                node.expand();
                match node {
                    Node::Object(members) => Some(members.len()),
                    Node::Array(elements) => Some(elements.len()),
                    Node::Text(_) => None,
                }
            }
        }
    }

    /// The members of an object or the elements of an array, with their keys or indexes.
    #[must_use]
    pub fn children(&self) -> Vec<(String, Tree)> {
        let mut node = self.0.clone();
        node.expand();
        match node {
            Node::Object(members) => {
                members.into_iter().map(|(key, node)| (key.shown(), Tree(node))).collect()
            }
            Node::Array(elements) => (0..)
                .zip(elements)
                .map(|(at, node): (usize, _)| (at.to_string(), Tree(node)))
                .collect(),
            Node::Text(_) => Vec::new(),
        }
    }

    /// The whole value in the form of serde_json.
    ///
    /// More than 127 levels of nesting, half surrogate pairs and numbers beyond all bounds are errors.
    pub fn to_value(&self) -> serde_json::Result<Value> {
        match &self.0 {
            Node::Text(slice) => serde_json::from_str(slice.as_str()),
            Node::Object(_) | Node::Array(_) => serde_json::from_str(&self.to_line()),
        }
    }

    /// Whether both are the same value, whatever the order of keys and the spelling of numbers.
    #[must_use]
    pub fn is_same(&self, other: &Tree) -> bool {
        self.0.is_same(&other.0)
    }
}
