//! Selects what fits into the context window of a language model.
//!
//! Every candidate is a [`ContextItem`]: messages, and as background the characters, the lore and the states of tools.
//! [`select_items`] takes them in an order that does not depend on the size of the window, and stops at the first one
//! that does not fit. So a larger window never loses an item, and the same input gives the same [`ContextSelection`].
//!
//! Messages and background have half of the budget each. If all of one side fits into its half, the other side gets the
//! rest.

mod item;
mod render;
mod select;

pub use item::{ChatRole, ContextItem, ItemKind, ItemPosition, SelectionReason};
pub use render::{CHAT_OVERHEAD, chat_json, prompt_text};
pub use select::{
    ContextSelection, Conversation, ExcludedItem, ExclusionReason, IncludedItem, select_items,
};

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Which messages are selected first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ContextStrategy {
    /// The newest.
    #[default]
    Sliding,
    /// The pinned ones, then the newest.
    Fixed,
    /// The pinned, marked or referenced ones, then the newest.
    Adaptive,
}

impl ContextStrategy {
    /// All strategies.
    pub const ALL: &[ContextStrategy] =
        &[ContextStrategy::Sliding, ContextStrategy::Fixed, ContextStrategy::Adaptive];

    /// The name of the strategy.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ContextStrategy::Sliding => "sliding",
            ContextStrategy::Fixed => "fixed",
            ContextStrategy::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for ContextStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ContextStrategy {
    type Err = ContextError;

    fn from_str(word: &str) -> Result<ContextStrategy, ContextError> {
        let known = ContextStrategy::ALL.iter().find(|strategy| strategy.as_str() == word);
        known.copied().ok_or_else(|| ContextError::Strategy { word: word.to_owned() })
    }
}

/// Why nothing can be selected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContextError {
    /// There is no such strategy.
    #[error("unknown strategy {word:?}; known strategies: sliding, fixed, adaptive")]
    Strategy {
        /// The requested name.
        word: String,
    },
    /// The reserve for the answer is the whole window.
    #[error("of {size} tokens, {reserve} are reserved for the answer, which leaves no room")]
    NoRoom {
        /// The size of the window.
        size: usize,
        /// The tokens reserved for the answer.
        reserve: usize,
    },
}

/// The size of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    size: usize,
    reserve: usize,
}

impl ContextWindow {
    /// A window of `size` tokens, of which `reserve` are reserved for the answer.
    pub fn new(size: usize, reserve: usize) -> Result<ContextWindow, ContextError> {
        if reserve >= size {
            return Err(ContextError::NoRoom { size, reserve });
        }
        Ok(ContextWindow { size, reserve })
    }

    /// The size of the window in tokens.
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    /// The tokens reserved for the answer.
    #[must_use]
    pub fn reserve(self) -> usize {
        self.reserve
    }

    /// The tokens available for the prompt.
    #[must_use]
    pub fn budget(self) -> usize {
        self.size - self.reserve
    }
}
