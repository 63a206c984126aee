//! Errors of Everturn as the exceptions that `everturn._errors` defines, by kind.

use everturn_bindings::{ErrorCode, RequestError};
use pyo3::prelude::{PyAnyMethods, PyErr, PyModule, Python};

/// The name of the exception of an error.
fn exception(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Busy => "Busy",
        ErrorCode::NotFound => "NotFound",
        ErrorCode::Conflict | ErrorCode::Taken => "Conflict",
        ErrorCode::Damaged => "Damaged",
        ErrorCode::Reopen => "Reopen",
        ErrorCode::Io => "IoFailed",
        _ => "BadRequest",
    }
}

/// The Python exception for an error.
pub(crate) fn raise(error: &RequestError) -> PyErr {
    Python::attach(|py| {
        let made = PyModule::import(py, "everturn._errors")
            .and_then(|module| module.getattr(exception(error.code)))
            .and_then(|class| {
                class.call1((
                    error.message.as_str(),
                    error.code.as_str(),
                    error.path.as_deref(),
                    error.hint.as_deref(),
                ))
            });
        match made {
            Ok(exception) => PyErr::from_value(exception),
            Err(failed) => failed,
        }
    })
}
