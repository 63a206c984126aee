//! Places in a state.

use std::fmt;

/// The most segments a path may have.
pub const MAX_SEGMENTS: usize = 128;

/// How a path is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `"npcs.luna.trust"`
    Dotted,
    /// `["npcs", "luna", "trust"]`
    Array,
}

/// A place in a state: keys of objects and indexes of arrays, from the top.
///
/// The empty path is the whole state. It can only be written as an array, as can keys that contain dots.
///
/// ```
/// use everturn_value::delta::Path;
///
/// let path = Path::dotted("inventory.0.name");
/// assert_eq!(path.segments().len(), 3);
/// assert_eq!(Path::array(["a.b", "c"]).to_string(), r#"["a.b","c"]"#);
/// ```
#[derive(Debug, Clone)]
pub struct Path {
    segments: Vec<Box<str>>,
    spelling: Spelling,
}

impl Path {
    /// The path that `text` spells, with dots between segments.
    #[must_use]
    pub fn dotted(text: &str) -> Path {
        Path { segments: text.split('.').map(Box::from).collect(), spelling: Spelling::Dotted }
    }

    /// The path with these segments.
    pub fn array<S: Into<Box<str>>>(segments: impl IntoIterator<Item = S>) -> Path {
        let segments = segments.into_iter().map(Into::into).collect();
        Path { segments, spelling: Spelling::Array }
    }

    /// The whole state.
    #[must_use]
    pub fn root() -> Path {
        Path { segments: Vec::new(), spelling: Spelling::Array }
    }

    /// The segments from the top.
    #[must_use]
    pub fn segments(&self) -> &[Box<str>] {
        &self.segments
    }

    /// How it is written: dotted only where that is possible.
    #[must_use]
    pub fn spelling(&self) -> Spelling {
        let dots = self.segments.iter().any(|segment| segment.contains('.'));
        match self.spelling {
            Spelling::Dotted if !dots && !self.segments.is_empty() => Spelling::Dotted,
            _ => Spelling::Array,
        }
    }

    /// The place of `segment` below this one.
    #[must_use]
    pub fn join(&self, segment: &str) -> Path {
        let mut path = self.clone();
        path.segments.push(segment.into());
        path
    }

    /// The first `count` segments.
    #[must_use]
    pub fn prefix(&self, count: usize) -> Path {
        let segments = self.segments.iter().take(count).cloned().collect();
        Path { segments, spelling: self.spelling }
    }

    /// The same place, written like this if that is possible.
    #[must_use]
    pub fn spelled(mut self, spelling: Spelling) -> Path {
        self.spelling = spelling;
        self
    }

    /// Whether a change here can change what is at `other`.
    #[must_use]
    pub fn meets(&self, other: &Path) -> bool {
        self.segments().iter().zip(other.segments()).all(|(a, b)| a == b)
    }

    /// The place above, and the last segment; the whole state has none.
    #[must_use]
    pub fn split_last(&self) -> Option<(&[Box<str>], &str)> {
        self.segments.split_last().map(|(last, above)| (above, &**last))
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Path) -> bool {
        self.segments == other.segments
    }
}

impl Eq for Path {}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |segment: &str| !segment.contains(char::is_control);
        match self.spelling() {
            _ if self.segments.is_empty() => f.write_str("the whole state"),
            Spelling::Dotted if self.segments.iter().all(|segment| plain(segment)) => {
                f.write_str(&self.segments.join("."))
            }
            _ => {
                let text = serde_json::to_string(&self.segments).map_err(|_| fmt::Error)?;
                f.write_str(&text)
            }
        }
    }
}
