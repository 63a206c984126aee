//! What fields may be. A value that is not allowed is left out, in the direction in which nothing more is permitted.

use serde_json::Value;

use super::{Schema, parts};

/// What a field may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// An object.
    Object,
    /// Rules that permit something. One with a part that makes no sense is left out whole: without that part it
    /// would permit more.
    AllowRules,
    /// Rules that forbid something. Of one with a part that makes no sense the part is left out: it forbids more.
    DenyRules,
    /// Servers by an id of up to 64 letters, digits, `_` and `-`.
    Servers,
}

/// The parts of a rule that narrow it.
const NARROWING: [&str; 3] = ["command", "command_glob", "skill_name"];

fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// What is wrong with a rule: nothing, a part that narrows it, or all of it.
enum Rule {
    Good,
    Part(&'static str, String),
    Bad(String),
}

fn rule(value: &Value) -> Rule {
    let Some(fields) = value.as_object() else {
        return Rule::Bad(format!("is {}, not an object", kind(value)));
    };
    match fields.get("tool") {
        Some(Value::String(tool)) if !tool.is_empty() => {}
        _ => return Rule::Bad("has no tool".to_owned()),
    }
    for part in NARROWING {
        match fields.get(part) {
            None => {}
            Some(Value::String(text)) if part == "skill_name" && !is_id(text) => {
                return Rule::Part(part, format!("{part} {text:?} is not the name of a skill"));
            }
            Some(Value::String(text)) if text.trim().is_empty() => {
                return Rule::Part(part, format!("{part} is empty"));
            }
            Some(Value::String(_)) => {}
            Some(other) => {
                return Rule::Part(part, format!("{part} is {}, not a string", kind(other)));
            }
        }
    }
    Rule::Good
}

/// Takes out of a list of rules what is not one, and says what it was.
fn sift_rules(rules: &mut Vec<Value>, key: &str, field: Field, problems: &mut Vec<String>) {
    let all = std::mem::take(rules);
    for (at, mut value) in all.into_iter().enumerate() {
        loop {
            match rule(&value) {
                Rule::Good => {
                    rules.push(value);
                    break;
                }
                Rule::Part(part, what) if field == Field::DenyRules => {
                    problems.push(format!("{key}[{at}]: {what}; the rule forbids without it"));
                    value.as_object_mut().and_then(|fields| fields.remove(part));
                }
                Rule::Part(_, what) | Rule::Bad(what) => {
                    problems.push(format!("{key}[{at}]: {what}; the rule is left out"));
                    break;
                }
            }
        }
    }
}

/// What is wrong with a value as a whole.
fn wrong(field: Field, value: &Value) -> Option<&'static str> {
    let (fits, wanted) = match field {
        Field::Text => (value.is_string(), "a string"),
        Field::Flag => (value.is_boolean(), "true or false"),
        Field::Object | Field::Servers => (value.is_object(), "an object"),
        Field::AllowRules | Field::DenyRules => (value.is_array(), "an array"),
    };
    (!fits).then_some(wanted)
}

/// Takes out of a layer what may not be there, and says what it was.
pub(super) fn sift(schema: &Schema, layer: &mut Value) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, field) in schema.fields {
        let path = parts(key);
        let Some((last, above)) = path.split_last() else { continue };
        let holder = above.iter().try_fold(&mut *layer, |value, part| value.get_mut(part));
        let Some(holder) = holder.and_then(Value::as_object_mut) else { continue };
        let Some(value) = holder.get_mut(*last) else { continue };
        if let Some(wanted) = wrong(*field, value) {
            problems.push(format!("{key} is {}, not {wanted}", kind(value)));
            holder.shift_remove(*last);
            continue;
        }
        match (field, value) {
            (Field::AllowRules | Field::DenyRules, Value::Array(rules)) => {
                sift_rules(rules, key, *field, &mut problems);
            }
            (Field::Servers, Value::Object(servers)) => servers.retain(|id, server| {
                let good = is_id(id) && server.is_object();
                if !good {
                    problems.push(format!("{key}: {id:?} is no server"));
                }
                good
            }),
            _ => {}
        }
    }
    problems
}

/// Refuses a value that its field may not have.
pub(super) fn allow(schema: &Schema, key: &str, value: &Value) -> Result<(), String> {
    if key.is_empty() || parts(key).iter().any(|part| part.is_empty()) {
        return Err(format!("{key:?} is no setting"));
    }
    if key == "version" {
        return Err("the version is not a setting".to_owned());
    }
    let nested = parts(key).iter().rev().fold(value.clone(), |inner, part| {
        Value::Object([((*part).to_owned(), inner)].into_iter().collect())
    });
    let mut layer = nested;
    // What lies on the way to the key must be able to hold it.
    match sift(schema, &mut layer).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}
