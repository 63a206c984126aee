//! Sessions as files that people want to keep: text, Markdown, HTML, PDF and JSON.
//!
//! `session -> outline and pieces (choices made, secrets masked) -> a format -> sink`
//!
//! The modules, in reading order:
//!
//! - [`choices`]: what of a session is exported, in which format and style.
//! - [`mask`]: secrets, and what stands in their place.
//! - [`visible`]: characters that would do something are shown instead.
//! - [`columns`]: text in lines of a given width.
//! - [`piece`]: what a session consists of, for whoever writes it down.
//! - `source`: a session as an outline, and as pieces that are read one by one.
//! - `text`, `markdown`, `html`, `pdf`, `json`, `template`: the formats, one file each.
//! - [`export`]: all of it put together.
//!
//! It reads through the common view alone, so that every layout can be exported. Apart from custom templates that
//! collect things themselves and PDF, whose pages are kept until it is done, no format holds more than one turn in
//! memory.

pub mod choices;

pub mod mask;

pub mod visible;

pub mod columns;

pub mod piece;

mod facts;

mod source;

mod text;

mod markdown;

mod html;

mod pdf;

mod json;

mod template;

pub mod export;

pub use choices::{Choices, Format, Part, Style};
pub use everturn_typeset::{Fonts, Options as Pages, Paper};
pub use export::{Export, ExportError, Progress, Report};
pub use mask::{Mask, Masked};
