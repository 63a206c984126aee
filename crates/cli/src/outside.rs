//! Files in directories that belong to the user, such as the settings in a project: their logs and locks are kept in
//! Everturn's own home, so that nothing but the file itself appears beside it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everturn::checksum::checksum;
use everturn::disk::{Disk, RealDisk, SplitDisk};
use everturn::home;
use everturn::store::{OWN_DIR, Store, StoreError};

use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::{server_roots, settings, store_errors};

/// The directory below Everturn's own that has a directory for each of the user's.
const DIRECTORY: &str = "outside";

/// Returns where the log of a directory is kept. `None` if the directory has a log of its own, as every root has, or if
/// the user has no home directory to keep it in.
fn own_dir(dir: &Path) -> Option<PathBuf> {
    if dir.join(OWN_DIR).join("wal").is_dir() {
        return None;
    }
    let dirs = settings::home(&home::EVERTURN, None).ok()?;
    let is_served = server_roots::is_address(&dirs.state_dir);
    let home = if is_served { dirs.config_dir } else { dirs.state_dir };
    let above = home.parent().filter(|above| !above.as_os_str().is_empty());
    if above.is_some_and(|above| !above.is_dir()) {
        return None;
    }
    let real = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = format!("{:016x}", checksum(&[real.as_os_str().as_encoded_bytes()]));
    Some(home.join(OWN_DIR).join(DIRECTORY).join(name))
}

/// Opens a directory for reading, with the commits that only its log holds.
pub(crate) fn open_disk(dir: &Path) -> io::Result<Arc<dyn Disk>> {
    let files: Arc<dyn Disk> = Arc::new(RealDisk::open(dir)?);
    match own_dir(dir).filter(|own| own.is_dir()) {
        Some(own) => Ok(Arc::new(SplitDisk::new(files, Arc::new(RealDisk::open(&own)?), OWN_DIR))),
        None => Ok(files),
    }
}

/// Opens a directory of the user for writing; it is created if necessary. A directory that is a link is refused.
pub(crate) fn open_to_write(dir: &Path) -> Result<Arc<dyn Store>, Error> {
    if server_roots::is_address(dir) {
        return server_roots::open(dir, None);
    }
    if dir.is_symlink() {
        let what = format!("{} is a link; everturn does not write through links", dir.display());
        return Err(Error::new(Exit::Request, what).hint("use the real path, or remove the link"));
    }
    let failed = |cause| {
        Error::new(Exit::Request, format!("cannot open {}", dir.display())).caused_by(cause)
    };
    let files: Arc<dyn Disk> = Arc::new(RealDisk::create(dir).map_err(failed)?);
    let disk = match own_dir(dir) {
        Some(own) => {
            let own = RealDisk::create(&own).map_err(failed)?;
            Arc::new(SplitDisk::new(files, Arc::new(own), OWN_DIR))
        }
        None => files,
    };
    store_errors::open_store_on(disk, dir)
}

/// Overwrites what the logs of a store still hold. Says so if another process prevents it.
pub(crate) fn wipe(store: &dyn Store) {
    match store.wipe_logs() {
        Ok(()) => {}
        Err(StoreError::Busy { owner, .. }) => Output::status(&format!(
            "the previous content may remain in the log of another process ({owner}) until its next change"
        )),
        Err(error) => Output::status(&format!("the previous content remains in the log: {error}")),
    }
}
