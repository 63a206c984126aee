//! Layered settings: a flag overrides the environment, which overrides the project, which overrides the global file,
//! which overrides the defaults.
//!
//! Layers are merged field by field, so a project that sets one field of a group keeps the others. A [`ConfigSchema`]
//! is a table of the groups with other merge rules, the types of fields, and the layer to which a change is written.
//!
//! ```
//! use everturn_settings::config::{Config, FieldType, ConfigLayer, ConfigSchema};
//!
//! const SCHEMA: ConfigSchema = ConfigSchema {
//!     version: 1,
//!     defaults: r#"{"model":{"provider":"openai"}}"#,
//!     environment: &[],
//!     merge: &[],
//!     project_groups: &[],
//!     fields: &[
//!         ("model", FieldType::Object),
//!         ("model.provider", FieldType::Text),
//!         ("model.name", FieldType::Text),
//!         ("model.reasoning", FieldType::Text),
//!     ],
//! };
//!
//! let mut config = Config::new(&SCHEMA);
//! config.add_file(ConfigLayer::Global, "~/.codelia/config.json",
//!     br#"{"version":1,"model":{"provider":"anthropic","name":"one"}}"#)?;
//! config.add_file(ConfigLayer::Project, ".codelia/config.json",
//!     br#"{"version":1,"model":{"reasoning":"high"}}"#)?;
//! assert_eq!(config.get("model.provider"), Some("anthropic".into()));
//! assert_eq!(config.explain("model.reasoning")[0].layer, ConfigLayer::Project);
//! # Ok::<(), everturn_settings::config::ConfigError>(())
//! ```

mod edit;
mod fields;

use std::fmt;

use serde_json::{Map, Value};
use thiserror::Error;

use everturn_value::document::{Document, EditError, ParseError, ReadError};

pub use edit::{add_item, layer_for, remove_item, remove_value, set_value};
pub use fields::FieldType;

/// The source of a setting, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigLayer {
    /// The command line.
    Flag,
    /// An environment variable.
    Environment,
    /// Changes at run time, for programs that store them separately.
    Runtime,
    /// The project file.
    Project,
    /// The user's file.
    Global,
    /// The defaults of the program.
    Default,
}

impl fmt::Display for ConfigLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigLayer::Flag => "flag",
            ConfigLayer::Environment => "environment",
            ConfigLayer::Runtime => "runtime",
            ConfigLayer::Project => "project",
            ConfigLayer::Global => "global",
            ConfigLayer::Default => "default",
        })
    }
}

/// How the values of two layers are merged, if not field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRule {
    /// The elements of the weaker layer, then those of the stronger.
    Concatenate,
    /// The same, if the stronger layer has a certain value at a key; otherwise its own elements alone.
    ConcatenateIf {
        /// The key.
        key: &'static str,
        /// The value.
        is: &'static str,
    },
    /// By key; the stronger layer replaces whole entries.
    ByKey,
}

/// The schema of a configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSchema {
    /// The supported version.
    pub version: u64,
    /// The defaults, as JSON.
    pub defaults: &'static str,
    /// Environment variables, and the keys that they set.
    pub environment: &'static [(&'static str, &'static str)],
    /// The merge rules of keys that are not merged field by field.
    pub merge: &'static [(&'static str, MergeRule)],
    /// Groups whose changes are written to the project; others are written to the user's file.
    pub project_groups: &'static [&'static str],
    /// The types of fields; unknown fields are preserved.
    pub fields: &'static [(&'static str, FieldType)],
}

/// The settings of Everturn itself.
pub const EVERTURN: ConfigSchema = ConfigSchema {
    version: 1,
    defaults: "{}",
    environment: &[("EVERTURN_ROOT", "root")],
    merge: &[],
    project_groups: &[],
    fields: &[
        ("root", FieldType::Text),
        ("narrator", FieldType::Object),
        ("sources", FieldType::Object),
    ],
};

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not JSON.
    #[error("{place} cannot be read")]
    Parse {
        /// The file.
        place: String,
        /// The error.
        #[source]
        source: ParseError,
    },
    /// Its values cannot be read.
    #[error("{place} cannot be read")]
    Read {
        /// The file.
        place: String,
        /// The error.
        #[source]
        source: ReadError,
    },
    /// It is not a configuration.
    #[error("{place}: {reason}")]
    Shape {
        /// The file.
        place: String,
        /// The problem.
        reason: String,
    },
    /// A setting cannot be changed like this.
    #[error("cannot change {key}")]
    Edit {
        /// The setting.
        key: String,
        /// The error.
        #[source]
        source: EditError,
    },
    /// A setting cannot have this value.
    #[error("{reason}")]
    Value {
        /// The reason.
        reason: String,
    },
}

/// The value of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerValue {
    /// The layer.
    pub layer: ConfigLayer,
    /// The file, the variable or the flag.
    pub place: String,
    /// The value.
    pub value: Value,
}

/// A configuration with all its layers.
#[derive(Debug, Clone)]
pub struct Config {
    schema: &'static ConfigSchema,
    /// The layers, weakest first.
    layers: Vec<LayerValue>,
    /// The problems of values, with their files; such values are ignored.
    pub problems: Vec<String>,
}

/// The parts of a key such as `model.name`.
pub(crate) fn key_parts(key: &str) -> Vec<&str> {
    key.split('.').collect()
}

