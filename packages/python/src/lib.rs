//! The native module `everturn._everturn`. The Python files in `python/everturn` are the interface of the package.
//!
//! - `from_python`, `to_python`: values without a detour through Python's `json`. `errors`: exceptions by kind.
//! - `native_root`, `native_session`, `native_thread`, `native_files`: the classes. Each call releases the interpreter
//!   lock while it waits for locks and the disk.

mod errors;
mod from_python;
mod native_files;
mod native_root;
mod native_session;
mod native_thread;
mod to_python;

use pyo3::prelude::{Bound, PyModule, PyModuleMethods, PyResult, pymodule};

/// The native module.
#[pymodule]
fn _everturn(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<native_root::NativeRoot>()?;
    module.add_class::<native_session::NativeSession>()?;
    module.add_class::<native_thread::NativeThread>()?;
    module.add_class::<native_files::NativeFiles>()?;
    Ok(())
}
