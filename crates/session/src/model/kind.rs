//! The kinds of entries.

use std::fmt;

macro_rules! kinds {
    ($name:ident: $($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// The kind of an entry, from the reader's point of view.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// Another kind, as named in the record.
            Other(String),
        }

        impl $name {
            /// The predefined kinds.
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
    /// Input of the user.
    User = "user",
    /// Output of the model.
    Assistant = "assistant",
    /// Narration.
    Narrator = "narrator",
    /// Speech or action of a character.
    Npc = "npc",
    /// A message of the program itself.
    System = "system",
    /// An out-of-character message.
    Ooc = "ooc",
    /// A call of a tool.
    ToolCall = "tool_call",
    /// The result of a tool.
    ToolResult = "tool_result",
    /// An event.
    Event = "event",
}

impl EntryKind {
    /// The kind of that name; unknown names are preserved.
    #[must_use]
    pub fn parse(name: &str) -> EntryKind {
        let known = EntryKind::NAMED.iter().find(|kind| kind.as_str() == name);
        known.cloned().unwrap_or_else(|| EntryKind::Other(name.to_owned()))
    }

    /// Reasoning of a model.
    #[must_use]
    pub fn thinking() -> EntryKind {
        EntryKind::Other("thinking".to_owned())
    }

    /// A record for a program's internal use, of no interest to readers.
    #[must_use]
    pub fn bookkeeping() -> EntryKind {
        EntryKind::Other("record".to_owned())
    }

    /// Whether entries of this kind are omitted from readable output.
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
