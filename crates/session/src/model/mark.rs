//! Marks: named turns. [`Mark`] is a stored mark, [`NewMark`] one to be added, [`MarkKind`] its purpose.

use std::fmt;

use jiff::Timestamp;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// The purpose of a mark.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum MarkKind {
            $($(#[$doc])* $variant,)*
            /// Another purpose, as given by the user.
            Other(String),
        }

        impl MarkKind {
            /// The predefined kinds.
            pub const NAMED: &[MarkKind] = &[$(MarkKind::$variant,)*];

            /// The name that users write.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(MarkKind::$variant => $text,)*
                    MarkKind::Other(other) => other,
                }
            }
        }
    };
}

kinds! {
    /// A bookmark.
    Bookmark = "bookmark",
    /// The start of a chapter.
    Chapter = "chapter",
    /// The start of a scene.
    Scene = "scene",
    /// An event.
    Event = "event",
    /// A decision.
    Decision = "decision",
}

impl MarkKind {
    /// The kind of that name; unknown names are preserved.
    #[must_use]
    pub fn parse(name: &str) -> MarkKind {
        let known = MarkKind::NAMED.iter().find(|kind| kind.as_str() == name);
        known.cloned().unwrap_or_else(|| MarkKind::Other(name.to_owned()))
    }
}

impl fmt::Display for MarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A named turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its ID, unique in the session.
    pub id: String,
    /// Its purpose.
    pub kind: MarkKind,
    /// Its name.
    pub name: String,
    /// A description; may be empty.
    pub description: String,
    /// The marked turn.
    pub turn: u64,
    /// The marked entry, if it marks a single entry.
    pub entry: Option<String>,
    /// When it was added.
    pub time: Option<Timestamp>,
}

/// The parameters of a new mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMark {
    /// Its purpose.
    pub kind: MarkKind,
    /// Its name.
    pub name: String,
    /// A description; may be empty.
    pub description: String,
    /// The marked turn; by default that of its entry, or the last.
    pub turn: Option<u64>,
    /// The marked entry, if it marks a single entry.
    pub entry: Option<String>,
}

impl NewMark {
    /// A bookmark at the last turn.
    #[must_use]
    pub fn bookmark(name: &str) -> NewMark {
        NewMark {
            kind: MarkKind::Bookmark,
            name: name.to_owned(),
            description: String::new(),
            turn: None,
            entry: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_the_kind_it_is_the_name_of() {
        for kind in MarkKind::NAMED {
            assert_eq!(MarkKind::parse(kind.as_str()), *kind);
        }
        assert_eq!(MarkKind::parse("omen"), MarkKind::Other("omen".to_owned()));
    }
}
