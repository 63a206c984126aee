//! YAML files that people edit: parsed by `saphyr-parser`, edited without disturbing the rest, and written in the style
//! of the program behind these files.
//!
//! A [`YamlDocument`] is the text of the file and the values of its outermost mapping. Setting a key replaces just its
//! value, so comments, the order of keys, unknown fields and their quoting survive.

mod read;
mod scalar;

use std::ops::Range;

use serde_json::{Map, Value};
use thiserror::Error;

pub use scalar::scalar;

/// Why a text could not be parsed as YAML, or could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum YamlError {
    /// It is not YAML.
    #[error("not YAML at line {line}: {reason}")]
    Bad {
        /// The line, counted from 1.
        line: usize,
        /// The message of the parser.
        reason: String,
    },
    /// It is not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// It is not a mapping.
    #[error("it is not a mapping")]
    NoMapping,
    /// It is nested too deeply.
    #[error("it has more than {most} levels of nesting")]
    TooDeep {
        /// The maximum depth.
        most: usize,
    },
    /// A value that cannot be replaced by a scalar without disturbing others.
    #[error("the value of {key} cannot be changed here")]
    CannotSet {
        /// The key.
        key: String,
    },
}

/// A key of the outermost mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlField {
    pub(super) key: String,
    /// The end of the key, followed by its colon.
    pub(super) key_end: usize,
    /// The position of the value, if it can be replaced.
    pub(super) value: Option<Range<usize>>,
}

/// A YAML file whose outermost value is a mapping.
///
/// ```
/// use everturn_linggen::YamlDocument;
///
/// let mut yaml = YamlDocument::parse("id: sess-1 # ours\ntitle: 'a: b'\n")?;
/// assert_eq!(yaml.string("title").as_deref(), Some("a: b"));
/// yaml.set("title", &"Fix login".into())?;
/// yaml.set("created_at", &1_700_000_000.into())?;
/// assert_eq!(yaml.text(), "id: sess-1 # ours\ntitle: Fix login\ncreated_at: 1700000000\n");
/// # Ok::<(), everturn_linggen::YamlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlDocument {
    text: String,
    values: Map<String, Value>,
    fields: Vec<YamlField>,
    /// The position for new keys; `None` if the mapping is written in braces.
    end: Option<usize>,
}

impl YamlDocument {
    /// Parses a text. An empty text is an empty mapping.
    pub fn parse(text: &str) -> Result<YamlDocument, YamlError> {
        let read = read::read(text)?;
        Ok(YamlDocument {
            text: text.to_owned(),
            values: read.values,
            fields: read.fields,
            end: read.end,
        })
    }

