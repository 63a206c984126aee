//! Checks whether this machine can run the test, and cleans up after earlier runs.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{PowercutError, cannot};
use crate::filesystem::FileSystem;
use crate::program;

/// The prefix of working directories, followed by the process ID.
const PREFIX: &str = "everturn-powercut.";

/// The parents of working directories, in order of preference: in memory, nothing waits for a disk.
const PLACES: &[&str] = &["/dev/shm", "/tmp"];

/// Fails if something that the test needs is missing.
pub(crate) fn require(systems: &[&FileSystem]) -> Result<(), PowercutError> {
    let missing = |text: String| Err(PowercutError::Unavailable(text));
    if !rustix::process::geteuid().is_root() {
        return missing("mounting file systems requires root".to_owned());
    }
    for device in ["/dev/fuse", "/dev/loop-control"] {
        if let Err(error) = File::options().read(true).write(true).open(device) {
            return missing(format!("{device} cannot be opened: {error}"));
        }
    }
    let makers = systems.iter().filter_map(|system| system.make.first().copied());
    let needed = ["mount", "umount", "losetup"].into_iter().chain(makers);
    let absent: Vec<&str> = needed.filter(|name| !program::is_installed(name)).collect();
    if !absent.is_empty() {
        return missing(format!("not installed: {}", absent.join(", ")));
    }
    for system in systems {
        if !knows(system.kind) {
            // A module that is loaded on demand is not listed before.
            program::run("modprobe", &[system.kind]).ok();
        }
        if !knows(system.kind) {
            return missing(format!("the kernel does not support {}", system.kind));
        }
    }
    Ok(())
}

fn knows(kind: &str) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().last() == Some(kind))
}

/// A directory for mount points and homes. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct WorkingDirectory {
    path: PathBuf,
}

impl WorkingDirectory {
    /// Creates a working directory.
    pub(crate) fn new() -> Result<WorkingDirectory, PowercutError> {
        let place = PLACES.iter().find(|place| Path::new(place).is_dir()).unwrap_or(&"/tmp");
        let path = Path::new(place).join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir_all(&path).map_err(cannot(format!("create {}", path.display())))?;
        Ok(WorkingDirectory { path })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkingDirectory {
    fn drop(&mut self) {
        // The next run finds what cannot be removed.
        fs::remove_dir_all(&self.path).ok();
    }
}

/// Cleans up after runs that were killed: mounts, loop devices, directories.
pub(crate) fn clear_leftovers(log: &mut dyn Write) -> Result<(), PowercutError> {
    for place in PLACES {
        let Ok(entries) = fs::read_dir(place) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(process) = name.strip_prefix(PREFIX) else { continue };
            if Path::new("/proc").join(process).exists() {
                continue;
            }
            writeln!(log, "cleaning up after an earlier run: {}", entry.path().display())
                .map_err(cannot("write"))?;
            clear(&entry.path())?;
        }
    }
    Ok(())
}

fn clear(directory: &Path) -> Result<(), PowercutError> {
    let path = directory.display().to_string();
    let prefix = format!("{path}/");
    // Listed before anything is unmounted: afterwards the files have lost their paths.
    let loops = program::run("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"])?;
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(cannot("read the mounts"))?;
    let targets: Vec<&str> = mounts.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    // Later mounts lie on earlier ones; a dead FUSE server needs `--lazy`.
    for target in targets.iter().rev().filter(|target| target.starts_with(&prefix)) {
        program::run("umount", &["--lazy", target])?;
    }
    for line in loops.lines() {
        if let Some((device, file)) = line.split_once(char::is_whitespace)
            && file.trim_start().starts_with(&prefix)
        {
            program::run("losetup", &["--detach", device])?;
        }
    }
    fs::remove_dir_all(directory).map_err(cannot(format!("remove {path}")))
}
