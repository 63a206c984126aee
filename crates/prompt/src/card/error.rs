//! [`CardError`]: why a character card cannot be read.

use thiserror::Error;

use everturn_value::document::ParseError;

/// Why a card could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CardError {
    /// It is not JSON.
    #[error("the card cannot be read: {0}")]
    Json(#[from] ParseError),
    /// It is JSON, but not a card.
    #[error("not a character card: {why}")]
    NotACard {
        /// What it is, or what it lacks.
        why: String,
    },
    /// It is a zip archive of a card with its pictures.
    #[error("zip archives (.charx) are not supported; export the card as PNG or JSON")]
    Archive,
    /// The picture contains no readable card.
    #[error("the image contains no readable card: {0}")]
    Png(#[from] PngError),
}

impl CardError {
    pub(super) fn not_a_card(why: impl Into<String>) -> CardError {
        CardError::NotACard { why: why.into() }
    }
}

/// Why a PNG picture contains no readable card.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PngError {
    /// It contains neither a `ccv3` nor a `chara` text.
    #[error("it has no ccv3 or chara text{}", after(.notes))]
    NoCard {
        /// Other problems of the picture.
        notes: Vec<String>,
    },
    /// It contains such texts, but none is a card.
    #[error("{}", .notes.join("; "))]
    Unusable {
        /// The problem of each of them.
        notes: Vec<String>,
    },
}

fn after(notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}
