//! Names that are safe on disk, validated on construction.
//!
//! A [`Name`] is one component of a path, a [`FilePath`] a relative path below a root, and the IDs are names with a
//! meaning. All layers above use only validated names.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use thiserror::Error;

use crate::checksum::checksum;

/// The most bytes a name may have; common file systems allow no more.
pub const MAX_NAME_BYTES: usize = 255;

/// The most bytes a whole path may have.
pub const MAX_PATH_BYTES: usize = 3072;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is empty.
    #[error("a name must not be empty")]
    Empty,
    /// It is `.` or `..`, or an ID that contains `..`.
    #[error("name {name:?} could escape its directory")]
    Climbs {
        /// The name as given.
        name: String,
    },
    /// It contains `/`, `\`, NUL or another control character.
    #[error("name {name:?} contains {character:?}")]
    Character {
        /// The name as given.
        name: String,
        /// The first character that is not allowed.
        character: char,
    },
    /// It is not UTF-8.
    #[error("name {name:?} is not UTF-8")]
    NotUtf8 {
        /// The name, as far as it can be shown.
        name: String,
    },
    /// It is a device name on some systems, such as `CON` or `nul.json`.
    #[error("name {name:?} is a reserved device name on some systems")]
    Reserved {
        /// The name as given.
        name: String,
    },
    /// It is too long.
    #[error("name of {bytes} bytes is too long (maximum {most}): {start:?}…")]
    TooLong {
        /// Its first characters.
        start: String,
        /// Its length.
        bytes: usize,
        /// The maximum length.
        most: usize,
    },
    /// The file cannot be looked at. Only this name is affected, not its directory.
    #[error("the link {name:?} cannot be followed: {reason}")]
    Unreachable {
        /// The name.
        name: String,
        /// The error of the operating system.
        reason: String,
    },
    /// It is no name for something new.
    #[error("name {name:?} {reason}")]
    Unsuitable {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It is an absolute path.
    #[error("path {path:?} is absolute; expected a path relative to the root")]
    Absolute {
        /// The path as given.
        path: String,
    },
}

/// Whether a character is not seen, or changes how others are: zero-width characters and controls of direction.
fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

fn too_long(text: &str, most: usize) -> NameError {
    NameError::TooLong { start: text.chars().take(40).collect(), bytes: text.len(), most }
}

/// Whether Windows reserves a name for a device, in every directory and with any extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let is = |name: &&str, stem: &str| name.eq_ignore_ascii_case(stem);
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].iter().any(|name| is(name, stem)) {
        return true;
    }
    let mut chars = stem.chars();
    let digit = chars.next_back();
    matches!(digit, Some('1'..='9' | '¹' | '²' | '³'))
        && ["COM", "LPT"].iter().any(|name| is(name, chars.as_str()))
}

fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name == "." || name == ".." {
        return Err(NameError::Climbs { name: name.to_owned() });
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(too_long(name, MAX_NAME_BYTES));
    }
    if let Some(character) = name.chars().find(|c| matches!(c, '/' | '\\') || c.is_control()) {
        return Err(NameError::Character { name: name.to_owned(), character });
    }
    if is_reserved(name) {
        return Err(NameError::Reserved { name: name.to_owned() });
    }
    Ok(())
}

