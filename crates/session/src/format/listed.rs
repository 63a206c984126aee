//! [`open_listed`]: opens a session that may have been moved since it was listed.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use everturn_store::Store;

use super::{MAX_LIST_TRIES, SessionError, SessionFormat, SessionReader};
use crate::model::SessionRef;

/// How often a session is looked for before it is reported as gone: a list that was read while the session was moved may lack it.
const LOOKUPS: usize = 20;
const LOOKUP_PAUSE: Duration = Duration::from_millis(3);

/// What a listed session has become.
pub enum ListedSession {
    /// The session is open. The ref says where it is now.
    Open(SessionRef, Box<dyn SessionReader>),
    /// The session no longer exists.
    Gone,
}

/// Opens a listed session for reading. A session that was moved since is looked up again.
pub fn open_listed(
    format: &dyn SessionFormat,
    store: &Arc<dyn Store>,
    listed: &SessionRef,
) -> Result<ListedSession, SessionError> {
    let mut place = listed.clone();
    let mut failed_at = None;
    let mut tries = 0;
    loop {
        tries += 1;
        let error = match format.open(store, &place) {
            Ok(reader) => return Ok(ListedSession::Open(place, reader)),
            Err(error) => error,
        };
        let has_moved = format.any_moved(store, &mut std::iter::once(&place))?;
        // The second attempt is for a session that was moved away and back.
        let has_failed_before = failed_at.as_ref() == Some(&place);
        if tries == MAX_LIST_TRIES || (!has_moved && (has_failed_before || error.is_busy())) {
            return Err(error);
        }
        failed_at = Some(place.clone());
        if has_moved {
            match locate_again(format, store, &place)? {
                Some(found) => place = found,
                None => return Ok(ListedSession::Gone),
            }
        }
    }
}

/// Returns where a session is now.
fn locate_again(
    format: &dyn SessionFormat,
    store: &Arc<dyn Store>,
    place: &SessionRef,
) -> Result<Option<SessionRef>, SessionError> {
    let key = format.stable_key(place);
    for attempt in 0..LOOKUPS {
        if attempt > 0 {
            thread::sleep(LOOKUP_PAUSE);
        }
        let mut sessions = format.locate(store)?.sessions.into_iter();
        if let Some(found) = sessions.find(|found| format.stable_key(found) == key) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
