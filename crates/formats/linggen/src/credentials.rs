//! The keys of model providers: `credentials.json`, by the ids of the models, which only its owner may read.

use everturn_secrets::vault::VaultFormat;

/// What the file looks like: `{"model": {"api_key": "…"}}`.
pub const CREDENTIALS: VaultFormat = VaultFormat {
    file: "credentials.json",
    version: None,
    entries: None,
    fixed: &[],
    secret: "api_key",
};

/// The variable that holds the key of a model, if nothing else does.
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
