//! Which project settings the user trusts. A cloned repository may bring an `.everturn/config.json`: until it is trusted,
//! it cannot choose where sessions are stored, what is read, or where a key is sent.

use std::path::Path;
use std::sync::Once;

use everturn::config::{Config, ConfigLayer};
use serde_json::{Map, Value};

use super::{AgentHome, AgentKind, read};
use crate::error::Error;
use crate::exit::Exit;
use crate::output::Output;

/// The settings that an untrusted project cannot change.
const NEED_TRUST: &[&str] = &["root", "narrator", "sources"];

/// The file with the contents that were trusted, by path, in the directory of the user's settings.
const FILE: &str = "trusted.json";

/// Whether the settings of the project are the user's own file, as in the home directory.
fn is_own(home: &AgentHome) -> bool {
    let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_owned());
    real(&home.dirs.project_config_file) == real(&home.dirs.config_file)
}

/// The path by which a file is remembered.
fn name_of(file: &Path) -> String {
    file.canonicalize().unwrap_or_else(|_| file.to_owned()).to_string_lossy().into_owned()
}

fn trusted(home: &AgentHome) -> Result<(Option<Vec<u8>>, Map<String, Value>), Error> {
    let file = home.dirs.config_dir.join(FILE);
    let bytes = read(&file)?;
    let parsed = match &bytes {
        Some(bytes) => serde_json::from_slice(bytes).map_err(|cause| {
            let what = format!("{} cannot be read", file.display());
            Error::new(Exit::Damaged, what).caused_by(cause)
        })?,
        None => Map::new(),
    };
    Ok((bytes, parsed))
}

/// Whether exactly this content of a file was trusted.
pub(crate) fn is_trusted(home: &AgentHome, file: &Path, content: &[u8]) -> Result<bool, Error> {
    let (_, known) = trusted(home)?;
    let text = known.get(&name_of(file)).and_then(Value::as_str);
    Ok(text.is_some_and(|text| text.as_bytes() == content))
}

/// Trusts the present content of a file, or no content of it.
pub(crate) fn set_trusted(
    home: &AgentHome,
    file: &Path,
    content: Option<&[u8]>,
) -> Result<(), Error> {
    let (before, mut known) = trusted(home)?;
    match content {
        Some(content) => {
            let text = String::from_utf8_lossy(content).into_owned();
            drop(known.insert(name_of(file), text.into()));
        }
        None => drop(known.remove(&name_of(file))),
    }
    let bytes = format!("{:#}\n", Value::Object(known)).into_bytes();
    home.write(&home.dirs.config_dir.join(FILE), before.as_deref(), bytes)
}

/// Removes settings of an untrusted project from a configuration, and says so once.
pub(crate) fn ignore_untrusted(
    home: &AgentHome,
    config: &mut Config,
    content: &[u8],
) -> Result<(), Error> {
    static MENTIONED: Once = Once::new();
    let file = &home.dirs.project_config_file;
    if home.agent != AgentKind::Everturn || is_own(home) || is_trusted(home, file, content)? {
        return Ok(());
    }
    let ignored = config.remove_keys(ConfigLayer::Project, NEED_TRUST);
    if !ignored.is_empty() {
        MENTIONED.call_once(|| {
            let (file, keys) = (file.display(), ignored.join(", "));
            Output::status(&format!("{file} is not trusted: {keys} ignored; see: everturn trust"));
        });
    }
    Ok(())
}

/// Writes a file of settings. What the user sets in a trusted or new file of a project is trusted.
pub(crate) fn write_settings(
    home: &AgentHome,
    file: &Path,
    before: Option<&[u8]>,
    bytes: Vec<u8>,
) -> Result<(), Error> {
    let is_project =
        home.agent == AgentKind::Everturn && file == home.dirs.project_config_file && !is_own(home);
    let is_known = match before {
        Some(before) if is_project => is_trusted(home, file, before)?,
        _ => true,
    };
    let after = bytes.clone();
    home.write(file, before, bytes)?;
    match is_project && is_known {
        true => set_trusted(home, file, Some(&after)),
        false => Ok(()),
    }
}
