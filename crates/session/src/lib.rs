//! What the formats of sessions have in common.
//!
//! A [`layout::Layout`] finds its sessions in a store. It opens them as a [`layout::Reader`] or a [`layout::Editor`], and
//! shows them in the types of [`view`]: a [`view::Summary`], [`view::Entry`]s and [`view::State`]s.
//!
//! - [`view`]: sessions, entries, changes and states as every layout shows them.
//! - [`layout`]: the traits of a format, and one error.
//! - [`watch`]: what a check reports while it is running.
//! - [`repairs`]: changes of sessions that keep every original, and can be taken back.
//! - [`trash`], [`belongings`], [`marks`], [`quarantine`]: the trash, all files of a session, marks of turns, what left
//!   files.
//! - [`staging`], [`shelf`], [`shelved`]: directories that are built unseen, archives, sessions in archives opened in
//!   memory.
//!
//! It depends on `everturn-store`, `everturn-archive` and `everturn-value`. It knows no format.

pub mod view;

pub mod layout;

pub mod watch;

pub mod repairs;

pub mod trash;

pub mod belongings;

pub mod marks;

pub mod quarantine;

pub mod staging;

pub mod shelf;

pub mod shelved;
