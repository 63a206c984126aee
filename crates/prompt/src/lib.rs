//! What is put before a language model, and what it wrote made safe to show.
//!
//! - [`tokens`]: how many tokens a text costs, by a vocabulary that is part of the program.
//! - [`lorebook`]: a [`lorebook::Lorebook`] is knowledge that turns up when the talk comes to it.
//! - [`card`]: a [`card::Card`] is a character, as JSON or in a PNG picture.
//! - [`context`]: a [`context::Window`] and a [`context::Conversation`] make a [`context::Selection`]: what fits, and
//!   why the rest does not.
//! - [`markup`]: Markdown as HTML, and HTML that is safe to show.
//!
//! It depends on `everturn-json` and `everturn-value`, and knows nothing of sessions or files.

pub mod tokens;

pub mod lorebook;

pub mod card;

pub mod context;

pub mod markup;
