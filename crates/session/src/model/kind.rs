//! The kinds of entries.

use std::fmt;

macro_rules! kinds {
    ($name:ident: $($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// What an entry is, from the point of view of whoever reads the session.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// Something else, in the words of the record.
            Other(String),
        }

        impl $name {
            /// The kinds that have a name of their own.
            pub const NAMED: &[$name] = &[$($name::$variant,)*];

            /// The name that `--json` prints.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $text,)*
                    $name::Other(other) => other,
                }
            }
        }
    };
}

kinds! {
    EntryKind:
    /// What the person at the keyboard said or did.
    User = "user",
    /// What the model said.
    Assistant = "assistant",
    /// What a narrator told.
    Narrator = "narrator",
    /// What a character of the story said or did.
    Npc = "npc",
    /// What the program itself had to say.
    System = "system",
    /// What was said out of character.
    Ooc = "ooc",
    /// A tool that was called.
    ToolCall = "tool_call",
    /// What a tool answered.
    ToolResult = "tool_result",
    /// Something that happened.
    Event = "event",
}

impl EntryKind {
    /// The kind of that name; names that are not known are kept.
    #[must_use]
    pub fn parse(name: &str) -> EntryKind {
        let known = EntryKind::NAMED.iter().find(|kind| kind.as_str() == name);
        known.cloned().unwrap_or_else(|| EntryKind::Other(name.to_owned()))
    }

    /// What a model thought before it spoke.
    #[must_use]
    pub fn thinking() -> EntryKind {
        EntryKind::Other("thinking".to_owned())
    }

    /// A record that a program keeps for itself and that tells a reader nothing.
    #[must_use]
    pub fn bookkeeping() -> EntryKind {
        EntryKind::Other("record".to_owned())
    }

    /// Whether an entry of this kind is left out where people read.
    #[must_use]
    pub fn is_bookkeeping(&self) -> bool {
        *self == EntryKind::bookkeeping()
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_means_the_kind_it_is_the_name_of() {
        for kind in EntryKind::NAMED {
            assert_eq!(EntryKind::parse(kind.as_str()), *kind);
        }
        assert_eq!(EntryKind::parse("oracle"), EntryKind::Other("oracle".to_owned()));
        assert_eq!(EntryKind::parse("oracle").as_str(), "oracle");
    }
}
