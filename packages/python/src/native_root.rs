//! [`NativeRoot`]: a directory of sessions.

use std::path::PathBuf;
use std::time::Duration;

use everturn_bindings::{ErrorCode, OpenMode, RequestError, RootBinding};
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use crate::errors::raise;
use crate::from_python::to_json;
use crate::native_files::NativeFiles;
use crate::native_session::NativeSession;
use crate::native_thread::NativeThread;
use crate::to_python::to_python;

/// A root; `everturn.Root` is its interface.
#[pyclass(frozen, module = "everturn._everturn")]
pub(crate) struct NativeRoot {
    root: RootBinding,
}

#[pymethods]
impl NativeRoot {
    #[new]
    fn new(py: Python<'_>, path: PathBuf, mode: &str, wait: f64) -> PyResult<NativeRoot> {
        let mode = match mode {
            "open" => OpenMode::Open,
            "create" => OpenMode::Create,
            _ => OpenMode::ReadOnly,
        };
        let bad = |_| {
            raise(&RequestError::new(ErrorCode::BadRequest, "wait must be a number of seconds"))
        };
        let wait = Duration::try_from_secs_f64(wait).map_err(bad)?;
        let root = py.detach(|| RootBinding::open(&path, mode)).map_err(|error| raise(&error))?;
        Ok(NativeRoot { root: root.waiting(wait) })
    }

    #[getter]
    fn path(&self) -> &str {
        self.root.path()
    }

    fn sessions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.root.sessions());
        to_python(py, &found.map_err(|error| raise(&error))?)
    }

    fn search<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.root.search(query, limit));
        to_python(py, &found.map_err(|error| raise(&error))?)
    }

    fn open_session(
        &self,
        py: Python<'_>,
        name: &str,
        format: Option<&str>,
    ) -> PyResult<NativeSession> {
        let session = py.detach(|| self.root.open_session(name, format));
        Ok(NativeSession { session: session.map_err(|error| raise(&error))? })
    }

    fn create_session(
        &self,
        py: Python<'_>,
        format: &str,
        id: &str,
        title: Option<&str>,
        fields: &Bound<'_, PyAny>,
    ) -> PyResult<NativeSession> {
        let fields = to_json(fields)?;
        let session = py.detach(|| self.root.create_session(format, id, title, &fields));
        Ok(NativeSession { session: session.map_err(|error| raise(&error))? })
    }

    fn trash(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        py.detach(|| self.root.trash(name)).map_err(|error| raise(&error))
    }

    fn restore(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        py.detach(|| self.root.restore(name)).map_err(|error| raise(&error))
    }

    fn thread(&self, py: Python<'_>, key: &str) -> PyResult<NativeThread> {
        let thread = py.detach(|| self.root.thread(key));
        Ok(NativeThread { thread: thread.map_err(|error| raise(&error))? })
    }

    fn thread_keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.root.thread_keys()).map_err(|error| raise(&error))
    }

    fn files(&self, py: Python<'_>, dir: &str) -> PyResult<NativeFiles> {
        let files = py.detach(|| self.root.files(dir));
        Ok(NativeFiles { files: files.map_err(|error| raise(&error))? })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.root.close()).map_err(|error| raise(&error))
    }
}
