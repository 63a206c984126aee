//! [`NativeFiles`]: atomic commits of plain files.

use std::sync::Arc;

use everturn_bindings::{FileChange, FilesBinding};
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::blocking::blocking;

/// Files below a directory.
#[napi]
pub struct NativeFiles {
    pub(crate) files: Arc<FilesBinding>,
}

/// One change of a file: `append`, `replace` or `remove`.
#[napi(object)]
pub struct NativeChange {
    /// What to do.
    pub kind: String,
    /// The file below the root.
    pub file: String,
    /// The lines to append, or the new content.
    pub text: Option<String>,
    /// The content that is replaced; if it is missing, the file must not exist.
    pub expected: Option<String>,
}

impl From<NativeChange> for FileChange {
    fn from(change: NativeChange) -> FileChange {
        let NativeChange { kind, file, text, expected } = change;
        match kind.as_str() {
            "append" => FileChange::Append { file, lines: text.unwrap_or_default() },
            "replace" => FileChange::Replace { file, expected, text: text.unwrap_or_default() },
            _ => FileChange::Remove { path: file },
        }
    }
}

#[napi]
impl NativeFiles {
    /// The content of a file.
    #[napi]
    pub async fn read(&self, file: String) -> Result<Option<String>> {
        let files = Arc::clone(&self.files);
        blocking(move || files.read(&file)).await
    }

    /// The names in a directory.
    #[napi]
    pub async fn list(&self, dir: String) -> Result<Vec<String>> {
        let files = Arc::clone(&self.files);
        blocking(move || files.list(&dir)).await
    }

    /// Applies all changes, or none of them.
    #[napi]
    pub async fn commit(&self, changes: Vec<NativeChange>) -> Result<()> {
        let files = Arc::clone(&self.files);
        let changes: Vec<FileChange> = changes.into_iter().map(FileChange::from).collect();
        blocking(move || files.commit(&changes)).await
    }

    /// Releases the lock.
    #[napi]
    pub async fn release(&self) -> Result<()> {
        let files = Arc::clone(&self.files);
        blocking(move || files.release()).await
    }
}
