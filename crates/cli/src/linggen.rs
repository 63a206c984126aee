//! Opens Linggen's home and its projects for the commands that need them.

pub(crate) mod config;
pub(crate) mod runs;
pub(crate) mod specs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use everturn::format::{SessionError, SessionFormat};
use everturn::linggen::{
    FORMAT, LinggenError, Mission, Project, ProjectPath, find_project, open_project,
};

use crate::context::{Context, next_command};
use crate::error::Error;
use crate::exit::Exit;
use crate::open_root::OpenRoot;
use crate::retry::{Busy, retry_while_busy};
use crate::{server_roots, settings};

/// How long a change of a home waits for another process.
const WAIT: Duration = Duration::from_secs(5);

impl From<LinggenError> for Error {
    fn from(error: LinggenError) -> Error {
        let hint = match &error {
            LinggenError::NoProject { .. } => Some(next_command("linggen project list")),
            _ => None,
        };
        let error = Error::from(SessionError::from(error));
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl Busy for LinggenError {
    fn is_busy(&self) -> bool {
        matches!(self, LinggenError::Store(error) if error.is_busy())
    }
}

/// Retries a change while another process is busy there.
pub(crate) fn retry_linggen<T>(
    attempt: impl FnMut() -> Result<T, LinggenError>,
) -> Result<T, Error> {
    Ok(retry_while_busy(WAIT, attempt)?)
}

/// Returns the ID of a mission: the name of its file without the ending.
pub(crate) fn mission_id(mission: &Mission) -> String {
    let name = mission.file.name().map(|name| name.to_string()).unwrap_or_default();
    name.strip_suffix(".json").unwrap_or(&name).to_owned()
}

/// Returns the path of a project as given by the user: absolute, and without links if it exists.
pub(crate) fn project_path(named: Option<&Path>) -> Result<ProjectPath, Error> {
    let here = PathBuf::from(settings::project()?);
    let path = named.map_or_else(|| here.clone(), |named| here.join(named));
    let path = path.canonicalize().unwrap_or(path);
    let text = path
        .to_str()
        .ok_or_else(|| Error::new(Exit::Request, format!("{} is not Unicode", path.display())))?;
    Ok(ProjectPath::parse(text)?)
}

/// Restricts a command to one format. It is an error if the user named another one.
pub(crate) fn require_format(
    context: &mut Context,
    format: &'static dyn SessionFormat,
) -> Result<(), Error> {
    let name = format.name();
    match context.layout.replace(name.to_owned()) {
        Some(other) if other != name => {
            let what = format!("this command is not supported for {other}, only for {name}");
            Err(Error::new(Exit::Request, what).hint("omit --layout"))
        }
        _ => Ok(()),
    }
}

/// Opens Linggen's home for reading.
pub(crate) fn open_home(context: &mut Context) -> Result<OpenRoot, Error> {
    require_format(context, FORMAT)?;
    context.open_root()
}

/// Opens Linggen's home for reading; `None` if it does not exist yet.
pub(crate) fn open_home_if_present(context: &mut Context) -> Result<Option<OpenRoot>, Error> {
    require_format(context, FORMAT)?;
    // A root that the user named must be there.
    if context.named_root().is_none() && !server_roots::may_exist(&context.root_dir()?) {
        return Ok(None);
    }
    context.open_root().map(Some)
}

/// Opens Linggen's home to change existing files.
pub(crate) fn open_home_to_change(context: &mut Context) -> Result<OpenRoot, Error> {
    require_format(context, FORMAT)?;
    context.root_to_write()
}

/// Opens Linggen's home for writing; creates it if necessary.
pub(crate) fn open_home_to_write(context: &mut Context) -> Result<OpenRoot, Error> {
    require_format(context, FORMAT)?;
    OpenRoot::create(&context.root_dir()?)
}

/// Returns the project that the user named, which must exist.
pub(crate) fn project(root: &OpenRoot, named: Option<&Path>) -> Result<Project, Error> {
    let path = project_path(named)?;
    let missing = || LinggenError::NoProject { path: path.to_string() };
    Ok(find_project(&root.store(), &path)?.ok_or_else(missing)?)
}

/// Returns the path of a project whose directory must exist.
pub(crate) fn existing_project_path(named: Option<&Path>) -> Result<ProjectPath, Error> {
    let path = project_path(named)?;
    if !Path::new(path.as_str()).is_dir() {
        let what = format!("there is no directory {path}");
        return Err(Error::new(Exit::Request, what).hint("a project is an existing directory"));
    }
    Ok(path)
}

/// Returns the project that the user named; creates it if necessary.
pub(crate) fn project_to_write(root: &OpenRoot, named: Option<&Path>) -> Result<Project, Error> {
    let path = existing_project_path(named)?;
    retry_linggen(|| open_project(&root.store(), &path, settings::now()))
}
