//! Operations on sessions of every format.
//!
//! Most operations take a store, a [`SessionFormat`](everturn_session::format::SessionFormat) and a
//! [`SessionRef`](everturn_session::model::SessionRef). [`check::check_path`] reports to a [`check::FindingSink`], and
//! [`scan_files::scan_files`] to a [`scan_files::SecretSink`]. A [`scrub::ScrubReport`] and a
//! [`retention::RetentionPlan`] describe changes before they are applied.
//!
//! - [`registry`]: the formats that are compiled in: [`registry::ALL`], [`registry::EXTERNAL`], [`registry::find`].
//! - [`check`](mod@check): checks the files of a directory and the sessions among them.
//! - `convert`: converts sessions to another format or to files of other programs; it needs every format.
//! - [`copy`]: copies all files of a root to another root, and compares them.
//! - [`seal`]: hash chains over the records of a session, which reveal later changes.
//! - [`scan_files`], [`scrub`]: find secrets in files and archives, and remove them from a session and all its copies.
//! - [`retention`]: which sessions have expired, and which are pinned.
//!
//! Features select the formats: `game`, `campaign`, `agents`, `chat` and `external`. The crate depends on those
//! formats, on `everturn-session` and on `everturn-secrets`. Only the front door and the programs are above it.

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

pub mod copy;

pub mod seal;

pub mod scan_files;

pub mod scrub;

pub mod retention;
