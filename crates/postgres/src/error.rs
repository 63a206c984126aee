//! How errors of the server become a [`StoreError`].

use std::error::Error;
use std::io;
use std::sync::Arc;

use everturn_json::names::FilePath;
use everturn_store::StoreError;
use postgres::error::SqlState;
use postgres::types::WrongType;

/// Why a statement failed, by what can be done about it. Commits that share a transaction share its failure.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection is gone; the outcome of a commit is unknown.
    Disconnected(Arc<postgres::Error>),
    /// Another transaction was in the way; trying again may succeed.
    Retry(Arc<postgres::Error>),
    /// The server has committed, but no standby has confirmed it, so a failover may lose the commit.
    Unconfirmed,
    /// The server refused the statement.
    Refused(Arc<postgres::Error>),
    /// The request cannot be done, whatever the server does.
    Store(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<postgres::Error> for Failure {
    fn from(error: postgres::Error) -> Failure {
        let error = Arc::new(error);
        let Some(state) = error.code() else {
            let mistyped = error.source().is_some_and(|cause| cause.is::<WrongType>());
            return if mistyped { Failure::Refused(error) } else { Failure::Disconnected(error) };
        };
        let again = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        let ended = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        let (is_again, is_ended) =
            (again.contains(state), ended.contains(state) || state.code().starts_with("08"));
        if is_again {
            Failure::Retry(error)
        } else if is_ended {
            Failure::Disconnected(error)
        } else {
            Failure::Refused(error)
        }
    }
}

impl Failure {
    /// The error of a store for an operation on `path`.
    pub(crate) fn into_store(self, doing: &'static str, path: &FilePath) -> StoreError {
        match self {
            Failure::Store(error) => error,
            Failure::Unconfirmed => {
                let text = "PostgreSQL has committed, but no standby has confirmed it";
                StoreError::io(doing, path)(io::Error::new(io::ErrorKind::TimedOut, text))
            }
            Failure::Disconnected(error) | Failure::Retry(error) | Failure::Refused(error) => {
                server_error(&error, doing, path)
            }
        }
    }
}

/// The error of a store for an error of the server.
pub(crate) fn server_error(
    error: &postgres::Error,
    doing: &'static str,
    path: &FilePath,
) -> StoreError {
    let code = error.code();
    if code == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) {
        return StoreError::ReadOnly;
    }
    let kind = match code {
        Some(code) if *code == SqlState::DISK_FULL => io::ErrorKind::StorageFull,
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => io::ErrorKind::PermissionDenied,
        Some(code) if *code == SqlState::QUERY_CANCELED => io::ErrorKind::TimedOut,
        Some(_) => io::ErrorKind::Other,
        None => io::ErrorKind::ConnectionAborted,
    };
    StoreError::io(doing, path)(io::Error::new(kind, describe(error)))
}

/// The whole chain of an error in one line. The crate never puts a password into its errors.
pub(crate) fn describe(error: &postgres::Error) -> String {
    if let Some(refusal) = error.as_db_error() {
        return format!("PostgreSQL: {}", refusal.message());
    }
    let mut text = format!("PostgreSQL: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}
