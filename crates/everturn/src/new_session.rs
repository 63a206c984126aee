//! New sessions of any format, with an ID that is assigned if none is given.

use everturn_session::format::{Operation, SessionError, SessionFormat};
use everturn_session::model::NewSession;
use everturn_store::StoreError;

use crate::error::Error;
use crate::root::Root;
use crate::session::AnySession;

/// How many IDs are tried before giving up.
const TRIES: u64 = 1000;

/// Returns an ID made from a time in milliseconds.
fn id_at(millis: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest = millis;
    let mut digits = Vec::new();
    while rest > 0 {
        let digit = usize::try_from(rest % 36).ok().and_then(|at| DIGITS.get(at));
        digits.extend(digit.map(|digit| char::from(*digit)));
        rest /= 36;
    }
    format!("session-{}", digits.iter().rev().collect::<String>())
}

impl Root {
    /// Creates a session of a format that is known at run time only. Without an ID, the format assigns one,
    /// or it is made from the time; one that is taken is replaced by the next.
    pub fn create_with_format(
        &self,
        format: &'static dyn SessionFormat,
        new: &NewSession,
    ) -> Result<AnySession, Error> {
        let now = self.now();
        let editing = format.editing(Operation::Create)?;
        let created = |new: &NewSession| {
            let editor = editing.create(self.store(), new, now)?;
            Ok(AnySession::locked(self, format, editor))
        };
        if !new.id.is_empty() || editing.assigns_ids() {
            return created(new).map_err(SessionError::into);
        }
        let start = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let mut attempt = start;
        loop {
            match created(&NewSession { id: id_at(attempt), ..new.clone() }) {
                Err(SessionError::Taken { .. } | SessionError::Store(StoreError::Busy { .. }))
                    if attempt < start + TRIES =>
                {
                    attempt += 1;
                }
                other => return other.map_err(SessionError::into),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_time() {
        assert_eq!(id_at(0), "session-");
        assert_eq!(id_at(35), "session-z");
        assert_eq!(id_at(36), "session-10");
        assert_eq!(id_at(1_767_261_600_000), "session-mjv9xds0");
    }
}
