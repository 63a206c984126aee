//! The basis of all session formats: the common model, the traits of a format, and operations on session files.
//!
//! A [`format::SessionFormat`] finds its sessions in a store and opens them as a [`format::SessionReader`]. Its
//! [`format::Capabilities`] say what else it offers, such as a [`format::SessionEditor`]. Sessions are shown in the
//! types of [`model`]: a [`model::SessionSummary`], [`model::Entry`] values and a [`model::SessionState`].
//!
//! - [`model`]: sessions, entries, changes and states, common to all formats.
//! - [`mod@format`]: the traits of a format, its capabilities, and [`format::SessionError`].
//! - [`record_file`]: the records of a JSONL file, forwards, backwards or from an offset.
//! - [`finding_sink`]: receives findings while a check runs.
//! - [`repair`]: changes that keep every original and can be undone.
//! - [`trash`], [`session_files`], [`marks`], [`keys`], [`quarantine`]: the trash, all files of a session, marks of
//!   turns, idempotency keys, displaced bytes.
//! - [`staging`], [`archiver`]: directories built out of sight, archives.
//!
//! It depends on `everturn-store`, `everturn-archive` and `everturn-value`, and on no format.

pub mod model;

pub mod format;

pub mod record_file;

pub mod finding_sink;

pub mod repair;

pub mod trash;

pub mod session_files;

pub mod marks;

pub mod keys;

pub mod quarantine;

pub mod staging;

pub mod archiver;
