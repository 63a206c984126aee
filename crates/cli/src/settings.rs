//! What the process is told from outside: the clock, the environment, its own number.
#![expect(clippy::disallowed_methods, reason = "the one place that reads clock and environment")]

use std::path::{Path, PathBuf};

use everturn::store::Holder;
use jiff::Timestamp;

use crate::error::Error;
use crate::exit::Exit;

/// The time, or what `EVERTURN_NOW` says it is, so that tests can repeat themselves.
pub(crate) fn now() -> Timestamp {
    let given = std::env::var("EVERTURN_NOW").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(Timestamp::now)
}

/// The width that `COLUMNS` says texts should have.
pub(crate) fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// This process, as others that find its locks will see it.
pub(crate) fn holder() -> Holder {
    Holder { pid: std::process::id(), started: now().to_string() }
}

/// The data root: what the user named, or Everturn's home.
///
/// The home is `~/.everturn`; with `EVERTURN_LAYOUT=xdg` it is `everturn` in the state directory of the
/// XDG convention, which ignores values that are empty or relative.
pub(crate) fn root(named: Option<&Path>) -> Result<PathBuf, Error> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(root) = named {
        return Ok(root.to_owned());
    }
    let home = || {
        absolute("HOME").ok_or_else(|| {
            Error::new(Exit::Request, "no data root: HOME is not set")
                .hint("name one with --root DIR or EVERTURN_ROOT")
        })
    };
    let layout = std::env::var("EVERTURN_LAYOUT").unwrap_or_default();
    if layout.eq_ignore_ascii_case("xdg") {
        let state = match absolute("XDG_STATE_HOME") {
            Some(state) => state,
            None => home()?.join(".local/state"),
        };
        return Ok(state.join("everturn"));
    }
    Ok(home()?.join(".everturn"))
}

/// What the environment says of something that is neither an argument nor to be shown. What is empty counts as
/// nothing.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
