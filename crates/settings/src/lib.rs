//! The home directories and settings of programs.
//!
//! - [`home`]: the [`home::HomeDirs`] of a program, derived from an environment that the caller passes in.
//! - [`config`]: a [`config::Config`] merges several [`config::ConfigLayer`]s by a [`config::ConfigSchema`] and says
//!   which layer a value comes from.
//!
//! It depends on `everturn-json` and `everturn-value`. It reads neither files nor the environment.

pub mod home;

pub mod config;
