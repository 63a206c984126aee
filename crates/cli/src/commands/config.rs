//! `everturn config`: shows and changes settings.

mod items;

use std::path::PathBuf;

use everturn::codelia::{ApprovalMode, ProjectPolicies};
use everturn::config::{self, ConfigLayer};
use everturn::vault::mask_setting;
use serde_json::{Value, json};

use super::Context;
use crate::agent_homes::{self, AgentHome, AgentKind, trust};
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::settings;
use crate::{codelia, linggen};

/// Show or change settings and where they come from
///
/// Precedence, highest first: flags, the environment, the project's file, the user's file,
/// defaults. Files are merged field by field, and a change leaves the rest of a file as it is.
/// Without `--layout`, these are Everturn's own settings; with `--layout codelia`, those of
/// Codelia; with `--layout linggen`, those of Linggen, where changes are written to its file of
/// runtime overrides. Secrets are masked.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn config path
  everturn config set root /data/sessions
  everturn config explain model.reasoning --layout codelia
  everturn config set model.name gpt-5 --layout codelia --scope project

Output with --json:
  get      {"key":"model.name","value":"gpt-5"}
  explain  {"key":"model.name","value":"gpt-5","layers":[
             {"layer":"project","place":".codelia/config.json","value":"gpt-5"}]}
  set      {"key":"model.name","layer":"project","file":"…"}
  path     {"config":"…","project":"…","state":"…","cache":"…"}"#)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    /// Print a setting, or all settings
    #[command(after_help = "\
Examples:
  everturn config get
  everturn config get model.name --layout codelia")]
    Get {
        /// The name of the setting, such as `model.name`
        #[arg(value_name = "SETTING")]
        key: Option<String>,
        #[command(flatten)]
        flags: ConfigFlags,
    },
    /// Print every layer that defines a setting, highest precedence first
    #[command(after_help = "\
Examples:
  everturn config explain model.reasoning --layout codelia")]
    Explain {
        /// The name of the setting, such as `model.name`
        #[arg(value_name = "SETTING")]
        key: String,
        #[command(flatten)]
        flags: ConfigFlags,
    },
    /// Change a setting
    #[command(after_help = "\
Examples:
  everturn config set root /data/sessions
  everturn config set model.name gpt-5 --layout codelia --scope project")]
    Set {
        /// The name of the setting, such as `model.name`
        #[arg(value_name = "SETTING")]
        key: String,
        /// The value: JSON, or a word
        value: String,
        /// The file to write; default: the file that has the setting, or else the usual file
        #[arg(long, value_name = "SCOPE", value_parser = ["project", "global"])]
        scope: Option<String>,
    },
    /// Remove a setting, so that the next layer applies
    #[command(after_help = "\
Examples:
  everturn config unset root
  everturn config unset model.name --layout codelia --scope project")]
    Unset {
        /// The name of the setting, such as `model.name`
        #[arg(value_name = "SETTING")]
        key: String,
        /// The file to change; default: the file of highest precedence that has the setting
        #[arg(long, value_name = "SCOPE", value_parser = ["project", "global"])]
        scope: Option<String>,
    },
    /// Add an item to a list, such as a permission
    #[command(after_help = "\
Examples:
  everturn config add permissions.allow '{\"tool\":\"bash\",\"command\":\"ls\"}' --layout codelia")]
    Add {
        /// The name of the list, such as `permissions.allow`
        #[arg(value_name = "SETTING")]
        key: String,
        /// The item: JSON, or a word
        value: String,
        /// The file to write; default: the file that has the setting, or else the usual file
        #[arg(long, value_name = "SCOPE", value_parser = ["project", "global"])]
        scope: Option<String>,
    },
    /// Remove an item from a list
    #[command(after_help = "\
Examples:
  everturn config remove permissions.allow '{\"tool\":\"bash\",\"command\":\"ls\"}' --layout codelia")]
    Remove {
        /// The name of the list, such as `permissions.allow`
        #[arg(value_name = "SETTING")]
        key: String,
        /// The item: JSON, or a word
        value: String,
        /// The file to change; default: the file of highest precedence that has the item
        #[arg(long, value_name = "SCOPE", value_parser = ["project", "global"])]
        scope: Option<String>,
    },
    /// Print the paths of configuration, sessions and caches
    #[command(after_help = "\
Examples:
  everturn config path
  everturn config path --layout codelia --json")]
    Path,
}

