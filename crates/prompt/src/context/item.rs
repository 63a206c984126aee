//! [`ContextItem`]: the candidates for a context window.

use super::ContextStrategy;
use crate::card::{CharacterCard, substitute_names};
use crate::lorebook::{ActiveEntry, PromptPosition};
use crate::tokens::Vocabulary;

/// The tokens that separate one message from the next; they are counted with each item.
pub const CHAT_OVERHEAD: usize = 4;

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// A message.
    Message,
    /// The state of a tool.
    ToolSnapshot,
    /// A character.
    CharacterCard,
    /// An entry of a lorebook.
    LorebookEntry,
}

impl ItemKind {
    /// The name in JSON.
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

/// The role of a message for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatRole {
    /// Instructions and background.
    System,
    /// The player.
    User,
    /// The narrator and all characters that it plays.
    Assistant,
}

impl ChatRole {
    /// The role of a message by its type in a chat log; unknown types belong to the narrator.
    #[must_use]
    pub fn of_message(kind: &str) -> ChatRole {
        match kind {
            "system" => ChatRole::System,
            "protagonist" | "ooc" => ChatRole::User,
            _ => ChatRole::Assistant,
        }
    }

    /// The name in chat completions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChatRole::System => "system",
            ChatRole::User => "user",
            ChatRole::Assistant => "assistant",
        }
    }
}

/// Why an item was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SelectionReason {
    /// It is the newest message.
    Newest,
    /// It is pinned.
    Pinned,
    /// It has a bookmark or a marker.
    Marked,
    /// Something else references it.
    Referenced,
    /// It is among the newest.
    Recent,
    /// It is background.
    Background,
}

impl SelectionReason {
    /// The name in JSON.
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

/// The position of a background item in a prompt.
pub type ItemPosition = PromptPosition;

/// A candidate for the context window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    /// Its kind.
    pub kind: ItemKind,
    /// Its ID in references.
    pub id: String,
    /// The index among the messages, from 0; meaningless for other items.
    pub place: u64,
    /// The role of the speaker.
    pub role: ChatRole,
    /// The name of the speaker, which is part of the prompt.
    pub speaker: Option<String>,
    /// The text.
    pub text: String,
    /// Whether it is pinned.
    pub pinned: bool,
    /// Whether it has a bookmark or a marker.
    pub marked: bool,
    /// Whether something else references it.
    pub referenced: bool,
    /// The position of a background item.
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

    /// A background item.
    #[must_use]
    pub fn background(
        kind: ItemKind,
        id: impl Into<String>,
        text: impl Into<String>,
    ) -> ContextItem {
        ContextItem { kind, ..ContextItem::message(id, 0, ChatRole::System, text) }
    }

    /// The description of a character.
    #[must_use]
    pub fn card(card: &CharacterCard, user: &str) -> ContextItem {
        ContextItem::background(ItemKind::CharacterCard, &card.id, card.prompt(user))
    }

    /// An activated entry of a lorebook; the names of `character` and `user` are inserted.
    #[must_use]
    pub fn lore(active: &ActiveEntry<'_>, character: &str, user: &str) -> ContextItem {
        let text = substitute_names(&active.entry.content, character, user);
        let spot = active.entry.place;
        ContextItem {
            spot,
            ..ContextItem::background(ItemKind::LorebookEntry, &active.entry.id, text)
        }
    }

    /// Sets the speaker.
    #[must_use]
    pub fn with_speaker(self, speaker: impl Into<String>) -> ContextItem {
        ContextItem { speaker: Some(speaker.into()).filter(|name| !name.is_empty()), ..self }
    }

    /// Its text in a prompt.
    #[must_use]
    pub fn prompt_line(&self) -> String {
        match &self.speaker {
            Some(speaker) => format!("{speaker}: {}", self.text),
            None => self.text.clone(),
        }
    }

    /// The tokens of its text, its speaker and the separator, if they do not exceed `limit`.
    pub(super) fn token_cost(&self, vocabulary: Vocabulary, limit: usize) -> Option<usize> {
        let limit = limit.checked_sub(CHAT_OVERHEAD)?;
        let tokens = match &self.speaker {
            Some(_) => vocabulary.count_up_to(&self.prompt_line(), limit),
            None => vocabulary.count_up_to(&self.text, limit),
        };
        tokens.map(|tokens| tokens + CHAT_OVERHEAD)
    }

    /// Why it has priority in a strategy, if it does.
    pub(super) fn priority_reason(&self, strategy: ContextStrategy) -> Option<SelectionReason> {
        let adapts = strategy == ContextStrategy::Adaptive;
        let merits = [
            (self.pinned, SelectionReason::Pinned),
            (self.marked && adapts, SelectionReason::Marked),
            (self.referenced && adapts, SelectionReason::Referenced),
        ];
        merits.into_iter().find_map(|(has, why)| has.then_some(why))
    }
}
