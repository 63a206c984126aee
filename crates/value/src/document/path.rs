//! [`PathSegment`]: paths in a document.

use everturn_json::json::Container;

/// One step from a container to a value in it. A path is a slice of them; the empty one is the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathSegment<'k> {
    /// The member of an object with this key.
    Key(&'k str),
    /// The element of an array at this index.
    Index(usize),
}

impl PathSegment<'_> {
    /// The container that the segment applies to.
    pub(super) fn container(self) -> Container {
        match self {
            PathSegment::Key(_) => Container::Object,
            PathSegment::Index(_) => Container::Array,
        }
    }
}

impl<'k> From<&'k str> for PathSegment<'k> {
    fn from(key: &'k str) -> PathSegment<'k> {
        PathSegment::Key(key)
    }
}

impl From<usize> for PathSegment<'_> {
    fn from(index: usize) -> Self {
        PathSegment::Index(index)
    }
}

/// `path` as a JSON pointer (RFC 6901), for messages.
pub(super) fn json_pointer(path: &[PathSegment<'_>]) -> String {
    let mut text = String::new();
    for segment in path {
        text.push('/');
        match segment {
            PathSegment::Key(key) => text.push_str(&key.replace('~', "~0").replace('/', "~1")),
            PathSegment::Index(index) => text.push_str(&index.to_string()),
        }
    }
    text
}
