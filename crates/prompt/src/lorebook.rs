//! Lorebooks: what a narrator is told about the world when the talk comes to it.
//!
//! A lorebook has entries, and an entry has keys. When a key turns up in what was said last, the entry is
//! activated ([`activate_entries`]) and can be put into a prompt. Three families are read: the format beside chat logs
//! (`"type": "lorebook"`), the books inside character cards, and world info files of SillyTavern.
//!
//! Nothing here is random, so an entry that should turn up now and then always does; it has a note.

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
    /// What the lorebook is called in references.
    pub id: String,
    /// The title.
    pub name: String,
    /// How many of the newest texts are searched for keys, if the book says so.
    pub scan_depth: Option<usize>,
    /// How many tokens its entries may cost together, if the book says so.
    pub token_budget: Option<usize>,
    /// Whether activated entries are searched for keys of others.
    pub recursive: bool,
    /// The entries, in the order of the document.
    pub entries: Vec<LorebookEntry>,
    /// What is odd about the lorebook, in words.
    pub notes: Vec<String>,
    /// The document, as it was read.
    pub raw: JsonTree,
}

/// One piece of knowledge.
#[derive(Debug, Clone)]
pub struct LorebookEntry {
    /// What the entry is called in references; no other entry of the book has it.
    pub id: String,
    /// What it is about.
    pub name: String,
    /// Words of which one must turn up.
    pub keys: Vec<LorebookKey>,
    /// More words, of which [`LorebookEntry::logic`] says what they do.
    pub secondary: Vec<LorebookKey>,
    /// What the secondary keys must do, if there are any.
    pub logic: KeyLogic,
    /// What is told.
    pub content: String,
    /// Whether the entry is used at all.
    pub enabled: bool,
    /// Whether it is told always, without a key.
    pub constant: bool,
    /// Where entries stand among others: lower numbers first.
    pub order: i64,
    /// What stays when there is no room for all: higher numbers longer.
    pub priority: i64,
    /// Where in a prompt it belongs.
    pub place: PromptPosition,
    /// How many of the newest texts are searched, if not as many as for others.
    pub scan_depth: Option<usize>,
    /// Which part it takes in activation by other entries.
    pub recursion: RecursionRules,
    /// Of the entries of a group only the one with the highest order is told.
    pub groups: Vec<String>,
}

/// What the secondary keys of an entry must do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyLogic {
    /// One must turn up.
    #[default]
    AnyOf,
    /// All must turn up.
    AllOf,
    /// None may turn up.
    NoneOf,
    /// Not all may turn up.
    NotAllOf,
}

/// Where in a prompt an entry belongs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PromptPosition {
    /// Before the characters.
    Before,
    /// Behind the characters.
    #[default]
    After,
    /// So many messages before the end.
    Depth(usize),
}

/// Which part an entry takes in activation by other entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecursionRules {
    /// Other entries do not activate it.
    pub excluded: bool,
    /// It does not activate other entries.
    pub prevents: bool,
    /// Only other entries activate it.
    pub waits: bool,
}
