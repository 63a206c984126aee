//! The keys of model providers: `credentials.json`, which only its owner may read.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::error::LinggenError;
use super::stored::Stored;
use crate::document::Segment;
use crate::names::FilePath;
use crate::store::{Durability, Secrecy, Store};

/// A key. It is shown to nobody by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key that somebody has given.
    #[must_use]
    pub fn new(key: &str) -> ApiKey {
        ApiKey(key.to_owned())
    }

    /// The key itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

/// The file of keys.
#[must_use]
pub fn credentials_file() -> FilePath {
    FilePath::root().below("credentials.json")
}

/// The variable that holds the key of a model, if nothing else does.
///
/// ```
/// use everturn::linggen::key_variable;
///
/// assert_eq!(key_variable("gemini-flash"), "LINGGEN_API_KEY_GEMINI_FLASH");
/// ```
#[must_use]
pub fn key_variable(model: &str) -> String {
    format!("LINGGEN_API_KEY_{}", model.to_uppercase().replace('-', "_"))
}

/// The keys that are stored, by the ids of their models, in the order of the file.
pub fn credentials(store: &Arc<dyn Store>) -> Result<Vec<(String, Option<ApiKey>)>, LinggenError> {
    let Some(stored) = Stored::read(store, &credentials_file())? else { return Ok(Vec::new()) };
    let Value::Object(models) = stored.value()? else {
        return Err(LinggenError::damaged(&stored.file, "it is not an object"));
    };
    let key = |value: &Value| value.get("api_key").and_then(Value::as_str).map(ApiKey::new);
    Ok(models.iter().map(|(model, value)| (model.clone(), key(value))).collect())
}

/// Stores a key. Other keys, and other fields, stay as they are.
pub fn set_credential(
    store: &Arc<dyn Store>,
    model: &str,
    key: &ApiKey,
) -> Result<(), LinggenError> {
    if model.trim().is_empty() || key.reveal().trim().is_empty() {
        return Err(LinggenError::input("a key needs a model and must not be empty"));
    }
    let writer = store.lock(&[credentials_file()])?;
    let mut stored = Stored::read_or_new(store, &credentials_file())?;
    stored.edit().set(&[Segment::Key(model), Segment::Key("api_key")], key.reveal())?;
    writer.commit(vec![stored.step(Secrecy::Private)], Durability::Synced)?;
    Ok(writer.release()?)
}

/// Forgets the key of a model. Tells whether there was one.
pub fn remove_credential(store: &Arc<dyn Store>, model: &str) -> Result<bool, LinggenError> {
    let writer = store.lock(&[credentials_file()])?;
    let mut removed = false;
    if let Some(mut stored) = Stored::read(store, &credentials_file())? {
        removed = stored.edit().remove(&[Segment::Key(model)])?;
        if removed {
            writer.commit(vec![stored.step(Secrecy::Private)], Durability::Synced)?;
        }
    }
    writer.release()?;
    Ok(removed)
}
