//! Input for language models, and safe display of their output.
//!
//! - [`tokens`]: counts tokens with a built-in vocabulary.
//! - [`lorebook`]: a [`lorebook::Lorebook`] holds entries that are activated by keywords.
//! - [`card`]: a [`card::CharacterCard`] describes a character, as JSON or in a PNG picture.
//! - [`context`]: selects what fits into a context window, and says why the rest does not.
//! - [`markup`]: renders Markdown as HTML and sanitizes HTML.
//!
//! It depends on `everturn-json` and `everturn-value`. It knows nothing of sessions or files.

pub mod tokens;

pub mod lorebook;

pub mod card;

pub mod context;

pub mod markup;
