//! The names that no session may have as its ID.

use super::SessionError;

/// The name of the most recently changed session, which no session may have as its ID.
pub const LATEST: &str = "latest";

/// Returns an error if a new session could never be named by this ID.
pub fn require_usable_id(id: &str) -> Result<(), SessionError> {
    if id == LATEST {
        let what = "`latest` is reserved for the most recently changed session";
        return Err(SessionError::request(what));
    }
    Ok(())
}
