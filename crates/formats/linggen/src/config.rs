//! The configuration: where it is searched for, and TOML that is edited without disturbing the rest.
//!
//! The first file that exists counts. Settings changed while a program ran are in a file of their own, which overrides
//! it key by key.
//!
//! [`ConfigSearch`] lists the candidate files, and [`TomlDocument`] edits one.

use serde_json::{Number, Value};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, TableLike};

use everturn_settings::config::ConfigSchema;

/// The inputs of the search for a configuration.
#[derive(Debug, Clone, Copy)]
pub struct ConfigSearch<'a> {
    /// The value of `LINGGEN_CONFIG`, if it is set and not empty.
    pub named: Option<&'a str>,
    /// The working directory of the program.
    pub current_dir: &'a str,
    /// Linggen's home.
    pub home: &'a str,
    /// The user's home directory.
    pub user_home: &'a str,
}

const FILE: &str = "linggen-agent.toml";
const NEWER_FILE: &str = "linggen.toml";
const RUNTIME: &str = "linggen-agent.runtime.toml";

fn join(dir: &str, name: &str) -> String {
    format!("{}/{name}", dir.trim_end_matches('/'))
}

impl ConfigSearch<'_> {
    /// The candidates for the configuration; the first that exists counts.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let own = join(self.home, "config");
        let dirs = [
            self.current_dir.to_owned(),
            own,
            join(self.user_home, ".config/linggen-agent"),
            join(self.user_home, ".local/share/linggen-agent"),
        ];
        let named = self.named.filter(|named| !named.is_empty()).map(|named| {
            match named.starts_with('/') {
                true => named.to_owned(),
                false => join(self.current_dir, named.trim_start_matches("./")),
            }
        });
        let found = dirs.iter().flat_map(|dir| [join(dir, FILE), join(dir, NEWER_FILE)]);
        named.into_iter().chain(found).collect()
    }

    /// The candidates for the overrides of a configuration; the first that exists counts. For an explicitly named file,
    /// only the one beside it.
    #[must_use]
    pub fn overrides(&self, config: Option<&str>) -> Vec<String> {
        let beside = config.and_then(|file| Some(join(file.rsplit_once('/')?.0, RUNTIME)));
        let named = self.named.is_some_and(|named| !named.is_empty());
        if let (Some(beside), true) = (&beside, named) {
            return vec![beside.clone()];
        }
        let mut files =
            vec![join(self.current_dir, RUNTIME), join(&join(self.home, "config"), RUNTIME)];
        files.extend(beside.filter(|beside| !files.contains(beside)));
        files
    }

    /// The file that changes are written to.
    #[must_use]
    pub fn override_to_write(&self) -> String {
        join(&join(self.home, "config"), RUNTIME)
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TomlError {
    /// It is not TOML.
    #[error("not TOML: {reason}")]
    Bad {
        /// The problem, without quoting the text.
        reason: String,
    },
    /// It is not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// A key that does not lead to a value that can be changed.
    #[error("{key} cannot be set: {reason}")]
    CannotSet {
        /// The key.
        key: String,
        /// The reason.
        reason: &'static str,
    },
}

/// A TOML file. Whatever is not changed keeps its bytes.
///
/// ```
/// use everturn_linggen::TomlDocument;
///
/// let mut toml = TomlDocument::parse(b"# ours\n[server]\nport = 9898 # usual\n")?;
/// toml.set("server.port", &7777.into())?;
/// assert_eq!(toml.text(), "# ours\n[server]\nport = 7777 # usual\n");
/// # Ok::<(), everturn_linggen::TomlError>(())
/// ```
#[derive(Debug, Clone)]
pub struct TomlDocument {
    document: DocumentMut,
}

impl TomlDocument {
    /// Parses a file.
    pub fn parse(bytes: &[u8]) -> Result<TomlDocument, TomlError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| TomlError::NotUtf8 { at: error.valid_up_to() })?;
        // The full message of the parser quotes the line, which may hold a key.
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            TomlError::Bad {
                reason: format!("line {line}: {}", error.message().replace('\n', " ")),
            }
        })?;
        Ok(TomlDocument { document })
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Its content.
    #[must_use]
    pub fn value(&self) -> Value {
        table(self.document.as_table())
    }

    /// Sets a key, such as `server.port`. Missing groups are created.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), TomlError> {
        let refused = |reason| TomlError::CannotSet { key: key.to_owned(), reason };
        let mut new = to_toml(value).ok_or_else(|| refused("TOML cannot represent this value"))?;
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        if last.is_empty() || parts.iter().any(|part| part.is_empty()) {
            return Err(refused("a part of the key is empty"));
        }
        let mut group: &mut dyn TableLike = self.document.as_table_mut();
        for part in parts {
            let item = group.entry(part).or_insert_with(toml_edit::table);
            group = item
                .as_table_like_mut()
                .ok_or_else(|| refused("a part of the key is not a table"))?;
        }
        match group.get_mut(last) {
            Some(Item::Value(old)) => {
                *new.decor_mut() = old.decor().clone();
                *old = new;
            }
            Some(Item::None) | None => drop(group.insert(last, Item::Value(new))),
            Some(_) => return Err(refused("it is a table")),
        }
        Ok(())
    }
}

