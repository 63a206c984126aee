//! The things that can be told.

use crate::card::{Card, fill};
use crate::lorebook::{Active, Place};

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Something that was said.
    Message,
    /// The state of a tool.
    ToolSnapshot,
    /// A character.
    CharacterCard,
    /// A piece of knowledge.
    LorebookEntry,
}

impl Kind {
    /// The word that JSON has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Message => "message",
            Kind::ToolSnapshot => "tool_snapshot",
            Kind::CharacterCard => "character_card",
            Kind::LorebookEntry => "lorebook_entry",
        }
    }
}

/// Who speaks, for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions and background.
    System,
    /// The player.
    User,
    /// The narrator and everybody whom it plays.
    Assistant,
}

impl Role {
    /// The role of a message by its type in a chat log; what is not known is told by the narrator.
    #[must_use]
    pub fn of_message(kind: &str) -> Role {
        match kind {
            "system" => Role::System,
            "protagonist" | "ooc" => Role::User,
            _ => Role::Assistant,
        }
    }

    /// The word that chat completions have for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        }
    }
}

/// Why an item was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// It is the newest message.
    Newest,
    /// It is pinned.
    Pinned,
    /// A bookmark or a marker is at it.
    Marked,
    /// Something else refers to it.
    Referenced,
    /// It is among the newest.
    Recent,
    /// It belongs to the background.
    Background,
}

impl Why {
    /// The word that JSON has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Why::Newest => "newest",
            Why::Pinned => "pinned",
            Why::Marked => "marked",
            Why::Referenced => "referenced",
            Why::Recent => "recent",
            Why::Background => "background",
        }
    }
}

/// Where in a prompt an item of the background belongs.
pub type Spot = Place;

/// Something that can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// What it is called in references.
    pub id: String,
    /// The place among the messages, the first one being 0; of no meaning for other items.
    pub place: u64,
    /// Who speaks.
    pub role: Role,
    /// The name of who speaks, which is told too.
    pub speaker: Option<String>,
    /// What is told.
    pub text: String,
    /// Whether it belongs to the opening that is always told.
    pub pinned: bool,
    /// Whether a bookmark or a marker is at it.
    pub marked: bool,
    /// Whether something else refers to it.
    pub referenced: bool,
    /// Where an item of the background belongs.
    pub spot: Spot,
}

impl Item {
    /// A message.
    #[must_use]
    pub fn message(id: impl Into<String>, place: u64, role: Role, text: impl Into<String>) -> Item {
        Item {
            kind: Kind::Message,
            id: id.into(),
            place,
            role,
            speaker: None,
            text: text.into(),
            pinned: false,
            marked: false,
            referenced: false,
            spot: Spot::After,
        }
    }

    /// Something of the background.
    #[must_use]
    pub fn background(kind: Kind, id: impl Into<String>, text: impl Into<String>) -> Item {
        Item { kind, ..Item::message(id, 0, Role::System, text) }
    }

    /// What a narrator is told about a character.
    #[must_use]
    pub fn card(card: &Card, user: &str) -> Item {
        Item::background(Kind::CharacterCard, &card.id, card.prompt(user))
    }

    /// An entry of a lorebook that was activated; `character` and `user` are put in their places.
    #[must_use]
    pub fn lore(active: &Active<'_>, character: &str, user: &str) -> Item {
        let text = fill(&active.entry.content, character, user);
        let spot = active.entry.place;
        Item { spot, ..Item::background(Kind::LorebookEntry, &active.entry.id, text) }
    }

    /// The same, said by somebody.
    #[must_use]
    pub fn said_by(self, speaker: impl Into<String>) -> Item {
        Item { speaker: Some(speaker.into()).filter(|name| !name.is_empty()), ..self }
    }

    /// What stands in a prompt for it.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.speaker {
            Some(speaker) => format!("{speaker}: {}", self.text),
            None => self.text.clone(),
        }
    }

    /// Why it comes before others, if it does.
    pub(super) fn merit(&self) -> Option<Why> {
        let merits = [
            (self.pinned, Why::Pinned),
            (self.marked, Why::Marked),
            (self.referenced, Why::Referenced),
        ];
        merits.into_iter().find_map(|(has, why)| has.then_some(why))
    }
}
