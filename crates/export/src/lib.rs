//! Exports sessions as text, Markdown, HTML, PDF, EPUB and JSON.
//!
//! `session -> outline and pieces (options applied, secrets masked) -> format -> sink`
//!
//! A program that has a session open calls [`export`](ExportSession::export) of the trait [`ExportSession`]. An [`Export`]
//! gives more control: it reads a session with [`ExportOptions`], masks secrets with a [`SecretMask`], writes the session in an
//! [`ExportFormat`], and returns an [`ExportReport`].
//!
//! The modules, in reading order:
//!
//! - [`options`]: which parts of a session are exported, in which format and style.
//! - [`mask`]: secrets and their placeholders.
//! - [`controls`]: makes control characters visible.
//! - [`columns`]: wraps text to a given width.
//! - [`piece`]: the parts of a session that a format writes.
//! - [`picture`]: pictures in messages.
//! - `facts`: the metadata of the title page.
//! - `source`: a session as an outline, and as pieces read one by one.
//! - `output`, `error`: what the formats share when they write, and how an export fails.
//! - `text`, `markdown`, `html`, `pdf`, `epub`, `json`, `template`: the formats, one file each.
//! - [`mod@export`], `session_export`: runs an export; of a session that a program has open.
//!
//! The crate reads only the common model, so every format can be exported. No format holds more than one turn in
//! memory, except PDF and EPUB, which keep their pages until the end, and custom templates that collect entries themselves.

pub mod options;

pub mod mask;

pub mod controls;

pub mod columns;

pub mod piece;

pub mod picture;

mod facts;

mod source;

mod error;
mod output;

mod text;

mod markdown;

mod html;

mod pdf;

mod epub;

mod json;

mod template;

pub mod export;
mod session_export;

pub use error::ExportError;
pub use everturn_typeset::{FontSources, Options as Pages, PaperSize};
pub use export::{Export, ExportReport};
pub use mask::{MaskedText, SecretMask, mask_json};
pub use options::{ExportFormat, ExportOptions, ExportPart, ExportStyle};
pub use output::ExportProgress;
pub use picture::PictureFiles;
pub use session_export::ExportSession;