impl TomlDocument {
    /// Removes a key. Returns whether it existed.
    pub fn remove(&mut self, key: &str) -> bool {
        let (groups, last) = key.rsplit_once('.').unwrap_or(("", key));
        let mut group: &mut dyn TableLike = self.document.as_table_mut();
        for part in groups.split('.').filter(|part| !part.is_empty()) {
            match group.get_mut(part).and_then(Item::as_table_like_mut) {
                Some(inner) => group = inner,
                None => return false,
            }
        }
        group.remove(last).is_some()
    }
}

fn table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), from_item(item))).collect())
}

/// The parser allows at most a hundred levels, which bounds the recursion.
fn from_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => from_value(value),
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => {
            Value::Array(tables.iter().map(|inner| table(inner)).collect())
        }
    }
}

fn from_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            let shown = || Value::String(number.value().to_string());
            Number::from_f64(*number.value()).map_or_else(shown, Value::Number)
        }
        toml_edit::Value::Boolean(is) => Value::Bool(*is.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(values) => Value::Array(values.iter().map(from_value).collect()),
        toml_edit::Value::InlineTable(inner) => table(inner),
    }
}

fn to_toml(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(is) => (*is).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64()?.into(),
        },
        Value::Array(values) => {
            let values: Option<toml_edit::Array> = values.iter().map(to_toml).collect();
            values?.into()
        }
        Value::Null | Value::Object(_) => return None,
    })
}

