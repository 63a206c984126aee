//! Settings in layers: what a flag says counts before the environment, that before the project, that before the
//! global file, and that before the defaults.
//!
//! Layers are merged field by field, so a project that sets one field of a group keeps the others. Which groups are
//! merged otherwise, what their fields may be, and where a change of them is written, is a table: a [`ConfigSchema`].
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

pub use edit::{layer_for, remove_value, set_value};
pub use fields::FieldType;

/// Where a setting comes from, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigLayer {
    /// The command line.
    Flag,
    /// A variable of the environment.
    Environment,
    /// What was changed while a program ran, where it keeps that apart.
    Runtime,
    /// The file of the project.
    Project,
    /// The file of the user.
    Global,
    /// The program itself.
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

/// How the values of two layers become one, where it is not field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRule {
    /// The elements of the weaker layer, then those of the stronger.
    Concatenate,
    /// The same, if the stronger layer has a certain word somewhere; otherwise its own elements alone.
    ConcatenateIf {
        /// Where.
        key: &'static str,
        /// The word.
        is: &'static str,
    },
    /// By key, and the stronger layer has the whole of an entry.
    ByKey,
}

/// What a configuration may hold.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSchema {
    /// The version that is understood.
    pub version: u64,
    /// The defaults, as JSON.
    pub defaults: &'static str,
    /// Variables, and the keys that they set.
    pub environment: &'static [(&'static str, &'static str)],
    /// What is not merged field by field.
    pub merge: &'static [(&'static str, MergeRule)],
    /// Groups whose changes belong to the project; those of others belong to the user.
    pub project_groups: &'static [&'static str],
    /// What fields may be; others are kept as they are.
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
        /// What is wrong.
        #[source]
        source: ParseError,
    },
    /// It cannot be taken apart.
    #[error("{place} cannot be read")]
    Read {
        /// The file.
        place: String,
        /// What is wrong.
        #[source]
        source: ReadError,
    },
    /// It is not what a configuration is.
    #[error("{place}: {reason}")]
    Shape {
        /// The file.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A setting cannot be changed like this.
    #[error("cannot change {key}")]
    Edit {
        /// The setting.
        key: String,
        /// What is in the way.
        #[source]
        source: EditError,
    },
    /// A setting cannot have this value.
    #[error("{reason}")]
    Value {
        /// Why.
        reason: String,
    },
}

/// One layer of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerValue {
    /// Which one.
    pub layer: ConfigLayer,
    /// The file, the variable or the flag.
    pub place: String,
    /// What it says.
    pub value: Value,
}

/// A configuration, with all its layers.
#[derive(Debug, Clone)]
pub struct Config {
    schema: &'static ConfigSchema,
    /// The weakest first.
    layers: Vec<LayerValue>,
    /// What is wrong with the values, with the place; such values are left out.
    pub problems: Vec<String>,
}

/// The parts of a key such as `model.name`.
pub(crate) fn key_parts(key: &str) -> Vec<&str> {
    key.split('.').collect()
}

fn value_at<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    key_parts(key).iter().try_fold(value, |value, part| value.get(part))
}

impl Config {
    /// The defaults alone.
    #[must_use]
    pub fn new(schema: &'static ConfigSchema) -> Config {
        let value = serde_json::from_str(schema.defaults).unwrap_or_else(|_| Map::new().into());
        let layers =
            vec![LayerValue { layer: ConfigLayer::Default, place: "default".to_owned(), value }];
        Config { schema, layers, problems: Vec::new() }
    }

    /// Adds the content of a file, which must have a version that is understood.
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

    /// Adds what a file says that is no JSON document and has no version.
    pub fn add_settings(&mut self, layer: ConfigLayer, place: &str, value: Value) {
        self.add(layer, place, value);
    }

    fn add(&mut self, layer: ConfigLayer, place: &str, value: Value) {
        self.layers.push(LayerValue { layer, place: place.to_owned(), value });
        // Stable, so that of two flags the later one counts.
        self.layers.sort_by_key(|origin| std::cmp::Reverse(origin.layer));
    }

    /// What is wrong with a file, all of it.
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
            // What is no document says so by itself.
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

    /// A setting, or a group of them, merged.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value> {
        value_at(&self.merged(), key).cloned()
    }

    /// Every layer that says something about a setting, the strongest first.
    #[must_use]
    pub fn explain(&self, key: &str) -> Vec<LayerValue> {
        let layers = self.layers.iter().rev();
        let said = layers.filter_map(|origin| {
            Some(LayerValue { value: value_at(&origin.value, key)?.clone(), ..origin.clone() })
        });
        said.collect()
    }
}

/// Reads a file as an object.
fn parse_object(place: &str, bytes: &[u8]) -> Result<Value, ConfigError> {
    let place = place.to_owned();
    let document = match Document::parse(bytes) {
        Ok(document) => document,
        Err(source) => return Err(ConfigError::Parse { place, source }),
    };
    match document.value(&[]) {
        Ok(Some(value)) if value.is_object() => Ok(value),
        Ok(_) => Err(ConfigError::Shape { place, reason: "it is not an object".to_owned() }),
        Err(source) => Err(ConfigError::Read { place, source }),
    }
}

/// Puts a stronger layer over a weaker one. Documents are at most 127 levels deep, so the recursion is bounded.
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
