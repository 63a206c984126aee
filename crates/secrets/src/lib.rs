//! Keys, tokens and passwords.
//!
//! - [`secrets`]: a [`secrets::Vault`] keeps them in a file for their owner alone, as [`secrets::Secret`]s that are
//!   never shown.
//! - [`scan`]: [`scan::Rules`] find them in text, and put placeholders in their places.
//!
//! It depends on `everturn-store` for the files, and knows nothing of sessions; searching and redacting whole sessions is
//! in `everturn-maintenance`.

pub mod secrets;

pub mod scan;