#[derive(Debug, clap::Args)]
struct ConfigFlags {
    /// A setting, as if given on the command line of the program
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Parses a value as JSON, or else takes it as a string.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

impl ConfigFlags {
    fn values(&self) -> Result<Vec<(String, Value)>, Error> {
        let pair = |word: &String| match word.split_once('=') {
            Some((key, text)) => Ok((key.to_owned(), value(text))),
            None => Err(Error::new(Exit::Request, format!("{word:?} is not KEY=VALUE"))),
        };
        self.set.iter().map(pair).collect()
    }
}

/// The values of a setting by layer, strongest first: layer, origin, value.
type SettingLayers = Vec<(String, String, Value)>;

/// The only setting outside the configuration: how much an agent may do without asking.
const APPROVAL: &str = "approval_mode";

/// The environment variable for that setting.
const APPROVAL_VARIABLE: &str = "CODELIA_APPROVAL_MODE";

/// Returns the approval mode by layer for the current project. An unknown mode is an error.
fn approval(home: &AgentHome, flags: &[(String, Value)]) -> Result<SettingLayers, Error> {
    let mut said: SettingLayers = Vec::new();
    let mut add = |layer: &str, place: String, mode: ApprovalMode| {
        said.push((layer.to_owned(), place, mode.as_str().into()));
    };
    for (_, value) in flags.iter().rev().filter(|(key, _)| key == APPROVAL) {
        let mode = ApprovalMode::parse(value.as_str().unwrap_or_default())?;
        add("flag", "--set".to_owned(), mode);
    }
    if let Some(word) = settings::variable(APPROVAL_VARIABLE) {
        let mode = ApprovalMode::parse(&word).map_err(Error::from)?;
        add("environment", APPROVAL_VARIABLE.to_owned(), mode);
    }
    if let Some(store) = home.config_store()? {
        let projects = ProjectPolicies::read(&store)?;
        let file = codelia::policy_file(home);
        let project = settings::project()?;
        if let Some(mode) = projects.of(&project) {
            add("project", file.clone(), mode);
        }
        if let Some(mode) = projects.default {
            add("global", file, mode);
        }
    }
    add("default", "default".to_owned(), ApprovalMode::Minimal);
    Ok(said)
}

fn setting_layers(
    home: &AgentHome,
    key: &str,
    flags: &[(String, Value)],
) -> Result<SettingLayers, Error> {
    if home.agent == AgentKind::Codelia && key == APPROVAL {
        return approval(home, flags);
    }
    let config = home.config(flags)?;
    AgentHome::mention_problems(&config);
    let origins = config.explain(key).into_iter();
    Ok(origins.map(|origin| (origin.layer.to_string(), origin.place, origin.value)).collect())
}

fn unset(key: &str) -> Error {
    Error::new(Exit::Request, format!("{key} is not set"))
        .hint("everturn config get lists all settings")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn get(
    home: &AgentHome,
    context: &mut Context,
    key: Option<&str>,
    flags: &ConfigFlags,
) -> Result<(), EarlyExit> {
    let flags = flags.values()?;
    let found = match key {
        Some(key) if home.agent == AgentKind::Codelia && key == APPROVAL => {
            approval(home, &flags)?.into_iter().next().map(|(_, _, value)| value)
        }
        _ => {
            let config = home.config(&flags)?;
            AgentHome::mention_problems(&config);
            match key {
                Some(key) => config.get(key),
                None => {
                    let mut all = config.merged();
                    if home.agent == AgentKind::Codelia
                        && let Some(settings) = all.as_object_mut()
                        && let Some((_, _, mode)) = approval(home, &flags)?.into_iter().next()
                    {
                        settings.insert(APPROVAL.to_owned(), mode);
                    }
                    Some(all)
                }
            }
        }
    };
    let found = found.ok_or_else(|| unset(key.unwrap_or_default()))?;
    let found = mask_setting(key.unwrap_or_default(), &found);
    match (context.json, key) {
        (true, _) => writeln!(context.out, "{}", json!({"key": key, "value": found})),
        (false, Some(_)) => writeln!(context.out, "{}", shown(&found)),
        (false, None) => {
            let text = serde_json::to_string_pretty(&found).unwrap_or_default();
            writeln!(context.out, "{text}")
        }
    }
}

fn explain(
    home: &AgentHome,
    context: &mut Context,
    key: &str,
    flags: &ConfigFlags,
) -> Result<(), EarlyExit> {
    let flags = flags.values()?;
    let said = setting_layers(home, key, &flags)?;
    if said.is_empty() {
        return Err(unset(key).into());
    }
    if context.json {
        let merged = match key {
            APPROVAL => said.first().map(|(_, _, value)| value.clone()),
            _ => home.config(&flags)?.get(key),
        };
        let layers: Vec<Value> = said
            .iter()
            .map(|(layer, place, value)| {
                json!({"layer": layer, "place": place, "value": mask_setting(key, value)})
            })
            .collect();
        let value = merged.map(|value| mask_setting(key, &value));
        return writeln!(context.out, "{}", json!({"key": key, "value": value, "layers": layers}));
    }
    for (layer, place, value) in said {
        writeln!(context.out, "{layer:11}  {}  ({place})", shown(&mask_setting(key, &value)))?;
    }
    Ok(())
}

fn layer(scope: Option<&str>) -> Option<ConfigLayer> {
    Some(if scope? == "project" { ConfigLayer::Project } else { ConfigLayer::Global })
}

/// Refuses a scope where a home has one file for all changes.
fn refuse_scope(scope: Option<&str>) -> Result<(), Error> {
    match scope {
        None | Some("global") => Ok(()),
        Some(_) => {
            let what = "Linggen has no settings of projects";
            Err(Error::new(Exit::Request, what).hint("omit --scope"))
        }
    }
}

/// Changes a setting; returns the layer and the file.
fn set(
    home: &AgentHome,
    key: &str,
    text: &str,
    scope: Option<&str>,
) -> Result<(ConfigLayer, String), Error> {
    if home.agent == AgentKind::Codelia && key == APPROVAL {
        let mode = ApprovalMode::parse(text)?;
        let layer = layer(scope).unwrap_or(ConfigLayer::Project);
        let project = settings::project()?;
        let project = (layer == ConfigLayer::Project).then_some(project.as_str());
        codelia::change_policy(home, project, Some(mode))?;
        return Ok((layer, codelia::policy_file(home)));
    }
    if home.agent == AgentKind::Linggen {
        refuse_scope(scope)?;
        let changed = linggen::config::change(home, key, Some(&value(text)))?;
        return changed.ok_or_else(|| unset(key));
    }
    let layer = match layer(scope) {
        Some(layer) => layer,
        None => config::layer_for(&home.config(&[])?, key),
    };
    let file = home.config_file(layer);
    let (before, place) = (agent_homes::read(file)?, file.to_string_lossy().into_owned());
    let bytes =
        config::set_value(home.agent.schema(), &place, before.as_deref(), key, &value(text))?;
    trust::write_settings(home, file, before.as_deref(), bytes)?;
    Ok((layer, place))
}

fn unset_one(
    home: &AgentHome,
    key: &str,
    scope: Option<&str>,
) -> Result<(ConfigLayer, String), Error> {
    if home.agent == AgentKind::Linggen {
        refuse_scope(scope)?;
        return linggen::config::change(home, key, None)?.ok_or_else(|| unset(key));
    }
    let layers = match layer(scope) {
        Some(layer) => vec![layer],
        None => vec![ConfigLayer::Project, ConfigLayer::Global],
    };
    if home.agent == AgentKind::Codelia && key == APPROVAL {
        let project = settings::project()?;
        for layer in layers {
            let project = (layer == ConfigLayer::Project).then_some(project.as_str());
            if codelia::change_policy(home, project, None)? {
                return Ok((layer, codelia::policy_file(home)));
            }
        }
        return Err(unset(key));
    }
    for layer in layers {
        let file = home.config_file(layer);
        let place = file.to_string_lossy().into_owned();
        let Some(before) = agent_homes::read(file)? else { continue };
        if let Some(bytes) = config::remove_value(home.agent.schema(), &place, &before, key)? {
            trust::write_settings(home, file, Some(&before), bytes)?;
            return Ok((layer, place));
        }
    }
    Err(unset(key))
}

fn path(home: &AgentHome, context: &mut Context) -> Result<(), EarlyExit> {
    let dirs = &home.dirs;
    let paths: Vec<(&str, PathBuf)> = match home.agent {
        AgentKind::Linggen => {
            let files = linggen::config::files(home)?;
            let config = files.config.unwrap_or_else(|| files.to_write.clone());
            let state = dirs.state_dir.clone();
            vec![
                ("config", config),
                ("runtime", files.to_write),
                ("secrets", state.clone()),
                ("state", state),
            ]
        }
        AgentKind::Everturn | AgentKind::Codelia => vec![
            ("config", dirs.config_file.clone()),
            ("project", dirs.project_config_file.clone()),
            ("secrets", dirs.config_dir.clone()),
            ("state", dirs.state_dir.clone()),
            ("cache", dirs.cache_dir.clone()),
        ],
    };
    if context.json {
        let paths: serde_json::Map<String, Value> = paths
            .iter()
            .map(|(name, path)| ((*name).to_owned(), path.to_string_lossy().into_owned().into()))
            .collect();
        return writeln!(context.out, "{}", Value::Object(paths));
    }
    for (name, path) in paths {
        writeln!(context.out, "{name:8} {}", path.display())?;
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let home = agent_homes::home_of(context)?;
    let done = match &args.what {
        ConfigCommand::Get { key, flags } => {
            get(&home, context, key.as_deref(), flags)?;
            return Ok(Exit::Success);
        }
        ConfigCommand::Explain { key, flags } => {
            explain(&home, context, key, flags)?;
            return Ok(Exit::Success);
        }
        ConfigCommand::Path => {
            path(&home, context)?;
            return Ok(Exit::Success);
        }
        ConfigCommand::Set { key, value, scope } => {
            (key, set(&home, key, value, scope.as_deref())?)
        }
        ConfigCommand::Unset { key, scope } => (key, unset_one(&home, key, scope.as_deref())?),
        ConfigCommand::Add { key, value: item, scope } => {
            (key, items::add_item(&home, key, &value(item), scope.as_deref())?)
        }
        ConfigCommand::Remove { key, value: item, scope } => {
            (key, items::remove_item(&home, key, &value(item), scope.as_deref())?)
        }
    };
    let (key, (layer, file)) = done;
    if context.json {
        let answer = json!({"key": key, "layer": layer.to_string(), "file": file});
        writeln!(context.out, "{answer}")?;
    } else {
        Output::status(&format!("{key} was changed in {file}"));
    }
    Ok(Exit::Success)
}
