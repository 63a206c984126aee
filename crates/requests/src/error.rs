//! [`RequestError`]: why a request failed, with a stable code.

use std::fmt;

use everturn::format::{SessionError, error_chain};
use everturn::store::StoreError;
use everturn::{Error, ErrorKind};
use serde::Serialize;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// The kind of an error. The texts are stable; `docs/protocol.md` describes them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorCode {
            /// All codes.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The text in answers.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $text,)*
                }
            }
        }
    };
}

codes! {
    /// The line is not JSON, not UTF-8, or not an object.
    BadJson = "bad_json",
    /// The line is too long, and was skipped.
    TooLong = "too_long",
    /// There is no such request.
    UnknownRequest = "unknown_request",
    /// A field is unknown, missing or wrong, or the format refuses the turn.
    BadRequest = "bad_request",
    /// There is no such session, turn, mark or value.
    NotFound = "not_found",
    /// The request contradicts what is stored.
    Conflict = "conflict",
    /// The ID of a new session is taken.
    Taken = "taken",
    /// The session is paused, completed or archived.
    WrongStatus = "wrong_status",
    /// The format of the session lacks the operation.
    Unsupported = "unsupported",
    /// The conversation or the session is read-only.
    ReadOnly = "read_only",
    /// Another process writes to the session.
    Busy = "busy",
    /// Stored data is damaged.
    Damaged = "damaged",
    /// A flush has failed: the outcome is unknown, and the root must be opened again.
    Reopen = "reopen",
    /// The disk failed, or is full.
    Io = "io",
    /// The conversation was closed.
    Closed = "closed",
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Why a request failed. Nothing was changed, unless the code is [`ErrorCode::Reopen`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestError {
    /// The kind of error.
    pub code: ErrorCode,
    /// The problem, in one line.
    pub message: String,
    /// Where it is: a field of the request, a path in the state, or a file below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl RequestError {
    /// An error without a path or a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> RequestError {
        RequestError { code, message: message.into(), path: None, hint: None }
    }

    /// Adds where the problem is.
    #[must_use]
    pub fn at(self, path: impl Into<String>) -> RequestError {
        RequestError { path: Some(path.into()), ..self }
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> RequestError {
        RequestError { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RequestError {}

impl From<Error> for RequestError {
    fn from(error: Error) -> RequestError {
        let message = error_chain(&error);
        let failed = RequestError::new(code_of(&error), message);
        match &error {
            Error::NoValue { path } | Error::ValueType { path, .. } => failed.at(path.as_str()),
            Error::Session(SessionError::Status { status, .. }) => match status.as_str() {
                "paused" => failed.hint("send the request resume"),
                "completed" => failed.hint("continue in a new session: send the request fork"),
                _ => failed,
            },
            Error::Session(SessionError::Store(error)) => with_place(failed, error),
            _ => match failed.code {
                ErrorCode::Damaged => failed.hint("run everturn check and everturn repair"),
                _ => failed,
            },
        }
    }
}

/// Adds the file and the next step of a store error.
fn with_place(failed: RequestError, error: &StoreError) -> RequestError {
    match error {
        StoreError::Busy { scope, .. } => {
            failed.at(scope.as_str()).hint("send the request again when that process is done")
        }
        StoreError::Poisoned { .. } => failed.hint(
            "start a new process and send the request again; a key shows if it was stored before",
        ),
        StoreError::Io { path, .. } | StoreError::Missing { path } => failed.at(path.as_str()),
        StoreError::Moved { file, .. } | StoreError::Changed { file } => failed.at(file.as_str()),
        _ => failed,
    }
}

fn code_of(error: &Error) -> ErrorCode {
    if let Error::Session(error) = error {
        match error {
            SessionError::Taken { .. } | SessionError::Store(StoreError::Taken { .. }) => {
                return ErrorCode::Taken;
            }
            SessionError::Status { .. } => return ErrorCode::WrongStatus,
            SessionError::Unsupported { .. } => return ErrorCode::Unsupported,
            SessionError::ReadOnly { .. } | SessionError::Store(StoreError::ReadOnly) => {
                return ErrorCode::ReadOnly;
            }
            _ => {}
        }
    }
    match error.kind() {
        ErrorKind::Busy => ErrorCode::Busy,
        ErrorKind::NotFound => ErrorCode::NotFound,
        ErrorKind::Conflict => ErrorCode::Conflict,
        ErrorKind::Damaged => ErrorCode::Damaged,
        ErrorKind::Reopen => ErrorCode::Reopen,
        ErrorKind::Io => ErrorCode::Io,
        _ => ErrorCode::BadRequest,
    }
}
