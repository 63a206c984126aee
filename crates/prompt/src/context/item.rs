//! The things that can be told.

use crate::card::{CharacterCard, substitute_names};
use crate::lorebook::{ActiveEntry, PromptPosition};

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// Something that was said.
    Message,
    /// The state of a tool.
    ToolSnapshot,
    /// A character.
    CharacterCard,
    /// A piece of knowledge.
    LorebookEntry,
}

impl ItemKind {
    /// The word that JSON has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ItemKind::Message => "message",
            ItemKind::ToolSnapshot => "tool_snapshot",
            ItemKind::CharacterCard => "character_card",
            ItemKind::LorebookEntry => "lorebook_entry",
        }
    }
}

/// Who speaks, for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatRole {
    /// Instructions and background.
    System,
    /// The player.
    User,
    /// The narrator and everybody whom it plays.
    Assistant,
}

impl ChatRole {
    /// The role of a message by its type in a chat log; what is not known is told by the narrator.
    #[must_use]
    pub fn of_message(kind: &str) -> ChatRole {
        match kind {
            "system" => ChatRole::System,
            "protagonist" | "ooc" => ChatRole::User,
            _ => ChatRole::Assistant,
        }
    }

    /// The word that chat completions have for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChatRole::System => "system",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
        }
    }
}

/// Why an item was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SelectionReason {
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

impl SelectionReason {
    /// The word that JSON has for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SelectionReason::Newest => "newest",
            SelectionReason::Pinned => "pinned",
            SelectionReason::Marked => "marked",
            SelectionReason::Referenced => "referenced",
            SelectionReason::Recent => "recent",
            SelectionReason::Background => "background",
        }
    }
}

/// Where in a prompt an item of the background belongs.
pub type ItemPosition = PromptPosition;

/// Something that can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    /// What it is.
    pub kind: ItemKind,
    /// What it is called in references.
    pub id: String,
    /// The place among the messages, the first one being 0; of no meaning for other items.
    pub place: u64,
    /// Who speaks.
    pub role: ChatRole,
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
    pub spot: ItemPosition,
}

impl ContextItem {
    /// A message.
    #[must_use]
    pub fn message(
        id: impl Into<String>,
        place: u64,
        role: ChatRole,
        text: impl Into<String>,
    ) -> ContextItem {
        ContextItem {
            kind: ItemKind::Message,
            id: id.into(),
            place,
            role,
            speaker: None,
            text: text.into(),
            pinned: false,
            marked: false,
            referenced: false,
            spot: ItemPosition::After,
        }
    }

    /// Something of the background.
    #[must_use]
    pub fn background(
        kind: ItemKind,
        id: impl Into<String>,
        text: impl Into<String>,
    ) -> ContextItem {
        ContextItem { kind, ..ContextItem::message(id, 0, ChatRole::System, text) }
    }

    /// What a narrator is told about a character.
    #[must_use]
    pub fn card(card: &CharacterCard, user: &str) -> ContextItem {
        ContextItem::background(ItemKind::CharacterCard, &card.id, card.prompt(user))
    }

    /// An entry of a lorebook that was activated; `character` and `user` are put in their places.
    #[must_use]
    pub fn lore(active: &ActiveEntry<'_>, character: &str, user: &str) -> ContextItem {
        let text = substitute_names(&active.entry.content, character, user);
        let spot = active.entry.place;
        ContextItem {
            spot,
            ..ContextItem::background(ItemKind::LorebookEntry, &active.entry.id, text)
        }
    }

    /// The same, said by somebody.
    #[must_use]
    pub fn with_speaker(self, speaker: impl Into<String>) -> ContextItem {
        ContextItem { speaker: Some(speaker.into()).filter(|name| !name.is_empty()), ..self }
    }

    /// What stands in a prompt for it.
    #[must_use]
    pub fn prompt_line(&self) -> String {
        match &self.speaker {
            Some(speaker) => format!("{speaker}: {}", self.text),
            None => self.text.clone(),
        }
    }

    /// Why it comes before others, if it does.
    pub(super) fn priority_reason(&self) -> Option<SelectionReason> {
        let merits = [
            (self.pinned, SelectionReason::Pinned),
            (self.marked, SelectionReason::Marked),
            (self.referenced, SelectionReason::Referenced),
        ];
        merits.into_iter().find_map(|(has, why)| has.then_some(why))
    }
}
