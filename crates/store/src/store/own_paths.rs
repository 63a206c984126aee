//! The paths of the store's own files, below [`OWN_DIR`].

use super::OWN_DIR;
use everturn_json::names::{FilePath, Name, NameError};

/// Returns a path in Everturn's own directory.
pub(super) fn own_path(parts: &[&str]) -> Result<FilePath, NameError> {
    let mut path = FilePath::root().join(&Name::parse(OWN_DIR)?);
    for part in parts {
        path = path.join(&Name::parse(part)?);
    }
    Ok(path)
}

/// Returns a path whose parts are known to be valid names.
pub(super) fn known_own_path(parts: &[&str]) -> FilePath {
    own_path(parts).unwrap_or_default()
}

/// Returns the path of the lock file of a scope.
pub(super) fn lock_file(scope: &FilePath) -> FilePath {
    known_own_path(&["locks"]).join(&scope.flat_name(".lock"))
}
