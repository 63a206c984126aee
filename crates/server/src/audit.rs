//! [`AuditRecord`]: what was changed, by whom, with which result.

use std::fmt;

use jiff::Timestamp;

/// How a client has shown that it may use the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Principal {
    /// A browser, with a cookie.
    Browser,
    /// A program, with a token.
    Program,
}

impl Principal {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Principal::Browser => "browser",
            Principal::Program => "program",
        }
    }
}

/// A change that was requested, or a secret that was revealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// When it was answered.
    pub time: Timestamp,
    /// `browser`, `program`, or `nobody` for a login that failed.
    pub by: &'static str,
    /// The operation, such as `appendTurn`.
    pub operation: &'static str,
    /// The session, if it concerns one.
    pub session: Option<String>,
    /// The HTTP status of the answer.
    pub status: u16,
}

impl fmt::Display for AuditRecord {
    /// One line of text; characters that could start another line are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AuditRecord { time, by, operation, session, status } = self;
        write!(f, "{time:.3} audit by={by} operation={operation}")?;
        if let Some(session) = session {
            write!(f, " session={session:?}")?;
        }
        write!(f, " status={status}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_whatever_the_session_is_called() {
        let record = AuditRecord {
            time: "2026-01-01T10:00:00Z".parse().unwrap(),
            by: Principal::Browser.as_str(),
            operation: "trashSession",
            session: Some("a\nb audit\u{1b}[2J".to_owned()),
            status: 200,
        };
        let line = record.to_string();
        assert_eq!(
            line,
            "2026-01-01T10:00:00.000Z audit by=browser operation=trashSession \
             session=\"a\\nb audit\\u{1b}[2J\" status=200"
        );
    }
}
