//! Stores keys and tokens in owner-only files, and never shows them.
//!
//! A [`Vault`] is such a file; its [`VaultFormat`] defines its form, so that the files of different programs are read
//! and written by the same code. Values are [`Secret`]s, which no message, list or log shows.

mod setting_mask;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use thiserror::Error;

use everturn_json::names::{FilePath, NameError};
use everturn_store::read_optional;
use everturn_store::{Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError};
use everturn_value::document::{Document, EditError, JsonStyle, PathSegment};
use everturn_value::tree::{JsonTree, ValueKind};

pub use setting_mask::mask_setting;

/// A key or a token. It is printed as a mask.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// The number of characters at the end of a long secret that are shown, so that its owner recognises it.
const SHOWN: usize = 4;

/// The minimum length of a secret for that.
const LONG: usize = 20;

impl Secret {
    /// Parses a secret as typed: surrounding white space is removed.
    ///
    /// ```
    /// use everturn_secrets::vault::Secret;
    ///
    /// let secret = Secret::parse("sk-0123456789abcdefghij\n")?;
    /// assert_eq!(format!("{secret} {secret:?}"), "***ghij ***ghij");
    /// assert_eq!(Secret::parse("hunter2")?.to_string(), "***");
    /// assert!(Secret::parse("***ghij").is_err());
    /// # Ok::<(), everturn_secrets::vault::SecretsError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Secret, SecretsError> {
        let text = text.trim();
        let refused = |reason| Err(SecretsError::Refused { reason });
        match text {
            "" => refused("it is empty"),
            _ if text.contains(char::is_control) => {
                refused("it has more than one line, or control characters")
            }
            _ if text.starts_with("***") => refused("it is the masked form of a secret"),
            _ => Ok(Secret(text.to_owned())),
        }
    }

    /// The secret itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")?;
        let count = self.0.chars().count();
        if count < LONG {
            return Ok(());
        }
        f.write_str(&self.0.chars().skip(count - SHOWN).collect::<String>())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why secrets could not be read or stored. No variant ever contains a secret.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The input is not a valid secret.
    #[error("the secret cannot be used: {reason}")]
    Refused {
        /// The reason.
        reason: &'static str,
    },
    /// The ID is invalid.
    #[error("{id:?} is not a valid secret name")]
    BadId {
        /// The ID.
        id: String,
    },
    /// The file is invalid. It is not changed.
    #[error("{file} cannot be used: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// The problem, without any content of the file.
        reason: String,
    },
}

/// The form of a file of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VaultFormat {
    /// Its name.
    pub file: &'static str,
    /// Its version, if it has one.
    pub version: Option<u64>,
    /// The key of the entries; without one, the file itself is the entries.
    pub entries: Option<&'static str>,
    /// The fields of an entry besides its secret.
    pub fixed: &'static [(&'static str, &'static str)],
    /// The field of an entry that contains its secret.
    pub secret: &'static str,
}

/// The format of Everturn's own file.
pub const EVERTURN: VaultFormat = VaultFormat {
    file: "auth.json",
    version: Some(1),
    entries: Some("providers"),
    fixed: &[("method", "api_key")],
    secret: "api_key",
};

/// One secret of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultEntry {
    /// The ID of the secret, such as a provider.
    pub id: String,
    /// How it is used, such as `api_key` or `oauth`; the name of its field, if the file does not contain it.
    pub method: String,
    /// The secret; `None` if the entry has none, or none in a known field.
    pub secret: Option<Secret>,
}

/// A file of secrets.
pub struct Vault {
    store: Arc<dyn Store>,
    shape: VaultFormat,
    file: FilePath,
}

/// Other fields that contain tokens.
const TOKENS: [&[&str]; 2] = [&["oauth", "access_token"], &["access_token"]];

impl Vault {
    /// The file of this format at the root of a store.
    pub fn new(store: Arc<dyn Store>, shape: VaultFormat) -> Result<Vault, SecretsError> {
        let file = FilePath::parse(shape.file)?;
        Ok(Vault { store, shape, file })
    }

    /// A file of this format anywhere in a store.
    #[must_use]
    pub fn at(store: Arc<dyn Store>, shape: VaultFormat, file: FilePath) -> Vault {
        Vault { store, shape, file }
    }

    fn damaged(&self, reason: impl Into<String>) -> SecretsError {
        SecretsError::Damaged { file: self.file.clone(), reason: reason.into() }
    }

    /// Whether users other than the owner can read the file.
    pub fn is_readable_by_others(&self) -> Result<bool, SecretsError> {
        let stat = match self.store.stat(&self.file) {
            Err(StoreError::Missing { .. }) => None,
            other => other?,
        };
        Ok(stat.is_some_and(|stat| stat.mode & 0o077 != 0))
    }