    /// Parses bytes, which must be UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<YamlDocument, YamlError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| YamlError::NotUtf8 { at: error.valid_up_to() })?;
        YamlDocument::parse(text)
    }

    /// A new mapping with these keys, in their order.
    pub fn new<'k>(
        fields: impl IntoIterator<Item = (&'k str, Value)>,
    ) -> Result<YamlDocument, YamlError> {
        let mut yaml = YamlDocument::parse("")?;
        for (key, value) in fields {
            yaml.set(key, &value)?;
        }
        Ok(yaml)
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The values of the keys. Plain scalars are interpreted by the core schema of YAML 1.2.
    #[must_use]
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The value of a key as text; numbers and booleans as they are written.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<String> {
        match self.values.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            other => Some(other.to_string()),
        }
    }

    /// The integer value of a key.
    #[must_use]
    pub fn integer(&self, key: &str) -> Option<i64> {
        self.values.get(key)?.as_i64()
    }

    /// Sets a key to a string, a number, a boolean or null. A missing key is added.
    ///
    /// If a key is repeated, the last one counts and is changed.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), YamlError> {
        let refused = || YamlError::CannotSet { key: key.to_owned() };
        let written = match value {
            Value::String(text) => scalar(text),
            Value::Array(_) | Value::Object(_) => return Err(refused()),
            other => other.to_string(),
        };
        if self.values.get(key) == Some(value) {
            return Ok(());
        }
        let mut text = self.text.clone();
        match self.fields.iter().rfind(|field| field.key == key) {
            Some(field) => {
                let span = field.value.clone().ok_or_else(refused)?;
                if span.is_empty() {
                    text.replace_range(span, &format!(" {written}"));
                } else {
                    text.replace_range(span, &written);
                }
            }
            None => {
                let end = self.end.ok_or_else(refused)?;
                let line = format!("{}: {written}", scalar(key));
                text.insert_str(end, &self.new_line(end, &line));
            }
        }
        let changed = YamlDocument::parse(&text)?;
        // All other values must stay the same.
        let same = |(name, value): (&String, &Value)| {
            name == key || changed.values.get(name) == Some(value)
        };
        if changed.values.get(key) != Some(value) || !self.values.iter().all(same) {
            return Err(refused());
        }
        *self = changed;
        Ok(())
    }

    /// The keys that occur more than once; most programs refuse such a file.
    #[must_use]
    pub fn repeated(&self) -> Vec<&str> {
        let is_first =
            |at: usize, key: &str| self.fields.iter().position(|f| f.key == key) == Some(at);
        let fields = self.fields.iter().enumerate();
        let again = fields.filter(|(at, field)| !is_first(*at, &field.key));
        again.map(|(_, field)| field.key.as_str()).collect()
    }

    /// Removes keys that are repeated later, with the lines of their values.
    pub(crate) fn without_repeats(&self) -> Option<YamlDocument> {
        if self.repeated().is_empty() {
            return Some(self.clone());
        }
        let start = |field: &YamlField| {
            let before = self.text.get(..field.key_end).unwrap_or_default();
            before.rfind('\n').map_or(0, |at| at + 1)
        };
        let starts: Vec<usize> = self.fields.iter().map(start).collect();
        let ends = starts.iter().copied().skip(1).chain([self.text.len()]);
        let mut text = self.text.get(..*starts.first()?)?.to_owned();
        for (at, (field, (start, end))) in
            self.fields.iter().zip(starts.iter().zip(ends)).enumerate()
        {
            if self.fields.iter().skip(at + 1).all(|later| later.key != field.key) {
                text.push_str(self.text.get(*start..end)?);
            }
        }
        let once = YamlDocument::parse(&text).ok()?;
        (once.values == self.values && once.repeated().is_empty()).then_some(once)
    }

    /// A line to insert at `end`, with the line endings of the file.
    fn new_line(&self, end: usize, line: &str) -> String {
        let line_end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let before = self.text.get(..end).unwrap_or_default();
        let first = if before.is_empty() || before.ends_with('\n') { "" } else { line_end };
        format!("{first}{}{line_end}", line.replace('\n', line_end))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "argument tables are easier to read without ampersands"
    )]
    fn read(text: &str, expect: Value) {
        let yaml = YamlDocument::parse(text).unwrap();
        assert_eq!(Value::Object(yaml.values().clone()), expect, "{text:?}");
        assert_eq!(yaml.text(), text);
    }

    #[test]
    fn keys_that_are_there_twice_are_told_and_taken_out() {
        let check = |text: &str, repeated: &[&str], once: Option<&str>| {
            let yaml = YamlDocument::parse(text).unwrap();
            assert_eq!(yaml.repeated(), repeated, "{text:?}");
            let found = yaml.without_repeats();
            assert_eq!(found.as_ref().map(YamlDocument::text), once, "{text:?}");
        };
        check("a: 1\nb: 2\n", &[], Some("a: 1\nb: 2\n"));
        check("# c\na: 1\nb:\n- x\na: 2\n", &["a"], Some("# c\nb:\n- x\na: 2\n"));
        check("a:\n  z: 1\na: 1\na: 2", &["a", "a"], Some("a: 2"));
        check("{a: 1, a: 2}", &["a"], None);
    }

    #[test]
    fn values_mean_what_the_core_schema_says() {
        read("", json!({}));
        read("# nothing\n", json!({}));
        read(
            "a: 1\nb: -2\nc: 1.5\nd: 0x1f\ne: 0o17\n",
            json!({"a":1,"b":-2,"c":1.5,"d":31,"e":15}),
        );
        read(
            "a: true\nb: False\nc: ~\nd:\ne: null\n",
            json!({"a":true,"b":false,"c":null,"d":null,"e":null}),
        );
        read(
            "a: yes\nb: 'true'\nc: \"1\"\nd: 1.2.3\ne: 007\n",
            json!({"a":"yes","b":"true","c":"1","d":"1.2.3","e":7}),
        );
        read(
            "a: [x, 'y', {z: 1}]\nb:\n- p\n-  q: r\n",
            json!({"a":["x","y",{"z":1}],"b":["p",{"q":"r"}]}),
        );
        read(
            "a: |-\n  one\n  two\nb: >\n  folded\n  text\n",
            json!({"a":"one\ntwo","b":"folded text\n"}),
        );
        read("---\na: &x b\nc: *x\n...\n", json!({"a":"b","c":"b"}));
        read("\u{feff}a: \"\\u00e9\\t\"\r\nb: é # c\r\n", json!({"a":"é\t","b":"é"}));
        read("a: 1\na: 2\n", json!({"a":2}));
        read("{a: 1, b: [2]}", json!({"a":1,"b":[2]}));
        read("a: 123456789012345678901234567890\n", json!({"a":"123456789012345678901234567890"}));
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        for text in ["- a\n", "just words", "a: [1\n", "a: b: c\n", "a: *nobody\n", "\"open"] {
            assert!(YamlDocument::parse(text).is_err(), "{text:?}");
        }
        let deep = format!("a: {}1{}\n", "[".repeat(5000), "]".repeat(5000));
        assert!(YamlDocument::parse(&deep).is_err());
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        assert!(YamlDocument::parse(bomb).is_err(), "aliases of containers can grow without limit");
        assert_eq!(YamlDocument::from_bytes(b"a: \xff\n"), Err(YamlError::NotUtf8 { at: 3 }));
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "argument tables are easier to read without ampersands"
    )]
    fn set(text: &str, key: &str, value: Value, expect: &str) {
        let mut yaml = YamlDocument::parse(text).unwrap();
        yaml.set(key, &value).unwrap();
        assert_eq!(yaml.text(), expect, "{text:?}");
    }

    #[test]
    fn a_change_touches_nothing_else() {
        let text = "# head\nid: x\ntitle: \"Old\"   # said\ncolour:  red\n\nlist:\n  - 1\n";
        set(
            text,
            "title",
            json!("New: one"),
            "# head\nid: x\ntitle: 'New: one'   # said\ncolour:  red\n\nlist:\n  - 1\n",
        );
        set("title: 'it''s' # a 'b'\nb: 1\n", "title", json!("x"), "title: x # a 'b'\nb: 1\n");
        set("title: \"a \\\" # b\" # c\n", "title", json!("x"), "title: x # c\n");
        set(
            "title: |-\n  a\n  b\n\n# next\nz: 1\n",
            "title",
            json!("x"),
            "title: x\n\n# next\nz: 1\n",
        );
        set("title: x\nz: 1\n", "title", json!("a\nb"), "title: |-\n  a\n  b\nz: 1\n");
        set("title:\nz: 1\n", "title", json!("x"), "title: x\nz: 1\n");
        set("title: # none\nz: 1\n", "title", json!("x"), "title: x # none\nz: 1\n");
        set("title: old words  \r\nz: 1\r\n", "title", json!("x"), "title: x  \r\nz: 1\r\n");
        set("a: 1", "b", json!(2), "a: 1\nb: 2\n");
        set("a: 1\r\n", "b", json!("yes"), "a: 1\r\nb: 'yes'\r\n");
        set("---\na: 1\n...\n", "b", json!(null), "---\na: 1\nb: null\n...\n");
        set("a:\n  deep: 1\n", "b", json!(true), "a:\n  deep: 1\nb: true\n");
        set("title: é\nz: 日本\n", "title", json!("ü"), "title: ü\nz: 日本\n");
        set("a: 1\n", "a", json!(1), "a: 1\n");
        set("\u{feff}a: b\nc: d\n", "a", json!("x"), "\u{feff}a: x\nc: d\n");
    }

    #[test]
    fn a_change_that_would_disturb_others_is_refused() {
        let cases = [("{a: 1}\n", "b"), ("a: [1]\n", "a"), ("a: &x b\nc: *x\n", "a")];
        for (text, key) in cases {
            let mut yaml = YamlDocument::parse(text).unwrap();
            assert!(yaml.set(key, &json!("new")).is_err(), "{text:?}");
            assert_eq!(yaml.text(), text);
        }
    }
}