/// The value at a key. A number leads to an element of a list.
fn value_at<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    key_parts(key).iter().try_fold(value, |value, part| match value {
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

impl Config {
    /// A configuration with only the defaults.
    #[must_use]
    pub fn new(schema: &'static ConfigSchema) -> Config {
        let value = serde_json::from_str(schema.defaults).unwrap_or_else(|_| Map::new().into());
        let layers =
            vec![LayerValue { layer: ConfigLayer::Default, place: "default".to_owned(), value }];
        Config { schema, layers, problems: Vec::new() }
    }

    /// Adds the content of a file, which must have the supported version.
    pub fn add_file(
        &mut self,
        layer: ConfigLayer,
        place: &str,
        bytes: &[u8],
    ) -> Result<(), ConfigError> {
        let mut value = parse_object(place, bytes)?;
        let shape = |reason: String| ConfigError::Shape { place: place.to_owned(), reason };
        match value.get("version") {
            Some(version) if version.as_u64() == Some(self.schema.version) => {}
            Some(version) => {
                return Err(shape(format!("version is {version}, not {}", self.schema.version)));
            }
            None => return Err(shape("version is missing".to_owned())),
        }
        let problems = fields::remove_invalid(self.schema, &mut value);
        self.problems.extend(problems.into_iter().map(|problem| format!("{place}: {problem}")));
        self.add(layer, place, value);
        Ok(())
    }

    /// Adds one value, from a variable or a flag.
    pub fn add_value(
        &mut self,
        layer: ConfigLayer,
        place: &str,
        key: &str,
        value: Value,
    ) -> Result<(), ConfigError> {
        fields::check_value(self.schema, key, &value)
            .map_err(|reason| ConfigError::Value { reason })?;
        let whole = key_parts(key).iter().rev().fold(value, |inner, part| {
            Value::Object([((*part).to_owned(), inner)].into_iter().collect())
        });
        self.add(layer, place, whole);
        Ok(())
    }

    /// Adds the content of a file that is not JSON and has no version.
    pub fn add_settings(&mut self, layer: ConfigLayer, place: &str, value: Value) {
        self.add(layer, place, value);
    }

    fn add(&mut self, layer: ConfigLayer, place: &str, value: Value) {
        self.layers.push(LayerValue { layer, place: place.to_owned(), value });
        // Stable, so that the later of two flags counts.
        self.layers.sort_by_key(|origin| std::cmp::Reverse(origin.layer));
    }

    /// Removes settings from a layer; returns those that it had.
    pub fn remove_keys(&mut self, layer: ConfigLayer, keys: &[&str]) -> Vec<String> {
        let mut removed = Vec::new();
        for origin in self.layers.iter_mut().filter(|origin| origin.layer == layer) {
            let Some(settings) = origin.value.as_object_mut() else { continue };
            for key in keys {
                if settings.remove(*key).is_some() {
                    removed.push((*key).to_owned());
                }
            }
        }
        removed
    }

    /// All problems of a file.
    #[must_use]
    pub fn find_problems(schema: &'static ConfigSchema, bytes: &[u8]) -> Vec<String> {
        let mut config = Config::new(schema);
        match config.add_file(ConfigLayer::Global, "", bytes) {
            Ok(()) => config
                .problems
                .into_iter()
                .map(|problem| problem.trim_start_matches(": ").to_owned())
                .collect(),
            Err(ConfigError::Shape { reason, .. }) => vec![reason],
            // An invalid document is reported elsewhere.
            Err(_) => Vec::new(),
        }
    }

    /// All settings, merged.
    #[must_use]
    pub fn merged(&self) -> Value {
        let mut merged = Value::Object(Map::new());
        for origin in &self.layers {
            merge_layer(self.schema, &mut merged, &origin.value, "", &origin.value);
        }
        merged
    }

    /// A setting or a group of settings, merged.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value> {
        value_at(&self.merged(), key).cloned()
    }

    /// All layers that define a setting, strongest first.
    #[must_use]
    pub fn explain(&self, key: &str) -> Vec<LayerValue> {
        let layers = self.layers.iter().rev();
        let said = layers.filter_map(|origin| {
            Some(LayerValue { value: value_at(&origin.value, key)?.clone(), ..origin.clone() })
        });
        said.collect()
    }
}

/// Parses a file as an object.
fn parse_object(place: &str, bytes: &[u8]) -> Result<Value, ConfigError> {
    let place = place.to_owned();
    let document = match Document::parse(bytes) {
        Ok(document) => document,
        Err(source) => return Err(ConfigError::Parse { place, source }),
    };
    match document.value(&[]) {
        Ok(Some(value)) if value.is_object() => Ok(value),
        Ok(_) => {
            Err(ConfigError::Shape { place, reason: "the document is not an object".to_owned() })
        }
        Err(source) => Err(ConfigError::Read { place, source }),
    }
}

/// Merges a stronger layer over a weaker one. Documents are at most 127 levels deep, so the recursion is bounded.
fn merge_layer(schema: &ConfigSchema, under: &mut Value, over: &Value, path: &str, layer: &Value) {
    let rule = schema.merge.iter().find(|(key, _)| *key == path).map(|(_, rule)| *rule);
    let joins = match rule {
        Some(MergeRule::Concatenate) => true,
        Some(MergeRule::ConcatenateIf { key, is }) => {
            value_at(layer, key).and_then(Value::as_str) == Some(is)
        }
        Some(MergeRule::ByKey) | None => false,
    };
    match (under, over) {
        (Value::Array(under), Value::Array(over)) if joins => under.extend(over.iter().cloned()),
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                match under.get_mut(key).filter(|_| rule != Some(MergeRule::ByKey)) {
                    Some(below) => {
                        let path =
                            if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                        merge_layer(schema, below, value, &path, layer);
                    }
                    None => drop(under.insert(key.clone(), value.clone())),
                }
            }
        }
        (under, over) => under.clone_from(over),
    }
}
