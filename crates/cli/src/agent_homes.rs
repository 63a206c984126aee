//! Home directories: Everturn's own, and those of the agents whose format is named with `--layout`.
//!
//! A home is described by its [`ProgramDirs`]. Another one is a variant of [`AgentKind`].

pub(crate) mod trust;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use everturn::codelia;
use everturn::config::{self, Config, ConfigError, ConfigLayer, ConfigSchema};
use everturn::format::{self, SessionFormat};
use everturn::home::{self, HomeDirs, HomeLayout, ProgramDirs};
use everturn::linggen;
use everturn::names::{FilePath, NameError};
use everturn::store::{Durability, FileStore, Fingerprint, Precondition, Step, Store, StoreError};
use everturn::vault::{self, Secret, SecretsError, Vault, VaultFormat};
use serde_json::Value;

use crate::context::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::open_root::{OpenRoot, RootAccess};
use crate::output::Output;
use crate::retry::{Busy, retry_while_busy};
use crate::{outside, server_roots, settings, store_errors};

/// How long a change of a home waits for another process.
const WAIT: Duration = Duration::from_secs(5);

/// The program that a home belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentKind {
    Everturn,
    Codelia,
    Linggen,
}

impl AgentKind {
    /// All programs.
    pub(crate) const ALL: [AgentKind; 3] =
        [AgentKind::Everturn, AgentKind::Codelia, AgentKind::Linggen];

    /// Returns the agent of a format; formats without an agent belong to Everturn.
    pub(crate) fn named(layout: Option<&str>) -> AgentKind {
        let is_its_format = |format: &dyn SessionFormat| layout == Some(format.name());
        let of_format = |kind: &AgentKind| kind.format().is_some_and(is_its_format);
        AgentKind::ALL.into_iter().find(of_format).unwrap_or(AgentKind::Everturn)
    }

    /// Returns the format of its sessions; Everturn has many.
    pub(crate) fn format(self) -> Option<&'static dyn SessionFormat> {
        match self {
            AgentKind::Everturn => None,
            AgentKind::Codelia => Some(codelia::FORMAT),
            AgentKind::Linggen => Some(linggen::FORMAT),
        }
    }

    pub(crate) fn program(self) -> &'static ProgramDirs {
        match self {
            AgentKind::Everturn => &home::EVERTURN,
            AgentKind::Codelia => &home::CODELIA,
            AgentKind::Linggen => &home::LINGGEN,
        }
    }

    /// The schema of its configuration.
    pub(crate) fn schema(self) -> &'static ConfigSchema {
        match self {
            AgentKind::Everturn => &config::EVERTURN,
            AgentKind::Codelia => &codelia::SCHEMA,
            AgentKind::Linggen => &linggen::SCHEMA,
        }
    }

    /// Its secret files, by purpose.
    pub(crate) fn shapes(self) -> &'static [(&'static str, VaultFormat)] {
        match self {
            AgentKind::Everturn => &[("provider", vault::EVERTURN)],
            AgentKind::Codelia => &[("provider", codelia::AUTH), ("mcp", codelia::MCP_AUTH)],
            AgentKind::Linggen => &[("provider", linggen::CREDENTIALS)],
        }
    }
}

/// A home selected by the user.
pub(crate) struct AgentHome {
    pub(crate) agent: AgentKind,
    pub(crate) dirs: HomeDirs,
}

/// Returns the home of the agent whose format was named, or Everturn's own.
pub(crate) fn home_of(context: &Context) -> Result<AgentHome, Error> {
    let layout = context.layout.as_deref();
    if let Some(external) = layout.and_then(format::find).filter(|one| one.is_external()) {
        let what = format!("everturn does not know the settings of {}", external.name());
        return Err(Error::new(Exit::Request, what).hint("everturn config path"));
    }
    let agent = AgentKind::named(layout);
    let dirs = settings::home(agent.program(), root_for(context, layout))?;
    Ok(AgentHome { agent, dirs })
}

/// Returns the root that the user named for sessions of a format.
pub(crate) fn root_for<'c>(context: &'c Context, layout: Option<&str>) -> Option<&'c Path> {
    match AgentKind::named(layout) {
        AgentKind::Everturn => context.root.as_deref(),
        AgentKind::Codelia | AgentKind::Linggen => context.named_root(),
    }
}

