//! [`NativeSession`]: a session of any format.

use everturn_bindings::SessionBinding;
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyclass, pymethods};

use crate::errors::raise;
use crate::from_python::to_json;
use crate::to_python::to_python;

/// A session; `everturn.Session` is its interface.
#[pyclass(frozen, module = "everturn._everturn")]
pub(crate) struct NativeSession {
    pub(crate) session: SessionBinding,
}

#[pymethods]
impl NativeSession {
    #[getter]
    fn id(&self) -> &str {
        self.session.id()
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.session.format()
    }

    /// Serves a request of the protocol.
    fn request<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        fields: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = to_json(fields)?;
        let answer = py.detach(|| self.session.request(name, &fields));
        to_python(py, &answer.map_err(|error| raise(&error))?)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.session.close()).map_err(|error| raise(&error))
    }
}
