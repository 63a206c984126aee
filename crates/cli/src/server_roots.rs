//! Roots on a PostgreSQL server, which an address names in place of a directory.
//!
//! The address without its password is the path of such a root, so that it can be shown anywhere.

use std::path::Path;

/// Returns whether a root is on a server.
pub(crate) fn is_address(root: &Path) -> bool {
    let text = root.to_string_lossy();
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// Returns whether a root may exist: a directory does, and a server is asked when the root is opened.
pub(crate) fn may_exist(root: &Path) -> bool {
    is_address(root) || root.exists()
}

#[cfg(feature = "postgres")]
pub(crate) use with_server::{open, shown};

#[cfg(not(feature = "postgres"))]
pub(crate) use without_server::{open, shown};

#[cfg(feature = "postgres")]
mod with_server {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, PoisonError};

    use everturn::store::{Store, StoreError};
    use everturn_postgres::{PostgresStore, ServerAddress, ServerEnvironment, StoreHolder};

    use super::is_address;
    use crate::error::Error;
    use crate::exit::Exit;
    use crate::root_access::RootAccess;
    use crate::settings;

    /// The addresses that the user gave, with their passwords, by what is shown of them.
    static GIVEN: Mutex<BTreeMap<PathBuf, ServerAddress>> = Mutex::new(BTreeMap::new());

    fn parse(root: &Path) -> Result<ServerAddress, Error> {
        let environment =
            ServerEnvironment { variable: &settings::variable, read_file: &settings::read_text };
        let address = ServerAddress::parse_in(&root.to_string_lossy(), &environment);
        address.map_err(|cause| {
            Error::new(Exit::Request, "the address of the root cannot be used")
                .caused_by(cause)
                .hint("write it as postgres://USER@HOST/DATABASE?root=NAME")
        })
    }

    /// Returns a root as it can be shown. The password of an address is remembered for [`open`].
    pub(crate) fn shown(root: PathBuf) -> Result<PathBuf, Error> {
        if !is_address(&root) {
            return Ok(root);
        }
        let address = parse(&root)?;
        let shown = PathBuf::from(address.to_string());
        GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(shown.clone(), address);
        Ok(shown)
    }

    /// Opens a root. `None` as access creates it if necessary.
    pub(crate) fn open(root: &Path, access: Option<RootAccess>) -> Result<Arc<dyn Store>, Error> {
        let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner).get(root).cloned();
        let address = given.map_or_else(|| parse(root), Ok)?;
        let holder = StoreHolder::new(settings::host_name(), settings::lock_owner());
        let opened = match access {
            Some(RootAccess::Read) => PostgresStore::open_read_only(&address),
            Some(RootAccess::Write) => PostgresStore::open_existing(&address, &holder),
            None => PostgresStore::open(&address, &holder),
        };
        let place = root.display();
        match opened {
            Ok(store) => Ok(Arc::new(store)),
            Err(StoreError::Missing { .. }) => {
                Err(Error::new(Exit::Request, format!("there is no root {place}"))
                    .hint("everturn new creates it with its first session"))
            }
            Err(StoreError::Io { source, .. }) => {
                Err(Error::new(Exit::Request, format!("cannot open the root {place}"))
                    .caused_by(source))
            }
            Err(error) => Err(Error::from(error).at(&place.to_string())),
        }
    }
}

#[cfg(not(feature = "postgres"))]
mod without_server {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use everturn::store::Store;

    use super::is_address;
    use crate::error::Error;
    use crate::exit::Exit;
    use crate::root_access::RootAccess;

    fn unsupported() -> Error {
        Error::new(Exit::Request, "this program was built without PostgreSQL")
            .hint("build it with: cargo build --release -p everturn-cli --features postgres")
    }

    /// Returns a root as it can be shown.
    pub(crate) fn shown(root: PathBuf) -> Result<PathBuf, Error> {
        if is_address(&root) { Err(unsupported()) } else { Ok(root) }
    }

    /// Fails: there is no server.
    pub(crate) fn open(_: &Path, _: Option<RootAccess>) -> Result<Arc<dyn Store>, Error> {
        Err(unsupported())
    }
}
