//! The paths of a thread.

use everturn_json::names::{FilePath, Name, NameError, SessionId};

/// The directory of all threads.
const THREADS: &str = "threads";

/// The log in the directory of a thread.
const LOG: &str = "thread.jsonl";

/// The directory of all threads.
pub(crate) fn threads_dir() -> FilePath {
    below(&FilePath::root(), THREADS)
}

/// The directory of a thread.
pub(crate) fn thread_dir(id: &SessionId) -> FilePath {
    threads_dir().join(id.as_name())
}

/// The only path of a thread, for the trash.
pub(crate) fn candidate_paths(id: &SessionId) -> Result<Vec<FilePath>, NameError> {
    Ok(vec![thread_dir(id)])
}

/// The log of a thread.
pub(crate) fn log_file(dir: &FilePath) -> FilePath {
    below(dir, LOG)
}

/// The path of a name that is known to be valid.
fn below(dir: &FilePath, name: &str) -> FilePath {
    Name::parse(name).map_or_else(|_| dir.clone(), |name| dir.join(&name))
}