/// Returns Everturn's own home; `None` if the user has no home directory.
pub(crate) fn own_home() -> Option<AgentHome> {
    let dirs = settings::home(&home::EVERTURN, None).ok()?;
    Some(AgentHome { agent: AgentKind::Everturn, dirs })
}

/// Returns the session root: the one the user named, or that of the format's agent. Everturn's own is configurable.
pub(crate) fn root(named: Option<&Path>, layout: Option<&str>) -> Result<PathBuf, Error> {
    if let Some(root) = named {
        return Ok(root.to_owned());
    }
    let agent = AgentKind::named(layout);
    let home = AgentHome { agent, dirs: settings::home(agent.program(), None)? };
    if agent == AgentKind::Everturn
        && let Some(Value::String(root)) = home.config(&[])?.get("root")
    {
        return server_roots::shown(PathBuf::from(root));
    }
    Ok(home.dirs.state_dir)
}

impl AgentHome {
    /// Returns the stored key of a provider. A key file that others can read is an error.
    pub(crate) fn secret(&self, id: &str) -> Result<Option<Secret>, Error> {
        let Some(store) = self.config_store()? else { return Ok(None) };
        let vault = Vault::new(store, vault::EVERTURN)?;
        let secret = vault.get(id)?;
        if secret.is_some() && vault.is_readable_by_others()? {
            let file = self.dirs.config_dir.join(vault::EVERTURN.file);
            let file = file.display();
            return Err(Error::new(
                Exit::Request,
                format!("other users can read the secrets in {file}"),
            )
            .hint(format!("chmod 600 {file}")));
        }
        Ok(secret)
    }

    /// Returns the configuration with all its layers; `flags` are settings from the command line.
    pub(crate) fn config(&self, flags: &[(String, Value)]) -> Result<Config, Error> {
        if self.agent == AgentKind::Linggen {
            return crate::linggen::config::read(self, flags);
        }
        let schema = self.agent.schema();
        let mut config = Config::new(schema);
        for (layer, file) in [
            (ConfigLayer::Global, &self.dirs.config_file),
            (ConfigLayer::Project, &self.dirs.project_config_file),
        ] {
            if let Some(bytes) = read(file)? {
                config.add_file(layer, &file.to_string_lossy(), &bytes)?;
                if layer == ConfigLayer::Project {
                    trust::ignore_untrusted(self, &mut config, &bytes)?;
                }
            }
        }
        for (name, key, value) in settings::variables(schema.environment) {
            config.add_value(ConfigLayer::Environment, name, key, value.into())?;
        }
        for (key, value) in flags {
            config.add_value(ConfigLayer::Flag, "--set", key, value.clone())?;
        }
        Ok(config)
    }

    /// Warns about settings that are ignored.
    pub(crate) fn mention_problems(config: &Config) {
        for problem in &config.problems {
            Output::status(problem);
        }
    }

    /// Returns the file of a layer.
    pub(crate) fn config_file(&self, layer: ConfigLayer) -> &Path {
        match layer {
            ConfigLayer::Project => &self.dirs.project_config_file,
            _ => &self.dirs.config_file,
        }
    }

    /// Returns the store of configuration and secrets for reading; `None` if there is no such directory.
    pub(crate) fn config_store(&self) -> Result<Option<Arc<dyn Store>>, Error> {
        open_if_present(&self.dirs.config_dir)
    }

    /// Returns the store of configuration and secrets for writing.
    pub(crate) fn config_store_to_write(&self) -> Result<Arc<dyn Store>, Error> {
        store_errors::open_store(&self.dirs.config_dir)
    }

    /// Returns the store of sessions and runs for reading; `None` if there is no such directory.
    pub(crate) fn state_store_if_present(&self) -> Result<Option<Arc<dyn Store>>, Error> {
        open_if_present(&self.dirs.state_dir)
    }

    /// Returns the store of sessions and runs for reading.
    pub(crate) fn state_store(&self) -> Result<Arc<dyn Store>, Error> {
        self.state_store_if_present()?.ok_or_else(|| {
            let what = format!("{} does not exist", self.dirs.state_dir.display());
            Error::new(Exit::Request, what).hint("everturn config path prints the paths in use")
        })
    }

