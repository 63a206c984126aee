//! Why something is no character card.

use thiserror::Error;

use everturn_value::document::ParseError;

/// Why a card could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CardError {
    /// It is not JSON.
    #[error("the card cannot be read: {0}")]
    Json(#[from] ParseError),
    /// It is JSON, and something else than a card.
    #[error("this is no character card: {why}")]
    NotACard {
        /// What it is, or what it lacks.
        why: String,
    },
    /// It is a packed card with its pictures.
    #[error(
        "this is a zip archive (.charx), which is not supported; export the card as PNG or JSON"
    )]
    Archive,
    /// The picture has no card that can be read.
    #[error("the picture holds no card that can be read: {0}")]
    Png(#[from] PngError),
}

impl CardError {
    pub(super) fn not_a_card(why: impl Into<String>) -> CardError {
        CardError::NotACard { why: why.into() }
    }
}

/// What is wrong with a PNG picture.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PngError {
    /// There is neither a `ccv3` nor a `chara` text in it.
    #[error("there is no text called ccv3 or chara in it{}", after(.notes))]
    NoCard {
        /// What else is wrong with the picture.
        notes: Vec<String>,
    },
    /// There are texts, and none is a card.
    #[error("{}", .notes.join("; "))]
    Unusable {
        /// What is wrong with each of them.
        notes: Vec<String>,
    },
}

fn after(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}
