//! What the process is told from outside: the clock, the environment, its own number.
#![expect(clippy::disallowed_methods, reason = "the one place that reads clock and environment")]

use std::path::{Path, PathBuf};

use everturn::home::{Environment, HomeDirs, Platform, ProgramDirs};
use everturn::store::LockOwner;
use jiff::Timestamp;

use crate::error::Error;
use crate::exit::Exit;

/// The time, or what `EVERTURN_NOW` says it is, so that tests can repeat themselves.
pub(crate) fn now() -> Timestamp {
    let given = std::env::var("EVERTURN_NOW").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(Timestamp::now)
}

/// The time by the clock of the system, whatever anybody says: the stamps of files are compared with it.
pub(crate) fn clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

/// The table of mounted file systems, or the file that `EVERTURN_MOUNTINFO` names, so that what a test prints does
/// not depend on the disk it runs on. Empty where the system has none.
pub(crate) fn mount_table() -> String {
    let given = std::env::var_os("EVERTURN_MOUNTINFO");
    let table = given.map_or_else(|| PathBuf::from("/proc/self/mountinfo"), PathBuf::from);
    std::fs::read_to_string(table).unwrap_or_default()
}

/// The width that `COLUMNS` says texts should have.
pub(crate) fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// How wide the terminal is.
pub(crate) fn width() -> usize {
    let terminal = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns));
    columns().or(terminal).filter(|columns| *columns > 0).unwrap_or(80)
}

/// This process, as others that find its locks will see it.
pub(crate) fn lock_owner() -> LockOwner {
    LockOwner { pid: std::process::id(), started: now().to_string() }
}

/// Where a program keeps its files, with everything below `root` if one is named.
pub(crate) fn home(program: &ProgramDirs, root: Option<&Path>) -> Result<HomeDirs, Error> {
    let environment = Environment {
        variable: &|name| std::env::var_os(name),
        current_dir: std::env::current_dir().unwrap_or_default(),
        platform: Platform::Unix,
    };
    let unusable = |root: &Path| {
        Error::new(Exit::Request, format!("the root {} is not Unicode", root.display()))
    };
    let root = root.map(|root| root.to_str().ok_or_else(|| unusable(root))).transpose()?;
    HomeDirs::resolve(program, &environment, root).map_err(|cause| {
        Error::new(Exit::Request, "no data root")
            .caused_by(cause)
            .hint("name one with --root DIR or EVERTURN_ROOT")
    })
}

/// The directory in which the process works, as it is called.
pub(crate) fn current_dir() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// The variables that a table names, with what they set.
pub(crate) fn variables(
    table: &'static [(&'static str, &'static str)],
) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    table.iter().filter_map(|(name, key)| Some((*name, *key, variable(name)?)))
}

/// What decides where Linggen's configuration is looked for: the file that is named, the directory in which the
/// process works, and the home of the user.
pub(crate) fn linggen_search() -> (Option<String>, String, String) {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let here = std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned();
    (text("LINGGEN_CONFIG"), here, text("HOME").unwrap_or_default())
}

/// Whether there is a process of this number. Where that cannot be told, there is.
pub(crate) fn is_alive(pid: u32) -> bool {
    let processes = Path::new("/proc");
    !processes.join("self").exists() || processes.join(pid.to_string()).exists()
}

/// The directory in which the process works, without links in it: a project is known by it.
pub(crate) fn project() -> Result<String, Error> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let here = here.map_err(|cause| {
        Error::new(Exit::Request, "the current directory cannot be used").caused_by(cause)
    })?;
    Ok(here.to_string_lossy().into_owned())
}

/// What the environment says of something that is neither an argument nor to be shown. What is empty counts as
/// nothing.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
