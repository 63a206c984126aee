//! [`NativeThread`]: a thread of an agent framework.

use std::sync::Arc;

use everturn_bindings::{RequestError, ThreadBinding};
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use crate::errors::raise;
use crate::from_python::to_json;
use crate::to_python::to_python;

/// A thread; `everturn.Thread` is its interface.
#[pyclass(frozen, module = "everturn._everturn")]
pub(crate) struct NativeThread {
    pub(crate) thread: Arc<ThreadBinding>,
}

fn texts(records: &[Bound<'_, PyAny>]) -> PyResult<Vec<String>> {
    records.iter().map(to_json).collect()
}

fn value<'py>(py: Python<'py>, text: Result<String, RequestError>) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &text.map_err(|error| raise(&error))?)
}

fn optional<'py>(
    py: Python<'py>,
    text: Result<Option<String>, RequestError>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    text.map_err(|error| raise(&error))?.map(|text| to_python(py, &text)).transpose()
}

#[pymethods]
impl NativeThread {
    fn append(
        &self,
        py: Python<'_>,
        header: &Bound<'_, PyAny>,
        records: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (header, records) = (to_json(header)?, texts(&records)?);
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        py.detach(|| self.thread.append(&header, &records)).map_err(|error| raise(&error))
    }

    fn exists(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.thread.exists()).map_err(|error| raise(&error))
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let items = py.detach(|| self.thread.items());
        value(py, items)
    }

    fn checkpoints<'py>(
        &self,
        py: Python<'py>,
        namespace: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.thread.checkpoints(namespace));
        value(py, found)
    }

    fn checkpoint<'py>(
        &self,
        py: Python<'py>,
        namespace: &str,
        id: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = py.detach(|| self.thread.checkpoint(namespace, id));
        optional(py, found)
    }

    fn missing_versions(
        &self,
        py: Python<'_>,
        namespace: &str,
        versions: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<String>> {
        let versions = to_json(versions)?;
        py.detach(|| self.thread.missing_versions(namespace, &versions))
            .map_err(|error| raise(&error))
    }

    fn remove_checkpoints(&self, py: Python<'_>, remove: Vec<(String, String)>) -> PyResult<usize> {
        py.detach(|| self.thread.remove_checkpoints(&remove)).map_err(|error| raise(&error))
    }

    fn replace_items<'py>(
        &self,
        py: Python<'py>,
        keep: usize,
        records: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let records = texts(&records)?;
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let removed = py.detach(|| self.thread.replace_items(keep, &records));
        value(py, removed)
    }

    fn clear_items(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.thread.clear_items()).map_err(|error| raise(&error))
    }

    fn pop_item<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let item = py.detach(|| self.thread.pop_item());
        optional(py, item)
    }

    fn copy_to(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        py.detach(|| self.thread.copy_to(key)).map_err(|error| raise(&error))
    }

    fn trash(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.thread.trash()).map_err(|error| raise(&error))
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.thread.release()).map_err(|error| raise(&error))
    }
}
