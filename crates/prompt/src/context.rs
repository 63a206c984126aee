//! Selects what fits into the context window of a language model.
//!
//! Every candidate is a [`ContextItem`]: messages, and as background the characters, the lore and the states of tools.
//! [`select_items`] offers them to the window in an order that does not depend on its size. Items that fit are included;
//! the others are reported. So the remaining space is smaller than every omitted item, and the first difference between
//! two windows, in the order of choice, is an item that only the larger one has.

mod cut;
mod item;
mod order;
mod render;
mod select;

pub use item::{CHAT_OVERHEAD, ChatRole, ContextItem, ItemKind, ItemPosition, SelectionReason};
pub use render::{chat_json, prompt_text};
pub use select::{
    ContextSelection, Conversation, ExcludedItem, ExclusionReason, IncludedItem, select_items,
};

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::tokens::Vocabulary;

/// Which messages are selected first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ContextStrategy {
    /// The newest.
    #[default]
    Sliding,
    /// The same, and the first message is pinned unless others are.
    Fixed,
    /// The same as `Fixed`, and messages that are marked or referenced have a share.
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
    /// The reserve for the answer and the prompts take the whole window.
    #[error(
        "the window of {size} tokens is too small: the prompts need {prompts}, and {reserve} are reserved for the answer"
    )]
    NoRoom {
        /// The size of the window.
        size: usize,
        /// The tokens reserved for the answer.
        reserve: usize,
        /// The tokens of the prompts.
        prompts: usize,
    },
    /// Not even the last word of the newest message fits.
    #[error(
        "the newest message needs at least {needs} tokens, and the window has {budget}: {} too few",
        needs.saturating_sub(*budget)
    )]
    NewestTooLarge {
        /// The tokens of the shortest end of the message.
        needs: usize,
        /// The budget.
        budget: usize,
    },
}

/// The size of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextWindow {
    size: usize,
    reserve: usize,
    prompts: usize,
    vocabulary: Vocabulary,
}

impl ContextWindow {
    /// A window of `size` tokens, of which `reserve` are reserved for the answer.
    pub fn new(size: usize, reserve: usize) -> Result<ContextWindow, ContextError> {
        let vocabulary = Vocabulary::default();
        ContextWindow { size, reserve, prompts: 0, vocabulary }.with_prompts(0)
    }

    /// The same window with this many tokens of prompts, which are always included.
    pub fn with_prompts(self, prompts: usize) -> Result<ContextWindow, ContextError> {
        let ContextWindow { size, reserve, .. } = self;
        if reserve.saturating_add(prompts) >= size {
            return Err(ContextError::NoRoom { size, reserve, prompts });
        }
        Ok(ContextWindow { prompts, ..self })
    }

    /// The same window, counted with another vocabulary.
    #[must_use]
    pub fn with_vocabulary(self, vocabulary: Vocabulary) -> ContextWindow {
        ContextWindow { vocabulary, ..self }
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

    /// The tokens of the prompts.
    #[must_use]
    pub fn prompts(self) -> usize {
        self.prompts
    }

    /// The vocabulary in which tokens are counted.
    #[must_use]
    pub fn vocabulary(self) -> Vocabulary {
        self.vocabulary
    }

    /// The tokens available for messages and background.
    #[must_use]
    pub fn budget(self) -> usize {
        self.size - self.reserve - self.prompts
    }
}
