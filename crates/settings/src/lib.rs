//! Where a program keeps its files, and its settings.
//!
//! - [`home`]: the [`home::Home`] of a program, found from an environment that is given.
//! - [`config`]: a [`config::Config`] merges settings of several [`config::Layer`]s by the table of a
//!   [`config::Schema`], and says which layer a value comes from.
//!
//! It depends on `everturn-json` and `everturn-value`. It reads neither files nor the environment itself.

pub mod home;

pub mod config;