    /// Returns the store of tool outputs for writing, and whether it holds only the cache.
    pub(crate) fn cache_store(&self) -> Result<(Arc<dyn Store>, bool), Error> {
        match self.dirs.arrangement {
            HomeLayout::Home => Ok((store_errors::open_store(&self.dirs.state_dir)?, false)),
            HomeLayout::Xdg => Ok((store_errors::open_store(&self.dirs.cache_dir)?, true)),
        }
    }
}

/// Opens a directory for reading, if it exists.
pub(crate) fn open_if_present(dir: &Path) -> Result<Option<Arc<dyn Store>>, Error> {
    if server_roots::is_address(dir) {
        return Ok(Some(OpenRoot::open(dir, RootAccess::Read)?.store()));
    }
    let disk = match outside::open_disk(dir) {
        Ok(disk) => disk,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let what = format!("cannot open {}", dir.display());
            return Err(Error::new(Exit::Request, what).caused_by(error));
        }
    };
    Ok(Some(Arc::new(FileStore::open_read_only(disk)?)))
}

/// Splits a path into its directory and file name.
fn place(file: &Path) -> Result<(&Path, FilePath), Error> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    Ok((dir.unwrap_or(Path::new(".")), FilePath::parse(name).and_then(not_root)?))
}

fn not_root(path: FilePath) -> Result<FilePath, NameError> {
    if path.is_root() { Err(NameError::Empty) } else { Ok(path) }
}

/// Returns the content of a file, or `None` if there is none. An unreadable file is an error. A link is followed, as its
/// program does.
pub(crate) fn read(file: &Path) -> Result<Option<Vec<u8>>, Error> {
    let real = if file.is_symlink() { file.canonicalize().ok() } else { None };
    let (dir, name) = place(real.as_deref().unwrap_or(file))?;
    let Some(store) = open_if_present(dir)? else { return Ok(None) };
    match store.read(&name, 0..u64::MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl AgentHome {
    /// Replaces the content of a configuration file in one commit, unless it has changed since it was read. No earlier
    /// content remains in a log: it may hold secrets.
    pub(crate) fn write(
        &self,
        file: &Path,
        before: Option<&[u8]>,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        if file.is_symlink() {
            let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
            let (link, target) = (file.display(), target.display());
            let what =
                format!("{link} is a link to {target}; everturn does not write through links");
            return Err(Error::new(Exit::Request, what).hint(format!("edit {target} itself")));
        }
        let inside = file.strip_prefix(&self.dirs.config_dir).ok().and_then(Path::to_str);
        let (store, name) = match inside {
            Some(name) => {
                let name = FilePath::parse(name).and_then(not_root)?;
                (store_errors::open_store(&self.dirs.config_dir)?, name)
            }
            None => {
                let (dir, name) = place(file)?;
                (outside::open_to_write(dir)?, name)
            }
        };
        let writer = retry_while_busy(WAIT, || store.lock(std::slice::from_ref(&name)))?;
        let expect = before
            .map_or(Precondition::Absent, |bytes| Precondition::Content(Fingerprint::of(bytes)));
        let step = Step::replace_expecting(name, expect, bytes);
        writer.commit(vec![step], Durability::Synced)?;
        writer.release()?;
        outside::wipe(&*store);
        Ok(store.checkpoint()?)
    }
}

/// Retries a change of secrets while another process is busy there.
pub(crate) fn retry_secrets<T>(
    attempt: impl FnMut() -> Result<T, SecretsError>,
) -> Result<T, Error> {
    Ok(retry_while_busy(WAIT, attempt)?)
}

impl Busy for SecretsError {
    fn is_busy(&self) -> bool {
        matches!(self, SecretsError::Store(error) if error.is_busy())
    }
}

impl From<SecretsError> for Error {
    fn from(error: SecretsError) -> Error {
        match error {
            SecretsError::Store(error) => error.into(),
            SecretsError::Name(error) => error.into(),
            SecretsError::Damaged { .. } => Error::new(Exit::Damaged, error.to_string()),
            other => Error::new(Exit::Request, other.to_string()),
        }
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Error {
        match error {
            ConfigError::Edit { .. } | ConfigError::Value { .. } => {
                Error::new(Exit::Request, "the setting cannot be changed").caused_by(error)
            }
            _ => Error::new(Exit::Damaged, "the configuration cannot be used").caused_by(error),
        }
    }
}

impl From<codelia::CodeliaError> for Error {
    fn from(error: codelia::CodeliaError) -> Error {
        format::SessionError::from(error).into()
    }
}
