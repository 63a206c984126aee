//! Converts the events of the parser to values and their positions.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use super::{YamlError, YamlField};

/// The maximum depth of a file.
const MOST_LEVELS: usize = 64;

pub(super) struct ParsedYaml {
    pub(super) values: Map<String, Value>,
    pub(super) fields: Vec<YamlField>,
    pub(super) end: Option<usize>,
}

/// A container that has not ended yet.
enum OpenContainer {
    List(Vec<Value>),
    /// With the key that waits for its value, if any.
    Mapping(Map<String, Value>, Option<String>),
}

struct YamlReader<'t> {
    text: &'t str,
    /// The byte offset of each character; empty if offsets equal character indexes.
    starts: Vec<usize>,
    open: Vec<OpenContainer>,
    anchors: Vec<(usize, Value)>,
    fields: Vec<YamlField>,
    done: Option<Map<String, Value>>,
    end: Option<usize>,
    in_braces: bool,
}

pub(super) fn read(text: &str) -> Result<ParsedYaml, YamlError> {
    let starts = match text.is_ascii() {
        true => Vec::new(),
        false => text.char_indices().map(|(at, _)| at).chain([text.len()]).collect(),
    };
    let mut reader = YamlReader {
        text,
        starts,
        open: Vec::new(),
        anchors: Vec::new(),
        fields: Vec::new(),
        done: None,
        end: None,
        in_braces: false,
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| YamlError::Bad {
            line: error.marker().line(),
            reason: error.info().to_owned(),
        })?;
        reader.event(event, &span)?;
    }
    let end = match (&reader.done, reader.in_braces) {
        (_, true) => None,
        (None, _) => Some(text.len()),
        (Some(_), _) => reader.end,
    };
    Ok(ParsedYaml { values: reader.done.unwrap_or_default(), fields: reader.fields, end })
}

