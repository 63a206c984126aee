//! [`IdleLocks`]: releases the locks of threads and files that are not used for a while, so that other processes can
//! write.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// How long a lock stays without being used.
pub(crate) const IDLE: Duration = Duration::from_millis(50);

/// Something that holds a lock.
pub(crate) trait HoldsLock: Send + Sync {
    /// Releases the lock if it was not used for [`IDLE`].
    fn release_if_idle(&self);
}

/// The holders of locks, and the thread that visits them. The thread ends with the last reference to the list.
#[derive(Clone, Default)]
pub(crate) struct IdleLocks {
    holders: Arc<Mutex<Vec<Weak<dyn HoldsLock>>>>,
}

impl IdleLocks {
    /// Adds a holder, and starts the thread with the first one.
    pub(crate) fn add(&self, holder: Weak<dyn HoldsLock>) {
        let mut holders = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = holders.is_empty();
        holders.push(holder);
        if is_first {
            let list = Arc::downgrade(&self.holders);
            let visit = move || {
                while let Some(holders) = list.upgrade() {
                    let alive: Vec<_> = {
                        let mut holders = holders.lock().unwrap_or_else(PoisonError::into_inner);
                        holders.retain(|holder| holder.strong_count() > 0);
                        if holders.is_empty() {
                            return;
                        }
                        holders.iter().filter_map(Weak::upgrade).collect()
                    };
                    drop(holders);
                    for holder in alive {
                        holder.release_if_idle();
                    }
                    thread::sleep(IDLE);
                }
            };
            // Without the thread, locks are kept until they are released.
            drop(thread::Builder::new().name("everturn-idle".to_owned()).spawn(visit));
        }
    }
}
