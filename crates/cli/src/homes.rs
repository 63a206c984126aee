//! Homes of programs: Everturn's own, and those of the agents whose layout is named with `--layout`.
//!
//! A home is described by its [`Program`]; another one is an arm in [`Agent::named`] and where that is matched.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use everturn::codelia;
use everturn::config::{self, Config, ConfigError, Layer, Schema};
use everturn::disk::RealDisk;
use everturn::home::{self, Arrangement, Home, Program};
use everturn::linggen;
use everturn::names::{FilePath, NameError};
use everturn::secrets::{self, Secret, SecretsError, Shape, Vault};
use everturn::store::{
    Durability, Expect, FileStore, Fingerprint, Secrecy, Step, Store, StoreError,
};
use serde_json::Value;

use crate::commands::Context;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;
use crate::sessions::{MaybeBusy, patiently};
use crate::{faults, settings};

/// How long a change of a home waits for another process.
const WAIT: Duration = Duration::from_secs(5);

/// Whose home it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agent {
    Everturn,
    Codelia,
    Linggen,
}

impl Agent {
    /// The agent of a layout; layouts that are no agent's belong to Everturn.
    fn named(layout: Option<&str>) -> Agent {
        match layout {
            Some("codelia") => Agent::Codelia,
            Some("linggen") => Agent::Linggen,
            _ => Agent::Everturn,
        }
    }

    fn program(self) -> &'static Program {
        match self {
            Agent::Everturn => &home::EVERTURN,
            Agent::Codelia => &home::CODELIA,
            Agent::Linggen => &home::LINGGEN,
        }
    }

    /// What its configuration may hold.
    pub(crate) fn schema(self) -> &'static Schema {
        match self {
            Agent::Everturn => &config::EVERTURN,
            Agent::Codelia => &codelia::SCHEMA,
            Agent::Linggen => &linggen::SCHEMA,
        }
    }

    /// Its files of secrets, by what they are for.
    pub(crate) fn shapes(self) -> &'static [(&'static str, Shape)] {
        match self {
            Agent::Everturn => &[("provider", secrets::EVERTURN)],
            Agent::Codelia => &[("provider", codelia::AUTH), ("mcp", codelia::MCP_AUTH)],
            Agent::Linggen => &[("provider", linggen::CREDENTIALS)],
        }
    }
}

/// A home that the user means.
pub(crate) struct AgentHome {
    pub(crate) agent: Agent,
    pub(crate) dirs: Home,
}

impl Context {
    /// The home of the agent whose layout was named, or Everturn's own.
    pub(crate) fn home(&self) -> Result<AgentHome, Error> {
        let agent = Agent::named(self.layout.as_deref());
        let dirs = settings::home(agent.program(), self.root.as_deref())?;
        Ok(AgentHome { agent, dirs })
    }
}

/// Everturn's own home, unless the user has none.
pub(crate) fn own() -> Option<AgentHome> {
    let dirs = settings::home(&home::EVERTURN, None).ok()?;
    Some(AgentHome { agent: Agent::Everturn, dirs })
}

/// The root of sessions: what the user named, or where the agent of a layout keeps them. Everturn's own can be set.
pub(crate) fn root(named: Option<&Path>, layout: Option<&str>) -> Result<PathBuf, Error> {
    if let Some(root) = named {
        return Ok(root.to_owned());
    }
    let agent = Agent::named(layout);
    let home = AgentHome { agent, dirs: settings::home(agent.program(), None)? };
    if agent == Agent::Everturn
        && let Some(Value::String(root)) = home.config(&[])?.get("root")
    {
        return Ok(PathBuf::from(root));
    }
    Ok(home.dirs.state_dir)
}

impl AgentHome {
    /// A key that is kept for a provider. A file of them that others can read is refused.
    pub(crate) fn secret(&self, id: &str) -> Result<Option<Secret>, Error> {
        let Some(store) = self.config_store()? else { return Ok(None) };
        let vault = Vault::new(store, secrets::EVERTURN)?;
        let secret = vault.get(id)?;
        if secret.is_some() && vault.is_open()? {
            let file = self.dirs.config_dir.join(secrets::EVERTURN.file);
            let file = file.display();
            return Err(Error::new(
                Exit::Request,
                format!("others can read the secrets in {file}"),
            )
            .hint(format!("chmod 600 {file}")));
        }
        Ok(secret)
    }

