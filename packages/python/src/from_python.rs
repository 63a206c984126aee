//! Python values as JSON text. There is no recursion, so deep values cannot overflow the stack.

use std::fmt::Write;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::{Bound, PyAny, PyAnyMethods, PyDictMethods, PyErr, PyResult};
use pyo3::types::{
    PyBool, PyDict, PyFloat, PyInt, PyIterator, PyList, PyString, PyStringMethods, PyTuple,
    PyTypeMethods,
};

/// A container whose elements are being written.
struct Open<'py> {
    elements: Bound<'py, PyIterator>,
    /// The dict itself, if it is one; its elements are then pairs.
    is_dict: bool,
    is_empty: bool,
}

/// The most containers inside each other; a value that contains itself has more.
const MAX_DEPTH: usize = 10_000;

/// The JSON text of a value made of dicts with text keys, lists, tuples, texts, numbers, booleans and `None`.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut text = String::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    if let Some(container) = write(&mut text, value)? {
        open.push(container);
    }
    while let Some(container) = open.last_mut() {
        let Some(element) = container.elements.next().transpose()? else {
            text.push(if container.is_dict { '}' } else { ']' });
            open.pop();
            continue;
        };
        if !container.is_empty {
            text.push(',');
        }
        container.is_empty = false;
        let value = if container.is_dict {
            let key = element.get_item(0)?;
            let Ok(key) = key.cast::<PyString>() else {
                let what = format!("a key must be a str, not {}", key.get_type().name()?);
                return Err(PyTypeError::new_err(what));
            };
            write_text(&mut text, key)?;
            text.push(':');
            element.get_item(1)?
        } else {
            element
        };
        if let Some(inner) = write(&mut text, &value)? {
            if open.len() >= MAX_DEPTH {
                return Err(PyValueError::new_err("the value is nested too deeply"));
            }
            open.push(inner);
        }
    }
    Ok(text)
}

/// Writes a scalar, or the start of a container, which is returned.
fn write<'py>(text: &mut String, value: &Bound<'py, PyAny>) -> PyResult<Option<Open<'py>>> {
    if let Ok(string) = value.cast::<PyString>() {
        write_text(text, string)?;
    } else if value.is_none() {
        text.push_str("null");
    } else if value.is_instance_of::<PyBool>() {
        text.push_str(if value.is_truthy()? { "true" } else { "false" });
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(number) => write!(text, "{number}").map_err(|_| failed())?,
            Err(_) => text.push_str(&int_text(value)?),
        }
    } else if let Ok(number) = value.cast::<PyFloat>() {
        let number: f64 = number.extract()?;
        if !number.is_finite() {
            return Err(PyValueError::new_err(format!("{number} cannot be stored as JSON")));
        }
        text.push_str(&serde_json::to_string(&number).map_err(|_| failed())?);
    } else if let Ok(dict) = value.cast::<PyDict>() {
        text.push('{');
        // A list of the pairs, because the dict may change while another thread runs.
        let elements = dict.items().try_iter()?;
        return Ok(Some(Open { elements, is_dict: true, is_empty: true }));
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        text.push('[');
        return Ok(Some(Open { elements: value.try_iter()?, is_dict: false, is_empty: true }));
    } else {
        let what = format!("a {} cannot be stored as JSON", value.get_type().name()?);
        return Err(PyTypeError::new_err(what));
    }
    Ok(None)
}

/// The digits of an integer of any size, also of a subclass that prints itself otherwise.
fn int_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let int = value.py().get_type::<PyInt>();
    int.call_method1("__repr__", (value,))?.extract()
}

fn write_text(text: &mut String, value: &Bound<'_, PyString>) -> PyResult<()> {
    let value = value.to_cow()?;
    text.push_str(&serde_json::to_string(value.as_ref()).map_err(|_| failed())?);
    Ok(())
}

fn failed() -> PyErr {
    PyValueError::new_err("the value cannot be written as JSON")
}
