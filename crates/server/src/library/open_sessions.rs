//! [`OpenSessions`]: the sessions that are being written to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use everturn::Root;
use everturn_requests::{Request, Response, SessionHandler};

use super::LocatedSession;
use crate::problem::Problem;

/// How long a session stays locked after the last change, so that another program can write to it.
const IDLE: Duration = Duration::from_secs(2);

/// How long a change waits for another process that is writing to the session.
const PATIENCE: Duration = Duration::from_secs(5);

/// A session with its only writer in this process.
struct OpenSession {
    handler: SessionHandler,
    used: Instant,
}

type SharedSession = Arc<Mutex<Option<OpenSession>>>;

/// The sessions that are being written to, by key.
#[derive(Default)]
pub(super) struct OpenSessions {
    sessions: Mutex<HashMap<String, SharedSession>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn close(open: Option<OpenSession>) -> Result<(), Problem> {
    match open {
        Some(mut open) => Ok(open.handler.close()?),
        None => Ok(()),
    }
}

impl OpenSessions {
    fn session(&self, key: &str) -> SharedSession {
        Arc::clone(locked(&self.sessions).entry(key.to_owned()).or_default())
    }

    /// Serves a request that writes. Requests for one session follow each other.
    pub(super) fn handle(
        &self,
        root: &Root,
        found: &LocatedSession,
        request: &Request,
    ) -> Result<Response, Problem> {
        let session = self.session(&found.key);
        let mut session = locked(&session);
        // A session that was moved meanwhile is opened where it is now.
        let open = session.take().filter(|open| open.handler.place() == Some(&found.place));
        let mut open = open.unwrap_or_else(|| OpenSession {
            handler: SessionHandler::new(root.session_at(found.format, found.place.clone()))
                .waiting(PATIENCE),
            used: Instant::now(),
        });
        let answer = open.handler.handle(request);
        open.used = Instant::now();
        let is_lost = answer.as_ref().is_err_and(|error| error.code.as_str() == "reopen");
        if !is_lost {
            *session = Some(open);
        }
        Ok(answer?)
    }

    /// Releases one session.
    pub(super) fn release(&self, key: &str) -> Result<(), Problem> {
        let Some(session) = locked(&self.sessions).remove(key) else { return Ok(()) };
        let open = locked(&session).take();
        close(open)
    }

    /// Releases the sessions that were not written to for a while. One that is in use is left alone.
    pub(super) fn release_idle(&self) {
        let all: Vec<(String, SharedSession)> = {
            let sessions = locked(&self.sessions);
            sessions.iter().map(|(key, session)| (key.clone(), Arc::clone(session))).collect()
        };
        for (key, session) in all {
            let Ok(mut open) = session.try_lock() else { continue };
            if open.as_ref().is_none_or(|open| open.used.elapsed() >= IDLE) {
                // What cannot be written now is derived, and is written with the next change.
                close(open.take()).ok();
                drop(open);
                self.forget_unused(&key, &session);
            }
        }
    }

    /// Removes a session from the map unless a request waits for it.
    fn forget_unused(&self, key: &str, session: &SharedSession) {
        let mut sessions = locked(&self.sessions);
        // The map and the caller hold one each.
        if Arc::strong_count(session) == 2 {
            sessions.remove(key);
        }
    }

    /// Releases all sessions; returns the first error.
    pub(super) fn release_all(&self) -> Result<(), Problem> {
        let all: Vec<SharedSession> = locked(&self.sessions).drain().map(|(_, one)| one).collect();
        let mut result = Ok(());
        for session in all {
            let open = locked(&session).take();
            result = result.and(close(open));
        }
        result
    }
}
