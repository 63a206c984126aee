//! Lorebooks: knowledge about a world that is added to a prompt when it is mentioned.
//!
//! A lorebook has entries, and an entry has keys. If a key occurs in the newest texts, the entry is activated
//! ([`activate_entries`]) and can be added to a prompt. Three families are read: the format beside chat logs (`"type":
//! "lorebook"`), the books inside character cards, and world info files of SillyTavern.
//!
//! Nothing here is random, so an entry with a probability is always activated; it has a note.

mod activate;
mod keys;
mod read;
mod world_book;

use everturn_value::tree::JsonTree;

pub use activate::{
    Activation, ActivationReason, ActiveEntry, ScanOptions, SkippedEntry, activate_entries,
};
pub use keys::{LorebookKey, MatchOptions};
pub use read::LorebookError;
pub(crate) use read::from_card;

/// A collection of entries.
#[derive(Debug, Clone)]
pub struct Lorebook {
    /// The ID of the lorebook in references.
    pub id: String,
    /// The title.
    pub name: String,
    /// The number of newest texts that are searched for keys, if the book defines it.
    pub scan_depth: Option<usize>,
    /// The most tokens of its entries together, if the book defines it.
    pub token_budget: Option<usize>,
    /// Whether activated entries are searched for keys of others.
    pub recursive: bool,
    /// The entries, in document order.
    pub entries: Vec<LorebookEntry>,
    /// Irregularities of the lorebook.
    pub notes: Vec<String>,
    /// The original document.
    pub raw: JsonTree,
}

/// An entry of a lorebook.
#[derive(Debug, Clone)]
pub struct LorebookEntry {
    /// The ID of the entry in references, unique in the book.
    pub id: String,
    /// Its title.
    pub name: String,
    /// Keys of which one must occur.
    pub keys: Vec<LorebookKey>,
    /// Further keys, whose meaning is defined by [`LorebookEntry::logic`].
    pub secondary: Vec<LorebookKey>,
    /// The condition on the secondary keys, if there are any.
    pub logic: KeyLogic,
    /// The text for the prompt.
    pub content: String,
    /// Whether the entry is enabled.
    pub enabled: bool,
    /// Whether it is always active, without a key.
    pub constant: bool,
    /// The order among entries: lower numbers first.
    pub order: i64,
    /// The priority within the token budget: higher numbers stay longer.
    pub priority: i64,
    /// Its position in a prompt.
    pub place: PromptPosition,
    /// The number of newest texts that are searched, if it differs from that of the book.
    pub scan_depth: Option<usize>,
    /// Its part in recursive activation.
    pub recursion: RecursionRules,
    /// Of the entries of a group only the one with the highest order is used.
    pub groups: Vec<String>,
}

/// The condition on the secondary keys of an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyLogic {
    /// At least one must occur.
    #[default]
    AnyOf,
    /// All must occur.
    AllOf,
    /// None may occur.
    NoneOf,
    /// Not all may occur.
    NotAllOf,
}

/// The position of an entry in a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptPosition {
    /// Before the characters.
    Before,
    /// After the characters.
    #[default]
    After,
    /// This many messages before the end.
    Depth(usize),
}

/// The part of an entry in recursive activation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecursionRules {
    /// Other entries do not activate it.
    pub excluded: bool,
    /// It does not activate other entries.
    pub prevents: bool,
    /// Only other entries activate it.
    pub waits: bool,
}
