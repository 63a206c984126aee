//! [`SessionBinding`]: a session of any format, served by the requests of the protocol.

use std::time::Duration;

use everturn::AnySession;
use everturn_requests::{ErrorCode, Request, RequestError, SessionHandler};

use crate::process_bound::ProcessBound;

/// A session of a root.
#[derive(Debug)]
pub struct SessionBinding {
    id: String,
    format: &'static str,
    handler: ProcessBound<SessionHandler>,
}

impl SessionBinding {
    pub(crate) fn new(session: AnySession, wait: Duration) -> SessionBinding {
        let (id, format) = (session.id().to_owned(), session.format());
        let handler = ProcessBound::new(SessionHandler::new(session).waiting(wait));
        SessionBinding { id, format, handler }
    }

    /// Its ID.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of its format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Serves a request with these fields. `docs/protocol.md` describes requests and answers.
    pub fn request(&self, name: &str, fields: &str) -> Result<String, RequestError> {
        let request = Request::parse(name, fields)?;
        let answer = self.handler.with(|handler| handler.handle(&request))?;
        serde_json::to_string(&answer)
            .map_err(|error| RequestError::new(ErrorCode::Damaged, error.to_string()))
    }

    /// Writes pending derived data and releases the session. Does nothing if it is closed.
    pub fn close(&self) -> Result<(), RequestError> {
        match self.handler.take()? {
            Some(mut handler) => handler.close(),
            None => Ok(()),
        }
    }
}
