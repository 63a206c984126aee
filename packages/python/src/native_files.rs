//! [`NativeFiles`]: atomic commits of plain files.

use std::sync::Arc;

use everturn_bindings::{FileChange, FilesBinding};
use pyo3::prelude::{PyResult, Python, pyclass, pymethods};

use crate::errors::raise;

/// Files below a directory; `everturn.Files` is its interface.
#[pyclass(frozen, module = "everturn._everturn")]
pub(crate) struct NativeFiles {
    pub(crate) files: Arc<FilesBinding>,
}

#[pymethods]
impl NativeFiles {
    fn read(&self, py: Python<'_>, file: &str) -> PyResult<Option<String>> {
        py.detach(|| self.files.read(file)).map_err(|error| raise(&error))
    }

    fn list(&self, py: Python<'_>, dir: &str) -> PyResult<Vec<String>> {
        py.detach(|| self.files.list(dir)).map_err(|error| raise(&error))
    }

    /// Appends `(file, lines)`, replaces `(file, expected, text)` and removes paths, all or nothing.
    fn commit(
        &self,
        py: Python<'_>,
        appends: Vec<(String, String)>,
        replaces: Vec<(String, Option<String>, String)>,
        removes: Vec<String>,
    ) -> PyResult<()> {
        let appends = appends.into_iter().map(|(file, lines)| FileChange::Append { file, lines });
        let replaces = replaces.into_iter().map(|(file, expected, text)| FileChange::Replace {
            file,
            expected,
            text,
        });
        let removes = removes.into_iter().map(|path| FileChange::Remove { path });
        let changes: Vec<FileChange> = appends.chain(replaces).chain(removes).collect();
        py.detach(|| self.files.commit(&changes)).map_err(|error| raise(&error))
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.files.release()).map_err(|error| raise(&error))
    }
}
