//! What of a conversation fits into the window of a language model.
//!
//! Everything that could be told is an [`ContextItem`]: messages, and behind them the characters, the lore and the states of
//! tools. [`select`] takes them in an order that does not depend on the room there is, and stops at the first one
//! that does not fit. So more room never takes anything away, and the same input gives the same selection.
//!
//! Messages and background have half of the room each. If all of one side fits into its half, the other side gets what
//! is left.

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

/// Which messages come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ContextStrategy {
    /// The newest.
    #[default]
    Sliding,
    /// The pinned ones, then the newest.
    Fixed,
    /// Those that are pinned, marked or referred to, then the newest.
    Adaptive,
}

impl ContextStrategy {
    /// Every strategy there is.
    pub const ALL: &[ContextStrategy] =
        &[ContextStrategy::Sliding, ContextStrategy::Fixed, ContextStrategy::Adaptive];

    /// The word by which it is called.
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

/// Why there is nothing to select.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContextError {
    /// There is no such strategy.
    #[error("there is no strategy {word:?}; it is sliding, fixed or adaptive")]
    Strategy {
        /// What was asked for.
        word: String,
    },
    /// The answer needs all the room.
    #[error("of {size} tokens, {reserve} are kept for the answer, which leaves no room")]
    NoRoom {
        /// The size of the window.
        size: usize,
        /// What is kept for the answer.
        reserve: usize,
    },
}

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    size: usize,
    reserve: usize,
}

impl ContextWindow {
    /// A window of `size` tokens, of which `reserve` are kept for the answer.
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

    /// What is kept for the answer.
    #[must_use]
    pub fn reserve(self) -> usize {
        self.reserve
    }

    /// What may be told.
    #[must_use]
    pub fn budget(self) -> usize {
        self.size - self.reserve
    }
}
