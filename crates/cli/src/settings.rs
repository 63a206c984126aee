//! The environment of the process: clock, environment variables, process ID.
#![expect(clippy::disallowed_methods, reason = "the one place that reads clock and environment")]

use std::path::{Path, PathBuf};

use everturn::home::{Environment, HomeDirs, Platform, ProgramDirs};
use everturn::store::LockOwner;
use jiff::Timestamp;

use crate::error::Error;
use crate::exit::Exit;
use crate::server_roots;

/// Returns the current time, or the value of `EVERTURN_NOW`, which makes tests reproducible.
pub(crate) fn now() -> Timestamp {
    let given = std::env::var("EVERTURN_NOW").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(Timestamp::now)
}

/// Returns the system time, regardless of `EVERTURN_NOW`: file stamps are compared with it.
pub(crate) fn clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// Returns the table of mounted file systems, or the file named by `EVERTURN_MOUNTINFO`, so that test output does not
/// depend on the disk. Empty if the system has none.
pub(crate) fn mount_table() -> String {
    let given = std::env::var_os("EVERTURN_MOUNTINFO");
    let table = given.map_or_else(|| PathBuf::from("/proc/self/mountinfo"), PathBuf::from);
    std::fs::read_to_string(table).unwrap_or_default()
}

/// Returns the text width from `COLUMNS`.
pub(crate) fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Returns the width of the terminal.
pub(crate) fn width() -> usize {
    let terminal = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    columns().or(terminal).filter(|columns| *columns > 0).unwrap_or(80)
}

/// Returns this process as a lock owner, as other processes see it.
pub(crate) fn lock_owner() -> LockOwner {
    LockOwner { pid: std::process::id(), started: now().to_string() }
}

/// Returns the name of this machine, as writers on other machines see it.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the text of a file, and whether other users can read it.
pub(crate) fn read_text(path: &Path) -> std::io::Result<(String, bool)> {
    use std::os::unix::fs::PermissionsExt;
    let is_open = std::fs::metadata(path)?.permissions().mode() & 0o077 != 0;
    Ok((std::fs::read_to_string(path)?, is_open))
}

/// Returns the directories of a program, all below `root` if one is given. A root on a server holds sessions only: all
/// other directories are the usual ones of this machine.
pub(crate) fn home(program: &ProgramDirs, root: Option<&Path>) -> Result<HomeDirs, Error> {
    let given = program.root.and_then(std::env::var_os).map(PathBuf::from);
    let served = root.map(Path::to_owned).or(given).filter(|root| server_roots::is_address(root));
    let environment = Environment {
        variable: &|name| {
            let is_served = served.is_some() && program.root == Some(name);
            std::env::var_os(name).filter(|_| !is_served)
        },
        current_dir: std::env::current_dir().unwrap_or_default(),
        platform: Platform::Unix,
    };
    let unusable = |root: &Path| {
        Error::new(Exit::Request, format!("the root {} is not Unicode", root.display()))
    };
    let root = root.filter(|_| served.is_none());
    let root = root.map(|root| root.to_str().ok_or_else(|| unusable(root))).transpose()?;
    let dirs = HomeDirs::resolve(program, &environment, root).map_err(|cause| {
        Error::new(Exit::Request, "no data root")
            .caused_by(cause)
            .hint("name one with --root DIR or EVERTURN_ROOT")
    })?;
    Ok(match served {
        Some(served) => HomeDirs { state_dir: server_roots::shown(served)?, ..dirs },
        None => dirs,
    })
}

/// Returns the current directory, as the system names it.
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// Returns the values of the variables in a table that are set.
pub(crate) fn variables(
    table: &'static [(&'static str, &'static str)],
) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    table.iter().filter_map(|(name, key)| Some((*name, *key, variable(name)?)))
}

/// Returns what determines the location of Linggen's configuration: the named file, the current directory, and the
/// user's home.
pub(crate) fn linggen_search() -> (Option<String>, String, String) {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let here = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
    (text("LINGGEN_CONFIG"), here, text("HOME").unwrap_or_default())
}

/// Returns whether a process with this ID exists and may be Linggen; `true` if that is unknown. A number is used again
/// after its process has ended.
pub(crate) fn is_linggen(pid: u32) -> bool {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return true;
    }
    match std::fs::read(processes.join(pid.to_string()).join("cmdline")) {
        Ok(line) => {
            let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
            let program = String::from_utf8_lossy(program).into_owned();
            let name = Path::new(&program).file_name().map(|name| name.to_string_lossy());
            name.is_some_and(|name| name.starts_with("ling"))
        }
        Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
    }
}

/// Returns the current directory without links, which identifies a project.
pub(crate) fn project() -> Result<String, Error> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let here = here.map_err(|cause| {
        Error::new(Exit::Request, "the current directory cannot be used").caused_by(cause)
    })?;
    Ok(here.to_string_lossy().into_owned())
}

/// Whether an environment variable exists, even an empty one.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// Returns an environment variable that is neither an argument nor to be shown. An empty value counts as unset.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
