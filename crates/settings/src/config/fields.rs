//! The types of fields. An invalid value is dropped in the direction that permits less.

use serde_json::Value;

use super::{ConfigSchema, key_parts};

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// An object.
    Object,
    /// Rules that permit something. A rule with an invalid part is dropped as a whole: without that part it would
    /// permit more.
    AllowRules,
    /// Rules that forbid something. An invalid part of a rule is dropped: without it the rule forbids more.
    DenyRules,
    /// Servers by an ID of up to 64 letters, digits, `_` and `-`.
    Servers,
}

/// The parts that narrow a rule.
const NARROWING: [&str; 3] = ["command", "command_glob", "skill_name"];

fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The result of checking a rule: valid, an invalid narrowing part, or invalid as a whole.
enum RuleCheck {
    Good,
    Part(&'static str, String),
    Bad(String),
}

fn check_rule(value: &Value) -> RuleCheck {
    let Some(fields) = value.as_object() else {
        return RuleCheck::Bad(format!("is {}, not an object", kind(value)));
    };
    match fields.get("tool") {
        Some(Value::String(tool)) if !tool.is_empty() => {}
        _ => return RuleCheck::Bad("has no tool".to_owned()),
    }
    for part in NARROWING {
        match fields.get(part) {
            None => {}
            Some(Value::String(text)) if part == "skill_name" && !is_id(text) => {
                return RuleCheck::Part(part, format!("{part} {text:?} is not a skill name"));
            }
            Some(Value::String(text)) if text.trim().is_empty() => {
                return RuleCheck::Part(part, format!("{part} is empty"));
            }
            Some(Value::String(_)) => {}
            Some(other) => {
                return RuleCheck::Part(part, format!("{part} is {}, not a string", kind(other)));
            }
        }
    }
    RuleCheck::Good
}

/// Removes invalid rules from a list, and reports them.
fn remove_invalid_rules(
    rules: &mut Vec<Value>,
    key: &str,
    field: FieldType,
    problems: &mut Vec<String>,
) {
    let all = std::mem::take(rules);
    for (at, mut value) in all.into_iter().enumerate() {
        loop {
            match check_rule(&value) {
                RuleCheck::Good => {
                    rules.push(value);
                    break;
                }
                RuleCheck::Part(part, what) if field == FieldType::DenyRules => {
                    problems.push(format!("{key}[{at}]: {what}; the deny rule applies without it"));
                    value.as_object_mut().and_then(|fields| fields.remove(part));
                }
                RuleCheck::Part(_, what) | RuleCheck::Bad(what) => {
                    problems.push(format!("{key}[{at}]: {what}; the rule is ignored"));
                    break;
                }
            }
        }
    }
}

/// The expected type, if a value has the wrong one.
fn type_problem(field: FieldType, value: &Value) -> Option<&'static str> {
    let (fits, wanted) = match field {
        FieldType::Text => (value.is_string(), "a string"),
        FieldType::Flag => (value.is_boolean(), "true or false"),
        FieldType::Object | FieldType::Servers => (value.is_object(), "an object"),
        FieldType::AllowRules | FieldType::DenyRules => (value.is_array(), "an array"),
    };
    (!fits).then_some(wanted)
}

/// Removes invalid values from a layer, and reports them.
pub(super) fn remove_invalid(schema: &ConfigSchema, layer: &mut Value) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, field) in schema.fields {
        let path = key_parts(key);
        let Some((last, above)) = path.split_last() else { continue };
        let owner = above.iter().try_fold(&mut *layer, |value, part| value.get_mut(part));
        let Some(owner) = owner.and_then(Value::as_object_mut) else { continue };
        let Some(value) = owner.get_mut(*last) else { continue };
        if let Some(wanted) = type_problem(*field, value) {
            problems.push(format!("{key} is {}, not {wanted}", kind(value)));
            owner.shift_remove(*last);
            continue;
        }
        match (field, value) {
            (FieldType::AllowRules | FieldType::DenyRules, Value::Array(rules)) => {
                remove_invalid_rules(rules, key, *field, &mut problems);
            }
            (FieldType::Servers, Value::Object(servers)) => servers.retain(|id, server| {
                let good = is_id(id) && server.is_object();
                if !good {
                    problems.push(format!("{key}: {id:?} is not a server"));
                }
                good
            }),
            _ => {}
        }
    }
    problems
}

/// Refuses a value that is invalid for its field.
pub(super) fn check_value(schema: &ConfigSchema, key: &str, value: &Value) -> Result<(), String> {
    if key.is_empty() || key_parts(key).iter().any(|part| part.is_empty()) {
        return Err(format!("{key:?} is not a setting"));
    }
    if key == "version" {
        return Err("the version is not a setting".to_owned());
    }
    let nested = key_parts(key).iter().rev().fold(value.clone(), |inner, part| {
        Value::Object([((*part).to_owned(), inner)].into_iter().collect())
    });
    let mut layer = nested;
    // The values on the path to the key must be objects.
    match remove_invalid(schema, &mut layer).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}
