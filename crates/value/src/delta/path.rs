//! [`DeltaPath`]: paths in a state.

use std::fmt;

/// The most segments a path may have.
pub const MAX_SEGMENTS: usize = 128;

/// The notation of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathNotation {
    /// `"npcs.luna.trust"`
    Dotted,
    /// `["npcs", "luna", "trust"]`
    Array,
}

/// A path in a state: object keys and array indexes, from the top.
///
/// The empty path is the whole state. It can only be written as an array, as can keys that contain dots.
///
/// ```
/// use everturn_value::delta::DeltaPath;
///
/// let path = DeltaPath::dotted("inventory.0.name");
/// assert_eq!(path.segments().len(), 3);
/// assert_eq!(DeltaPath::array(["a.b", "c"]).to_string(), r#"["a.b","c"]"#);
/// ```
#[derive(Debug, Clone)]
pub struct DeltaPath {
    segments: Vec<Box<str>>,
    spelling: PathNotation,
}

impl DeltaPath {
    /// Parses a path with dots between segments.
    #[must_use]
    pub fn dotted(text: &str) -> DeltaPath {
        DeltaPath {
            segments: text.split('.').map(Box::from).collect(),
            spelling: PathNotation::Dotted,
        }
    }

    /// The path with these segments.
    pub fn array<S: Into<Box<str>>>(segments: impl IntoIterator<Item = S>) -> DeltaPath {
        let segments = segments.into_iter().map(Into::into).collect();
        DeltaPath { segments, spelling: PathNotation::Array }
    }

    /// The whole state.
    #[must_use]
    pub fn root() -> DeltaPath {
        DeltaPath { segments: Vec::new(), spelling: PathNotation::Array }
    }

    /// The segments from the top.
    #[must_use]
    pub fn segments(&self) -> &[Box<str>] {
        &self.segments
    }

    /// Its notation: dotted only if possible.
    #[must_use]
    pub fn notation(&self) -> PathNotation {
        let dots = self.segments.iter().any(|segment| segment.contains('.'));
        match self.spelling {
            PathNotation::Dotted if !dots && !self.segments.is_empty() => PathNotation::Dotted,
            _ => PathNotation::Array,
        }
    }

    /// The path of `segment` below this one.
    #[must_use]
    pub fn join(&self, segment: &str) -> DeltaPath {
        let mut path = self.clone();
        path.segments.push(segment.into());
        path
    }

    /// The first `count` segments.
    #[must_use]
    pub fn prefix(&self, count: usize) -> DeltaPath {
        let segments = self.segments.iter().take(count).cloned().collect();
        DeltaPath { segments, spelling: self.spelling }
    }

    /// The same path, in this notation if possible.
    #[must_use]
    pub fn with_notation(mut self, spelling: PathNotation) -> DeltaPath {
        self.spelling = spelling;
        self
    }

    /// Whether a change at this path can affect the value at `other`.
    #[must_use]
    pub fn overlaps(&self, other: &DeltaPath) -> bool {
        self.segments().iter().zip(other.segments()).all(|(a, b)| a == b)
    }

    /// The parent path, and the last segment; `None` for the whole state.
    #[must_use]
    pub fn split_last(&self) -> Option<(&[Box<str>], &str)> {
        self.segments.split_last().map(|(last, above)| (above, &**last))
    }
}

impl PartialEq for DeltaPath {
    fn eq(&self, other: &DeltaPath) -> bool {
        self.segments == other.segments
    }
}

impl Eq for DeltaPath {}

impl fmt::Display for DeltaPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |segment: &str| !segment.contains(char::is_control);
        match self.notation() {
            _ if self.segments.is_empty() => f.write_str("the whole state"),
            PathNotation::Dotted if self.segments.iter().all(|segment| plain(segment)) => {
                f.write_str(&self.segments.join("."))
            }
            _ => {
                let text = serde_json::to_string(&self.segments).map_err(|_| fmt::Error)?;
                f.write_str(&text)
            }
        }
    }
}
