//! Marks: places in a session that somebody wants to find again.

use std::fmt;

use jiff::Timestamp;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// What a mark is there for.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum MarkKind {
            $($(#[$doc])* $variant,)*
            /// Something else, in the words of whoever made it.
            Other(String),
        }

        impl MarkKind {
            /// The kinds that have a name of their own.
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
    /// A place to come back to.
    Bookmark = "bookmark",
    /// A chapter of the story begins here.
    Chapter = "chapter",
    /// A scene of the story begins here.
    Scene = "scene",
    /// Something happened here.
    Event = "event",
    /// Something was decided here.
    Decision = "decision",
}

impl MarkKind {
    /// The kind of that name; names that are not known are kept.
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

/// A place in a session that somebody wants to find again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its id, which no other mark of the session has.
    pub id: String,
    /// What it is there for.
    pub kind: MarkKind,
    /// What it is called.
    pub name: String,
    /// What else there is to say; may be empty.
    pub description: String,
    /// The turn it is at.
    pub turn: u64,
    /// The entry it is at, if it is at a single one.
    pub entry: Option<String>,
    /// When it was made.
    pub time: Option<Timestamp>,
}

/// A mark that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMark {
    /// What it is there for.
    pub kind: MarkKind,
    /// What it is called.
    pub name: String,
    /// What else there is to say; may be empty.
    pub description: String,
    /// The turn it is at; without one it is at the last, or at that of its entry.
    pub turn: Option<u64>,
    /// The entry it is at, if it is at a single one.
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