/// One component of a path: the name of a file or a directory.
///
/// ```
/// use everturn_json::names::Name;
///
/// assert!(Name::parse("turns-0001-0100.jsonl").is_ok());
/// assert!(Name::parse("..").is_err());
/// assert!(Name::parse("a/b").is_err());
/// assert!(Name::parse("nul.txt").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Validates `text` as a name.
    pub fn parse(text: &str) -> Result<Name, NameError> {
        check_name(text)?;
        Ok(Name(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path below a root: names joined by `/`. The root itself is the empty path.
///
/// ```
/// use everturn_json::names::FilePath;
///
/// let file = FilePath::parse("campaigns/camp_0001/turn_log.jsonl")?;
/// assert_eq!(file.parent().unwrap().as_str(), "campaigns/camp_0001");
/// assert!(file.is_within(&FilePath::parse("campaigns")?));
/// assert!(FilePath::parse("../elsewhere").is_err());
/// assert!(FilePath::parse("/etc/passwd").is_err());
/// # Ok::<(), everturn_json::names::NameError>(())
/// ```
///
/// Copies share the text, so they cost next to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FilePath(Arc<str>);

impl FilePath {
    /// The root itself.
    #[must_use]
    pub fn root() -> FilePath {
        FilePath::default()
    }

    /// Validates every component of `text`; an empty text is the root.
    pub fn parse(text: &str) -> Result<FilePath, NameError> {
        if text.is_empty() {
            return Ok(FilePath::root());
        }
        if text.starts_with('/') {
            return Err(NameError::Absolute { path: text.to_owned() });
        }
        if text.len() > MAX_PATH_BYTES {
            return Err(too_long(text, MAX_PATH_BYTES));
        }
        text.split('/').try_for_each(check_name)?;
        Ok(FilePath(text.into()))
    }

    /// The path of `name` in this directory.
    #[must_use]
    pub fn join(&self, name: &Name) -> FilePath {
        if self.is_root() {
            FilePath(name.0.as_str().into())
        } else {
            FilePath([&self.0, "/", &name.0].concat().into())
        }
    }

    /// The path of `name`, which is known to be valid, in this directory.
    pub fn join_static(&self, name: &'static str) -> FilePath {
        Name::parse(name).map_or_else(|_| self.clone(), |name| self.join(&name))
    }

    /// The parent directory; the root has none.
    #[must_use]
    pub fn parent(&self) -> Option<FilePath> {
        parent_of(&self.0).map(|parent| FilePath(parent.into()))
    }

    /// The last component; the root has none.
    #[must_use]
    pub fn name(&self) -> Option<Name> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty()).map(|name| Name(name.to_owned()))
    }

    /// The directories above this path, nearest first, ending with the root.
    pub fn ancestors(&self) -> impl Iterator<Item = FilePath> {
        std::iter::successors(self.parent(), FilePath::parent)
    }

    /// Whether this path is `scope` or below it.
    #[must_use]
    pub fn is_within(&self, scope: &FilePath) -> bool {
        scope.is_root()
            || self
                .0
                .strip_prefix(&*scope.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The path after `from` was renamed to `to`; `None` if it is not within `from`.
    #[must_use]
    pub fn rebased(&self, from: &FilePath, to: &FilePath) -> Option<FilePath> {
        let rest = self.is_within(from).then(|| self.0.get(from.0.len()..)).flatten()?;
        Some(FilePath(format!("{}{rest}", to.0).into()))
    }

    /// A name for the whole path within a single directory, with `suffix` at its end.
    ///
    /// Different paths have different names; `/` and `%` are escaped, and a long path is reduced to its end and a
    /// checksum of the whole.
    #[must_use]
    pub fn flat_name(&self, suffix: &str) -> Name {
        const SUM_DIGITS: usize = 17;
        let flat = self.0.replace('%', "%25").replace('/', "%2F");
        let room = MAX_NAME_BYTES.saturating_sub(suffix.len() + SUM_DIGITS);
        if flat.len() <= room {
            return Name(format!("{flat}{suffix}"));
        }
        let start = flat.ceil_char_boundary(flat.len() - room);
        let sum = checksum(&[flat.as_bytes()]);
        Name(format!("{sum:016x}-{}{suffix}", flat.get(start..).unwrap_or_default()))
    }

    /// Whether this is the root itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text, with `/` between components.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn parent_of(path: &str) -> Option<&str> {
    let end = path.rfind('/').unwrap_or(0);
    path.get(..end).filter(|_| !path.is_empty())
}

impl Borrow<str> for FilePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A set of paths that is queried for ancestors and descendants of a path.
#[derive(Debug, Default)]
pub struct PathSet(BTreeSet<FilePath>);

impl PathSet {
    /// Whether a path of the set is `path`, an ancestor or a descendant of it.
    pub fn overlaps(&self, path: &FilePath) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let text = path.as_str();
        let mut above = std::iter::successors(Some(text), |path| parent_of(path));
        if above.any(|path| self.0.contains(path)) {
            return true;
        }
        // Descendants follow in the order, perhaps after names that only have the same prefix.
        let after = (Bound::Excluded(text), Bound::Unbounded);
        let mut following = self.0.range::<str, _>(after);
        following
            .by_ref()
            .take_while(|next| next.as_str().starts_with(text))
            .any(|next| next.is_within(path))
    }

    /// Removes all paths.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds all paths of another set.
    pub fn merge(&mut self, mut other: PathSet) {
        self.0.append(&mut other.0);
    }
}

impl Extend<FilePath> for PathSet {
    fn extend<T: IntoIterator<Item = FilePath>>(&mut self, paths: T) {
        self.0.extend(paths);
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

/// The path of names that are known to be valid.
#[must_use]
pub fn join_names(dir: &FilePath, names: &[&str]) -> FilePath {
    names.iter().fold(dir.clone(), |dir, name| match Name::parse(name) {
        Ok(name) => dir.join(&name),
        Err(_) => dir,
    })
}

/// Declares ID types: names with a meaning, so that one kind is never used for another.
macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $id(Name);

        impl $id {
            /// Validates `text` as an ID. Unlike a plain name, an ID never contains `..`.
            pub fn parse(text: &str) -> Result<$id, NameError> {
                if text.contains("..") {
                    return Err(NameError::Climbs { name: text.to_owned() });
                }
                Name::parse(text).map($id)
            }

            /// Validates `text` as a new ID: existing ones may also look like an option, or have characters that are
            /// not seen or that reorder others.
            pub fn parse_new(text: &str) -> Result<$id, NameError> {
                let id = $id::parse(text)?;
                let unsuitable = |reason| NameError::Unsuitable { name: text.to_owned(), reason };
                if text.starts_with('-') {
                    return Err(unsuitable("looks like an option"));
                }
                match text.contains(is_unseen) {
                    true => Err(unsuitable("has characters that are not seen")),
                    false => Ok(id),
                }
            }

            /// The ID as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The ID as the name of a file or directory, which it always is.
            #[must_use]
            pub fn as_name(&self) -> &Name {
                &self.0
            }
        }

        impl Borrow<str> for $id {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}

ids! {
    /// The ID of a session of any format.
    SessionId,
    /// The ID of a scene in a game session.
    SceneId,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) {
        assert!(Name::parse(name).is_err(), "{name:?} was accepted");
        assert!(SessionId::parse(name).is_err(), "{name:?} was accepted as an id");
        if !name.contains('/') && !name.is_empty() {
            assert!(FilePath::parse(&format!("a/{name}/b")).is_err(), "{name:?} in a path");
        }
    }

    #[test]
    fn names_that_could_do_harm_are_refused() {
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "../x",
            "/",
            "\\",
            "a\\b",
            "a\0b",
            "a\nb",
            "\u{7f}",
            "con",
            "CON",
            "Nul.json",
            "aux .txt",
            "com1",
            "LPT9.log",
            "com¹",
            "prn.tar.gz",
            "conin$",
        ] {
            refused(name);
        }
        refused(&"x".repeat(256));
        refused(&"é".repeat(128));
    }

    #[test]
    fn ordinary_names_are_kept_as_they_are() {
        for name in [
            "camp_0001",
            "a",
            ".hidden",
            "con:x",
            "two words",
            "COM10",
            "console",
            "日本語",
            "a..b",
            "turns-0201-current.jsonl",
            "…",
            "👍",
        ] {
            assert_eq!(Name::parse(name).unwrap().as_str(), name);
        }
        assert!(Name::parse(&"x".repeat(255)).is_ok());
    }

    #[test]
    fn an_id_never_contains_two_dots_in_a_row() {
        assert!(SessionId::parse("a..b").is_err());
        assert_eq!(SessionId::parse("sess-1.2").unwrap().as_name().as_str(), "sess-1.2");
    }

    #[test]
    fn paths_are_relative_and_bounded() {
        for path in ["/a", "a//b", "a/", "a/../b", "./a", "a/./b", "C:\\x"] {
            assert!(FilePath::parse(path).is_err(), "{path:?} was accepted");
        }
        assert!(FilePath::parse(&"a/".repeat(1600)).is_err());
        assert!(FilePath::parse("").unwrap().is_root());
    }

    #[test]
    fn a_scope_holds_what_is_below_it_and_nothing_beside_it() {
        let path = |text: &str| FilePath::parse(text).unwrap();
        assert!(path("a/b").is_within(&path("a")));
        assert!(path("a").is_within(&path("a")));
        assert!(path("a").is_within(&FilePath::root()));
        assert!(!path("ab").is_within(&path("a")));
        assert!(!path("a").is_within(&path("a/b")));
    }

    #[test]
    fn different_paths_have_different_flat_names_which_are_names() {
        let long = format!("{}/{}", "é".repeat(120), "x".repeat(250));
        let paths = ["", "a/b", "a%2Fb", "a%2F/b", "a", "sessions/active/日本", &long, &long[2..]];
        let mut seen = BTreeSet::new();
        for path in paths {
            let name = FilePath::parse(path).unwrap().flat_name(".lock");
            assert_eq!(Name::parse(name.as_str()).as_ref(), Ok(&name), "{path:?}");
            assert!(seen.insert(name), "{path:?} has the same name as another path");
        }
    }

    #[test]
    fn a_set_of_paths_meets_what_is_above_below_and_equal() {
        let path = |text: &str| FilePath::parse(text).unwrap();
        let mut set = PathSet::default();
        assert!(!set.overlaps(&path("")));
        set.extend([path("a/b"), path("a-b/c"), path("x")]);
        for meeting in ["", "a", "a/b", "a/b/c/d", "a-b", "x", "x/y"] {
            assert!(set.overlaps(&path(meeting)), "{meeting}");
        }
        for apart in ["a/c", "a/bb", "a-", "a-b/d", "b", "xy"] {
            assert!(!set.overlaps(&path(apart)), "{apart}");
        }
    }

    #[test]
    fn new_ids_are_seen_as_they_are() {
        for id in ["--help", "-x", "a\u{202e}b", "a\u{200b}b", "\u{feff}a"] {
            assert!(SessionId::parse(id).is_ok(), "{id:?}");
            assert!(
                matches!(SessionId::parse_new(id), Err(NameError::Unsuitable { .. })),
                "{id:?}"
            );
        }
        for id in ["a-b", "Grüße", "你好", "a b", "x--"] {
            assert!(SessionId::parse_new(id).is_ok(), "{id:?}");
        }
    }

    #[test]
    fn a_path_knows_its_parts() {
        let path = FilePath::parse("a/b/c.json").unwrap();
        assert_eq!(path.name().unwrap().as_str(), "c.json");
        let above: Vec<String> = path.ancestors().map(|p| p.as_str().to_owned()).collect();
        assert_eq!(above, ["a/b", "a", ""]);
        assert_eq!(FilePath::root().name(), None);
        assert_eq!(FilePath::root().join(&Name::parse("x").unwrap()).as_str(), "x");
    }
}
