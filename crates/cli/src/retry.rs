//! Waits for other processes: [`retry_while_busy`] and the errors that can be waited for.

use std::thread;
use std::time::{Duration, Instant};

use everturn::format::SessionError;
use everturn::store::StoreError;

/// The initial and maximum delay between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// Retries an operation while another process is busy there, for a limited time.
pub(crate) fn retry_while_busy<T, E: Busy>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let (start, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        match attempt() {
            Err(error) if error.is_busy() && start.elapsed() < wait => {
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
            other => return other,
        }
    }
}

/// An error that may be resolved by waiting.
pub(crate) trait Busy {
    /// Returns whether another process is using it.
    fn is_busy(&self) -> bool;
}

impl Busy for StoreError {
    fn is_busy(&self) -> bool {
        matches!(self, StoreError::Busy { .. })
    }
}

impl Busy for SessionError {
    fn is_busy(&self) -> bool {
        SessionError::is_busy(self)
    }
}