    /// The configuration with all its layers; `flags` are settings given on the command line.
    pub(crate) fn config(&self, flags: &[(String, Value)]) -> Result<Config, Error> {
        if self.agent == Agent::Linggen {
            return crate::linggen::config::read(self, flags);
        }
        let schema = self.agent.schema();
        let mut config = Config::new(schema);
        for (layer, file) in [
            (Layer::Global, &self.dirs.config_file),
            (Layer::Project, &self.dirs.project_config_file),
        ] {
            if let Some(bytes) = read(file)? {
                config.add_file(layer, &file.to_string_lossy(), &bytes)?;
            }
        }
        for (name, key, value) in settings::variables(schema.environment) {
            config.add_value(Layer::Environment, name, key, value.into())?;
        }
        for (key, value) in flags {
            config.add_value(Layer::Flag, "--set", key, value.clone())?;
        }
        Ok(config)
    }

    /// Tells people which settings are left out.
    pub(crate) fn mention_problems(config: &Config) {
        for problem in &config.problems {
            Output::status(problem);
        }
    }

    /// The file of a layer.
    pub(crate) fn config_file(&self, layer: Layer) -> &Path {
        match layer {
            Layer::Project => &self.dirs.project_config_file,
            _ => &self.dirs.config_file,
        }
    }

    /// The store of configuration and secrets, to be read; none, if there is no such directory.
    pub(crate) fn config_store(&self) -> Result<Option<Arc<dyn Store>>, Error> {
        look(&self.dirs.config_dir)
    }

    /// The same, to be written.
    pub(crate) fn config_store_to_write(&self) -> Result<FileStore, Error> {
        faults::open_store(&self.dirs.config_dir)
    }

    /// The store of sessions and runs, to be read.
    pub(crate) fn state_store(&self) -> Result<Arc<dyn Store>, Error> {
        look(&self.dirs.state_dir)?.ok_or_else(|| {
            let what = format!("there is nothing at {}", self.dirs.state_dir.display());
            Error::new(Exit::Request, what).hint("everturn config path says where things are")
        })
    }

    /// The store of tool outputs, to be written, and whether it is the cache alone.
    pub(crate) fn cache_store(&self) -> Result<(FileStore, bool), Error> {
        match self.dirs.arrangement {
            Arrangement::Home => Ok((faults::open_store(&self.dirs.state_dir)?, false)),
            Arrangement::Xdg => Ok((faults::open_store(&self.dirs.cache_dir)?, true)),
        }
    }
}

/// Opens a directory for reading, if it is there.
fn look(dir: &Path) -> Result<Option<Arc<dyn Store>>, Error> {
    let disk = match RealDisk::open(dir) {
        Ok(disk) => disk,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let what = format!("cannot open {}", dir.display());
            return Err(Error::new(Exit::Request, what).caused_by(error));
        }
    };
    Ok(Some(Arc::new(FileStore::open_read_only(Arc::new(disk))?)))
}

/// The directory and the name of a file.
fn place(file: &Path) -> Result<(&Path, FilePath), Error> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    Ok((dir.unwrap_or(Path::new(".")), FilePath::parse(name).and_then(not_root)?))
}

fn not_root(path: FilePath) -> Result<FilePath, NameError> {
    if path.is_root() { Err(NameError::Empty) } else { Ok(path) }
}

/// The content of a file, if there is one. One that cannot be read is an error.
pub(crate) fn read(file: &Path) -> Result<Option<Vec<u8>>, Error> {
    let (dir, name) = place(file)?;
    let Some(store) = look(dir)? else { return Ok(None) };
    match store.read(&name, 0..u64::MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Gives a file another content in one commit, if it still has the one that was read.
pub(crate) fn write(file: &Path, before: Option<&[u8]>, bytes: Vec<u8>) -> Result<(), Error> {
    let (dir, name) = place(file)?;
    let store = faults::open_store(dir)?;
    let writer = patiently(WAIT, || store.lock(std::slice::from_ref(&name)))?;
    let expect = before.map_or(Expect::Absent, |bytes| Expect::Content(Fingerprint::of(bytes)));
    let step = Step::Replace { file: name, expect, bytes, secrecy: Secrecy::Usual };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(store.close()?)
}

/// Tries a change of secrets again while another process is at work there.
pub(crate) fn patient<T>(attempt: impl FnMut() -> Result<T, SecretsError>) -> Result<T, Error> {
    Ok(patiently(WAIT, attempt)?)
}

impl MaybeBusy for SecretsError {
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
        everturn::layout::LayoutError::from(error).into()
    }
}