/// The schema of the configuration: any keys are allowed. Settings changed while a program ran override it key by key.
pub const SCHEMA: ConfigSchema = ConfigSchema {
    version: 0,
    defaults: "{}",
    environment: &[],
    merge: &[],
    project_groups: &[],
    fields: &[],
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use everturn_settings::config::{Config, ConfigLayer};

    fn search(named: Option<&'static str>) -> ConfigSearch<'static> {
        ConfigSearch { named, current_dir: "/w", home: "/h/.linggen/", user_home: "/h" }
    }

    #[test]
    fn the_configuration_is_looked_for_where_it_is_documented_and_where_programs_look() {
        let expect = [
            "/w/linggen-agent.toml",
            "/w/linggen.toml",
            "/h/.linggen/config/linggen-agent.toml",
            "/h/.linggen/config/linggen.toml",
            "/h/.config/linggen-agent/linggen-agent.toml",
            "/h/.config/linggen-agent/linggen.toml",
            "/h/.local/share/linggen-agent/linggen-agent.toml",
            "/h/.local/share/linggen-agent/linggen.toml",
        ];
        assert_eq!(search(None).files(), expect);
        assert_eq!(search(Some("")).files(), expect);
        assert_eq!(
            search(Some("/x/my.toml")).files()[..2],
            ["/x/my.toml", "/w/linggen-agent.toml"]
        );
        assert_eq!(search(Some("./my.toml")).files()[0], "/w/my.toml");
    }

    #[test]
    fn what_is_laid_over_it_stands_beside_it_or_in_the_home() {
        let home = "/h/.linggen/config/linggen-agent.runtime.toml";
        assert_eq!(search(None).overrides(None), ["/w/linggen-agent.runtime.toml", home]);
        assert_eq!(
            search(None).overrides(Some("/h/.config/linggen-agent/linggen-agent.toml")),
            [
                "/w/linggen-agent.runtime.toml",
                home,
                "/h/.config/linggen-agent/linggen-agent.runtime.toml"
            ]
        );
        assert_eq!(
            search(Some("/x/y.toml")).overrides(Some("/x/y.toml")),
            ["/x/linggen-agent.runtime.toml"]
        );
        assert_eq!(search(None).override_to_write(), home);
    }

    #[test]
    fn settings_are_laid_over_key_by_key() {
        let mut config = Config::new(&SCHEMA);
        let base = json!({"server": {"port": 1, "host": "a"}, "models": [{"id": "x"}]});
        config.add_settings(ConfigLayer::Global, "base", base);
        config.add_settings(
            ConfigLayer::Runtime,
            "over",
            json!({"server": {"port": 2}, "models": []}),
        );
        let expect = json!({"server": {"port": 2, "host": "a"}, "models": []});
        assert_eq!(config.merged(), expect);
        assert_eq!(config.explain("server.port")[0].place, "over");
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "argument tables are easier to read without ampersands"
    )]
    fn set(text: &str, key: &str, value: Value, expect: &str) {
        let mut toml = TomlDocument::parse(text.as_bytes()).unwrap();
        toml.set(key, &value).unwrap();
        assert_eq!(toml.text(), expect, "{text:?}");
    }

    #[test]
    fn a_change_touches_nothing_else() {
        set("", "a", json!(1), "a = 1\n");
        set("", "s.p", json!("x"), "[s]\np = \"x\"\n");
        set(
            "# c\na = 1 # d\nb  =  'x'\n",
            "a",
            json!([1, "y"]),
            "# c\na = [1, \"y\"] # d\nb  =  'x'\n",
        );
        set(
            "[[models]]\nid = \"a\"\n\n[server]\nport = 1\n",
            "server.host",
            json!("h"),
            "[[models]]\nid = \"a\"\n\n[server]\nport = 1\nhost = \"h\"\n",
        );
        set("s = { p = 1, q = 2 }\n", "s.p", json!(3), "s = { p = 3, q = 2 }\n");
        let mut toml = TomlDocument::parse(b"# c\n[s]\np = 1 # d\nq = 2\n").unwrap();
        assert!(toml.remove("s.p") && !toml.remove("s.p") && !toml.remove("x.y"));
        assert_eq!(toml.text(), "# c\n[s]\nq = 2\n");
        for (text, key) in [("a = 1\n", "a.b"), ("[a]\n", "a"), ("", "a..b"), ("", "")] {
            assert!(
                TomlDocument::parse(text.as_bytes()).unwrap().set(key, &json!(1)).is_err(),
                "{key:?}"
            );
        }
        assert!(TomlDocument::parse(b"").unwrap().set("a", &json!(null)).is_err());
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let text = "t = 2026-01-01T10:00:00Z\nf = 1.5\ni = inf\nb = true\n[[m]]\nid = 'a'\n[g.h]\nx = {y = [1]}\n";
        let expect = json!({"t": "2026-01-01T10:00:00Z", "f": 1.5, "i": "inf", "b": true, "m": [{"id": "a"}],
            "g": {"h": {"x": {"y": [1]}}}});
        assert_eq!(TomlDocument::parse(text.as_bytes()).unwrap().value(), expect);
        let error =
            TomlDocument::parse(b"[models]\napi_key = \"sk-secret\n").unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("sk-secret"), "{error}");
        let deep = format!("a = {}1{}\n", "[".repeat(5000), "]".repeat(5000));
        assert!(TomlDocument::parse(deep.as_bytes()).is_err());
    }
}
