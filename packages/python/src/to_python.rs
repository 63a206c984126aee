//! JSON text as Python values. There is no recursion, so deep values cannot overflow the stack.

use everturn_json::json::{Container, Scanner, TokenVisitor};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::{Bound, PyAny, PyAnyMethods, PyErr, PyResult, Python};
use pyo3::types::{PyDict, PyDictMethods, PyFloat, PyInt, PyList, PyListMethods, PyNone, PyString};

enum Filled<'py> {
    Dict(Bound<'py, PyDict>),
    List(Bound<'py, PyList>),
}

struct Builder<'py, 't> {
    py: Python<'py>,
    text: &'t str,
    open: Vec<(Filled<'py>, Option<Bound<'py, PyAny>>)>,
    result: Option<Bound<'py, PyAny>>,
    failed: Option<PyErr>,
}

impl<'py> Builder<'py, '_> {
    fn slice(&self, start: u64, end: u64) -> &str {
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        range.and_then(|(start, end)| self.text.get(start..end)).unwrap_or_default()
    }

    fn scalar_value(&self, text: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        match text.as_bytes().first() {
            Some(b'"') => Ok(self.string(text)?.into_any()),
            Some(b't') => true.into_bound_py_any(py),
            Some(b'f') => false.into_bound_py_any(py),
            Some(b'n') => Ok(PyNone::get(py).to_owned().into_any()),
            _ if text.contains(['.', 'e', 'E']) => {
                let number: f64 = text.parse().map_err(|_| bad(text))?;
                Ok(PyFloat::new(py, number).into_any())
            }
            _ => match text.parse::<i64>() {
                Ok(number) => number.into_bound_py_any(py),
                Err(_) => py.get_type::<PyInt>().call1((text,)),
            },
        }
    }

    /// A text. A lone surrogate, which only Python and JavaScript know, is decoded by Python.
    fn string(&self, text: &str) -> PyResult<Bound<'py, PyString>> {
        if let Some(inner) = text.get(1..text.len().saturating_sub(1)).filter(|t| !t.contains('\\'))
        {
            return Ok(PyString::new(self.py, inner));
        }
        match serde_json::from_str::<String>(text) {
            Ok(string) => Ok(PyString::new(self.py, &string)),
            Err(_) => Ok(self.py.import("json")?.call_method1("loads", (text,))?.cast_into()?),
        }
    }

    fn add(&mut self, value: PyResult<Bound<'py, PyAny>>) {
        let added = value.and_then(|value| match self.open.last_mut() {
            None => {
                self.result = Some(value);
                Ok(())
            }
            Some((Filled::List(list), _)) => list.append(value),
            Some((Filled::Dict(dict), key)) => {
                let key = key.take().ok_or_else(|| bad("a value without a key"))?;
                dict.set_item(key, value)
            }
        });
        if let Err(error) = added {
            self.failed.get_or_insert(error);
        }
    }
}

impl TokenVisitor for Builder<'_, '_> {
    fn container_opened(&mut self, container: Container, _start: u64) {
        let filled = match container {
            Container::Object => Filled::Dict(PyDict::new(self.py)),
            Container::Array => Filled::List(PyList::empty(self.py)),
        };
        self.open.push((filled, None));
    }

    fn container_closed(&mut self, _end: u64) {
        let value = match self.open.pop() {
            Some((Filled::Dict(dict), _)) => Ok(dict.into_any()),
            Some((Filled::List(list), _)) => Ok(list.into_any()),
            None => Err(bad("a closing bracket")),
        };
        self.add(value);
    }

    fn key(&mut self, start: u64, end: u64) {
        match self.string(self.slice(start, end)) {
            Ok(key) => {
                if let Some((_, place)) = self.open.last_mut() {
                    *place = Some(key.into_any());
                }
            }
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
    }

    fn scalar(&mut self, start: u64, end: u64) {
        let value = self.scalar_value(self.slice(start, end));
        self.add(value);
    }
}

fn bad(what: &str) -> PyErr {
    PyValueError::new_err(format!("not JSON: {what}"))
}

/// The Python value of JSON text.
pub(crate) fn to_python<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Builder { py, text, open: Vec::new(), result: None, failed: None };
    let mut scanner = Scanner::new();
    // The newline ends a number.
    let fed = scanner.feed_with(text.as_bytes(), &mut builder);
    let fed = fed.and_then(|_| scanner.feed_with(b"\n", &mut builder));
    fed.map_err(|error| PyValueError::new_err(error.to_string()))?;
    match (builder.failed, builder.result) {
        (Some(error), _) => Err(error),
        (None, Some(value)) => Ok(value),
        (None, None) => Err(bad("the text is incomplete")),
    }
}
