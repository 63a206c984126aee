//! [`lock_unpoisoned`].

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if another thread has panicked: the data behind these locks is consistent at any time.
pub(super) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