    /// Reads the document, which must have the supported version.
    fn read(&self) -> Result<Option<Document>, SecretsError> {
        let Some(bytes) = read_optional(&self.store, &self.file)? else { return Ok(None) };
        let document = Document::parse(&bytes).map_err(|error| self.damaged(error.to_string()))?;
        let tree = self.tree(&document)?;
        if tree.kind() != ValueKind::Object {
            return Err(self.damaged(format!("it is {}, not an object", tree.kind())));
        }
        if let Some(version) = self.shape.version {
            match tree.value_at(&["version"]).map(|found| (found.kind(), found.to_line())) {
                Some((_, found)) if found == version.to_string() => {}
                Some((ValueKind::Number, found)) => {
                    return Err(self.damaged(format!("version is {found}, not {version}")));
                }
                Some((kind, _)) => {
                    return Err(self.damaged(format!("version is {kind}, not {version}")));
                }
                None => return Err(self.damaged("version is missing")),
            }
        }
        if let Some(key) = self.shape.entries
            && let Some(entries) = tree.value_at(&[key])
            && entries.kind() != ValueKind::Object
        {
            return Err(self.damaged(format!("{key} is {}, not an object", entries.kind())));
        }
        Ok(Some(document))
    }

    fn tree(&self, document: &Document) -> Result<JsonTree, SecretsError> {
        let text = document.get(&[]).unwrap_or_default();
        JsonTree::parse(text).map_err(|error| self.damaged(error.to_string()))
    }

    /// All entries, in file order.
    pub fn list(&self) -> Result<Vec<VaultEntry>, SecretsError> {
        let Some(document) = self.read()? else { return Ok(Vec::new()) };
        let tree = self.tree(&document)?;
        let entries = match self.shape.entries {
            Some(key) => tree.value_at(&[key]).unwrap_or_else(JsonTree::object),
            None => tree,
        };
        let entry = |(id, entry): (String, JsonTree)| {
            let own = entry.string_at(&[self.shape.secret]);
            let token = || TOKENS.iter().find_map(|path| entry.string_at(path));
            VaultEntry {
                id,
                method: entry
                    .string_at(&["method"])
                    .unwrap_or_else(|| self.shape.secret.to_owned()),
                secret: own.or_else(token).filter(|text| !text.is_empty()).map(Secret),
            }
        };
        Ok(entries.children().into_iter().map(entry).collect())
    }

    /// The secret with this ID.
    pub fn get(&self, id: &str) -> Result<Option<Secret>, SecretsError> {
        Ok(self.list()?.into_iter().find(|entry| entry.id == id).and_then(|entry| entry.secret))
    }

    fn path<'p>(&self, rest: &[&'p str]) -> Vec<PathSegment<'p>> {
        self.shape.entries.iter().chain(rest).map(|key| PathSegment::Key(key)).collect()
    }

    /// Stores a secret, and replaces the one with the same ID. Everything else in the file is preserved.
    pub fn set(&self, id: &str, secret: &Secret) -> Result<(), SecretsError> {
        if id.trim().is_empty() || id.contains(char::is_control) {
            return Err(SecretsError::BadId { id: id.to_owned() });
        }
        self.change(|document| {
            let fixed = |(key, value): &(&str, &str)| {
                let path = self.path(&[id, key]);
                document.read::<String>(&path).is_ok_and(|found| found.as_deref() == Some(*value))
            };
            let is_alike =
                document.get(&self.path(&[id])).is_some_and(|text| text.starts_with('{'))
                    && self.shape.fixed.iter().all(fixed);
            if is_alike {
                return document
                    .set(&self.path(&[id, self.shape.secret]), secret.reveal())
                    .map(|()| true);
            }
            let mut entry = Map::new();
            for (key, value) in self.shape.fixed {
                entry.insert((*key).to_owned(), Value::from(*value));
            }
            entry.insert(self.shape.secret.to_owned(), Value::from(secret.reveal()));
            document.set(&self.path(&[id]), &entry).map(|()| true)
        })
        .map(drop)
    }

    /// Removes a secret; returns whether there was one.
    pub fn remove(&self, id: &str) -> Result<bool, SecretsError> {
        self.change(|document| document.remove(&self.path(&[id])))
    }

    /// Changes the file in one commit, and makes it owner-only.
    fn change(
        &self,
        edit: impl FnOnce(&mut Document) -> Result<bool, EditError>,
    ) -> Result<bool, SecretsError> {
        let writer = self.store.lock(std::slice::from_ref(&self.file))?;
        let (mut document, expect) = match self.read()? {
            Some(document) => {
                let is = Fingerprint::of(document.text().as_bytes());
                (document, Precondition::Content(is))
            }
            None => {
                let empty = match self.shape.version {
                    Some(version) => json!({"version": version}),
                    None => json!({}),
                };
                let new = Document::new(&empty, JsonStyle::PRETTY_RAW);
                (new.map_err(|_| self.damaged("it cannot be created"))?, Precondition::Absent)
            }
        };
        // The error of the editor may quote values, so it is not passed on.
        let changed =
            edit(&mut document).map_err(|_| self.damaged("its entries are not objects"))?;
        if changed {
            let (file, bytes) = (self.file.clone(), document.into_bytes());
            let step = Step::Replace { file, expect, bytes, mode: FileMode::OwnerOnly };
            writer.commit(vec![step], Durability::Synced)?;
        }
        writer.release()?;
        Ok(changed)
    }
}
