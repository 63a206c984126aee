//! Runs work that waits for locks and the disk, without blocking the event loop.

use everturn_bindings::{ErrorCode, RequestError};
use napi::bindgen_prelude::{Result, spawn_blocking};

use crate::errors::raise;

/// Runs work in a thread, and returns what it returns.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::result::Result<T, RequestError> + Send + 'static,
) -> Result<T> {
    match spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| raise(&error)),
        Err(failed) => Err(raise(&RequestError::new(ErrorCode::Damaged, failed.to_string()))),
    }
}