impl YamlReader<'_> {
    /// The byte offset of a character.
    fn byte(&self, index: usize) -> usize {
        match self.starts.is_empty() {
            true => index.min(self.text.len()),
            false => self.starts.get(index).copied().unwrap_or(self.text.len()),
        }
    }

    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(_) if self.done.is_some() => Err(YamlError::NoMapping),
            Event::Scalar(text, style, anchor, tag) => {
                let value = match style {
                    ScalarStyle::Plain if tag.is_none() => plain(&text),
                    _ => Value::String(text.into_owned()),
                };
                self.anchor(anchor, &value);
                // A tag or an anchor belongs to the value, and would be lost with it.
                let fixed = anchor != 0 || tag.is_some();
                self.place(span, (!fixed).then_some(style));
                self.value(value)
            }
            Event::Alias(anchor) => {
                let known = self.anchors.iter().rev().find(|(id, _)| *id == anchor);
                let value =
                    known.map(|(_, value)| value.clone()).ok_or_else(|| YamlError::Bad {
                        line: span.start.line(),
                        reason: "aliases can only refer to scalars".to_owned(),
                    })?;
                self.place(span, None);
                self.value(value)
            }
            Event::SequenceStart(..) => {
                self.place(span, None);
                self.begin(OpenContainer::List(Vec::new()))
            }
            Event::MappingStart(..) => {
                if self.open.is_empty() {
                    self.in_braces = !span.is_empty();
                }
                self.place(span, None);
                self.begin(OpenContainer::Mapping(Map::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.finish(span),
            _ => Ok(()),
        }
    }

    fn anchor(&mut self, anchor: usize, value: &Value) {
        if anchor != 0 {
            self.anchors.push((anchor, value.clone()));
        }
    }

    fn begin(&mut self, open: OpenContainer) -> Result<(), YamlError> {
        if self.open.is_empty() && !matches!(open, OpenContainer::Mapping(..)) {
            return Err(YamlError::NoMapping);
        }
        if self.open.len() >= MOST_LEVELS {
            return Err(YamlError::TooDeep { most: MOST_LEVELS });
        }
        self.open.push(open);
        Ok(())
    }

    fn finish(&mut self, span: &Span) -> Result<(), YamlError> {
        let value = match self.open.pop() {
            Some(OpenContainer::List(values)) => Value::Array(values),
            Some(OpenContainer::Mapping(values, _)) if self.open.is_empty() => {
                self.end = Some(self.byte(span.start.index()));
                self.done = Some(values);
                return Ok(());
            }
            Some(OpenContainer::Mapping(values, _)) => Value::Object(values),
            None => return Err(YamlError::NoMapping),
        };
        self.value(value)
    }

    /// Adds a value to the innermost container.
    fn value(&mut self, value: Value) -> Result<(), YamlError> {
        match self.open.last_mut() {
            // For the parser, an empty document is one empty scalar.
            None if value.is_null() => Ok(()),
            None => Err(YamlError::NoMapping),
            Some(OpenContainer::List(values)) => {
                values.push(value);
                Ok(())
            }
            Some(OpenContainer::Mapping(values, key)) => {
                match key.take() {
                    Some(key) => drop(values.insert(key, value)),
                    None => {
                        *key = Some(match value {
                            Value::String(text) => text,
                            other => other.to_string(),
                        });
                    }
                }
                Ok(())
            }
        }
    }

    /// Notes the position of a key or value of the outermost mapping; `style` is that of a replaceable value.
    fn place(&mut self, span: &Span, style: Option<ScalarStyle>) {
        let [OpenContainer::Mapping(_, waiting)] = self.open.as_slice() else { return };
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        let Some(key) = waiting else {
            let quoted = |quote| self.text.get(start..).is_some_and(|text| text.starts_with(quote));
            let end = if quoted('\'') || quoted('"') { self.closing(start) } else { end };
            self.fields.push(YamlField { key: String::new(), key_end: end, value: None });
            return;
        };
        let (key, after) = (key.clone(), self.fields.last().map_or(start, |field| field.key_end));
        let value = style.and_then(|style| self.value_span(style, start, end, after));
        if let Some(field) = self.fields.last_mut() {
            field.key = key;
            field.value = value;
        }
    }

    /// The position of a value whose key ends at `after`.
    fn value_span(
        &self,
        style: ScalarStyle,
        start: usize,
        end: usize,
        after: usize,
    ) -> Option<Range<usize>> {
        let colon = after + self.text.get(after..)?.find(':')?;
        match style {
            ScalarStyle::Plain if start == end => Some(colon + 1..colon + 1),
            ScalarStyle::Plain => {
                let text = self.text.get(start..end)?;
                Some(start..start + text.trim_end().len())
            }
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                Some(start..self.closing(start))
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let rest = self.text.get(colon + 1..end)?;
                let head = colon + 1 + (rest.len() - rest.trim_start().len());
                let text = self.text.get(head..end)?;
                Some(head..head + text.trim_end().len())
            }
        }
    }

    /// The end of a quoted text that starts at `start`.
    fn closing(&self, start: usize) -> usize {
        let text = self.text.get(start..).unwrap_or_default();
        let mut characters = text.char_indices().skip(1).peekable();
        let single = text.starts_with('\'');
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' if !single => drop(characters.next()),
                '\'' if single && characters.next_if(|(_, next)| *next == '\'').is_none() => {
                    return start + at + 1;
                }
                '"' if !single => return start + at + 1,
                _ => {}
            }
        }
        self.text.len()
    }
}

/// The value of a plain scalar.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let number = integer(text).map(Number::from).or_else(|| {
        let digits = text.bytes().any(|byte| byte.is_ascii_digit());
        let only = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        // An integer that does not fit into 64 bits stays a string of digits.
        let whole = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-".contains(&byte));
        if digits && only && !whole { text.parse().ok().and_then(Number::from_f64) } else { None }
    });
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn integer(text: &str) -> Option<i64> {
    let radix = |prefix: &str, radix: u32| {
        let digits = text.strip_prefix(prefix)?;
        digits
            .bytes()
            .next()?
            .is_ascii_alphanumeric()
            .then(|| i64::from_str_radix(digits, radix).ok())?
    };
    radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| text.parse().ok())
}
