//! TOML that is edited without disturbing the rest.

use serde_json::{Number, Value};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, TableLike};

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

    /// Sets a key, such as `server.port` or `models.0.id`. Missing groups are created, elements of lists are not.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), TomlError> {
        let refused = |reason| TomlError::CannotSet { key: key.to_owned(), reason };
        match find(self.document.as_table_mut(), key, MissingGroups::Created).map_err(refused)? {
            KeyPlace::Element(list, at) => {
                let new = to_toml(value).ok_or_else(|| refused(NO_FORM))?;
                drop(list.replace(at, new));
            }
            KeyPlace::Entry(group, last) => match group.get_mut(last) {
                Some(Item::Value(old)) => {
                    let mut new = to_toml(value).ok_or_else(|| refused(NO_FORM))?;
                    *new.decor_mut() = old.decor().clone();
                    *old = new;
                }
                Some(Item::None) | None => {
                    let new = to_item(value).ok_or_else(|| refused(NO_FORM))?;
                    drop(group.insert(last, new));
                }
                Some(Item::ArrayOfTables(_)) => {
                    return Err(refused("it is a list; set one element, such as NAME.0.KEY"));
                }
                Some(Item::Table(_)) => return Err(refused("it is a table")),
            },
        }
        Ok(())
    }

    /// Removes a key. Returns whether it existed. Elements of lists are not removed.
    pub fn remove(&mut self, key: &str) -> bool {
        match find(self.document.as_table_mut(), key, MissingGroups::Refused) {
            Ok(KeyPlace::Entry(group, last)) => group.remove(last).is_some(),
            Ok(KeyPlace::Element(..)) | Err(_) => false,
        }
    }

    /// Copies a whole entry of the top level from another document, if this one lacks it.
    pub fn adopt(&mut self, other: &TomlDocument, name: &str) {
        if !self.document.contains_key(name)
            && let Some(item) = other.document.get(name)
        {
            self.document.insert(name, item.clone());
        }
    }
}

const NO_FORM: &str = "TOML cannot represent this value";

/// What happens to missing groups on the way to a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingGroups {
    Created,
    Refused,
}

/// The place of a key.
enum KeyPlace<'d, 'k> {
    /// An entry of a table, which need not exist.
    Entry(&'d mut dyn TableLike, &'k str),
    /// An existing element of a list of values.
    Element(&'d mut toml_edit::Array, usize),
}

/// Finds the place of a key.
fn find<'d, 'k>(
    document: &'d mut dyn TableLike,
    key: &'k str,
    missing: MissingGroups,
) -> Result<KeyPlace<'d, 'k>, &'static str> {
    let mut parts: Vec<&str> = key.split('.').rev().collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err("a part of the key is empty");
    }
    let mut group = document;
    loop {
        let part = parts.pop().unwrap_or_default();
        if parts.is_empty() {
            return Ok(KeyPlace::Entry(group, part));
        }
        if !group.contains_key(part) {
            if missing == MissingGroups::Refused {
                return Err("a part of the key does not exist");
            }
            group.insert(part, toml_edit::table());
        }
        let Some(item) = group.get_mut(part) else { return Err("a part of the key is missing") };
        group = match item {
            Item::ArrayOfTables(tables) => {
                let at = element(parts.pop())?;
                if parts.is_empty() {
                    return Err("it is a table; set one of its keys");
                }
                tables.get_mut(at).ok_or("the list has no such element")?
            }
            Item::Value(toml_edit::Value::Array(list)) => {
                let at = element(parts.pop())?;
                if at >= list.len() {
                    return Err("the list has no such element");
                }
                if parts.is_empty() {
                    return Ok(KeyPlace::Element(list, at));
                }
                let inner = list.get_mut(at).and_then(toml_edit::Value::as_inline_table_mut);
                inner.ok_or("the element of the list is not a table")?
            }
            other => other.as_table_like_mut().ok_or("a part of the key is not a table")?,
        };
    }
}

fn element(part: Option<&str>) -> Result<usize, &'static str> {
    let at = part.and_then(|part| part.parse().ok());
    at.ok_or("it is a list, whose elements have numbers from 0 on")
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
        Value::Object(fields) => {
            let mut inner = toml_edit::InlineTable::new();
            for (key, value) in fields {
                inner.insert(key, to_toml(value)?);
            }
            inner.into()
        }
        Value::Null => return None,
    })
}

/// A new entry: a list of objects becomes a list of tables.
fn to_item(value: &Value) -> Option<Item> {
    let objects = value.as_array().filter(|list| !list.is_empty());
    let objects: Option<Vec<_>> =
        objects.and_then(|list| list.iter().map(Value::as_object).collect());
    let Some(objects) = objects else { return to_toml(value).map(Item::Value) };
    let mut tables = toml_edit::ArrayOfTables::new();
    for fields in objects {
        let mut inner = toml_edit::Table::new();
        for (key, value) in fields {
            inner.insert(key, Item::Value(to_toml(value)?));
        }
        tables.push(inner);
    }
    Some(Item::ArrayOfTables(tables))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    fn one_element_of_a_list_is_changed() {
        let models = "[[models]]\nid = \"a\"\n\n[[models]]\nid = \"b\" # mine\n";
        set(models, "models.1.id", json!("c"), &models.replace("\"b\"", "\"c\""));
        set("x = [1, 2]\n", "x.1", json!(3), "x = [1, 3]\n");
        set("x = [{ id = 1 }]\n", "x.0.id", json!(3), "x = [{ id = 3 }]\n");
        set("", "models", json!([{"id": "a", "port": 1}]), "[[models]]\nid = \"a\"\nport = 1\n");
        for key in ["models", "models.0", "models.2.id", "models.x.id", "models.0.id.x"] {
            let mut toml = TomlDocument::parse(models.as_bytes()).unwrap();
            assert!(toml.set(key, &json!(1)).is_err(), "{key}");
            assert!(!toml.remove("models.2.id"));
            assert_eq!(toml.text(), models, "{key}");
        }
        let base = TomlDocument::parse(models.as_bytes()).unwrap();
        let mut over = TomlDocument::parse(b"[server]\nport = 1\n").unwrap();
        over.adopt(&base, "models");
        over.set("models.0.id", &json!("z")).unwrap();
        assert_eq!(over.value()["models"], json!([{"id": "z"}, {"id": "b"}]));
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
