//! The keys of model providers: `credentials.json`, by model id, readable only by its owner.

use everturn_secrets::vault::VaultFormat;

/// The format of the file: `{"model": {"api_key": "…"}}`.
pub const CREDENTIALS: VaultFormat = VaultFormat {
    file: "credentials.json",
    version: None,
    entries: None,
    fixed: &[],
    secret: "api_key",
};

/// The environment variable with the key of a model, used if there is no other key.
///
/// ```
/// use everturn_linggen::key_variable;
///
/// assert_eq!(key_variable("gemini-flash"), "LINGGEN_API_KEY_GEMINI_FLASH");
/// ```
#[must_use]
pub fn key_variable(model: &str) -> String {
    format!("LINGGEN_API_KEY_{}", model.to_uppercase().replace('-', "_"))
}
