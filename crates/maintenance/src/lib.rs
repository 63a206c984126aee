//! What looks at all formats at once.
//!
//! - [`registry`]: the formats that are compiled in: [`registry::ALL`], [`registry::FOREIGN`], [`registry::find`].
//! - [`check`](mod@check): what is wrong with the files of a directory, and with the sessions among them.
//! - `convert`: sessions of one layout made into another, or into files of other programs; it needs every format.
//! - [`seal`]: chains of hashes over the records of a session, by which later changes are found.
//! - [`sweep`], [`scrub`]: secrets found in files and archives, and taken out of a session and all its copies.
//! - [`retention`]: which sessions need not stay, and which are pinned.
//!
//! The features say which formats are known: `game`, `campaign`, `agents`, `chat` and `external`. It depends on those
//! and on `everturn-session` and `everturn-secrets`; only the front door and the programs are above it.

pub mod registry;

pub mod check;

#[cfg(all(
    feature = "agents",
    feature = "campaign",
    feature = "chat",
    feature = "external",
    feature = "game"
))]
pub mod convert;

pub mod seal;

pub mod sweep;

pub mod scrub;

pub mod retention;
