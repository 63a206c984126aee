//! [`ProcessBound`]: a value that only the process that created it may use.

use std::mem;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use everturn_requests::{ErrorCode, RequestError};

/// A value behind a mutex that a forked child cannot use.
///
/// A child shares the locked files of its parent. If it wrote or released them, the parent would lose its locks, so the
/// child may not even drop the value.
#[derive(Debug)]
pub(crate) struct ProcessBound<T> {
    process: u32,
    value: Mutex<Option<T>>,
}

impl<T> ProcessBound<T> {
    pub(crate) fn new(value: T) -> ProcessBound<T> {
        ProcessBound { process: process::id(), value: Mutex::new(Some(value)) }
    }

    fn guard(&self) -> Result<MutexGuard<'_, Option<T>>, RequestError> {
        if process::id() != self.process {
            let what = "it was opened before this process was forked";
            return Err(RequestError::new(ErrorCode::BadRequest, what)
                .hint("open the root again in the child process"));
        }
        Ok(self.value.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` while no other thread uses the value.
    pub(crate) fn with<R>(
        &self,
        work: impl FnOnce(&mut T) -> Result<R, RequestError>,
    ) -> Result<R, RequestError> {
        let closed = || RequestError::new(ErrorCode::Closed, "it is closed");
        work(self.guard()?.as_mut().ok_or_else(closed)?)
    }

    /// Runs `work`, unless another thread uses the value or it is closed.
    pub(crate) fn try_with(&self, work: impl FnOnce(&mut T)) {
        if process::id() != self.process {
            return;
        }
        let mut guard = match self.value.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if let Some(value) = guard.as_mut() {
            work(value);
        }
    }

    /// Takes the value out; `None` if it is closed already.
    pub(crate) fn take(&self) -> Result<Option<T>, RequestError> {
        Ok(self.guard()?.take())
    }
}

impl<T> Drop for ProcessBound<T> {
    fn drop(&mut self) {
        if process::id() != self.process {
            let value = self.value.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::forget(value.take());
        }
    }
}
