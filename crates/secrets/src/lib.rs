//! Keys, tokens and passwords.
//!
//! - [`vault`]: a [`vault::Vault`] stores them in a file that only its owner can read, as [`vault::Secret`] values that
//!   are never printed.
//! - [`scan`]: [`scan::SecretRules`] find them in text and replace them with placeholders.
//!
//! It depends on `everturn-store` for files and knows nothing of sessions. Scanning and redacting whole sessions is in
//! `everturn-maintenance`.

pub mod vault;

pub mod scan;
