//! Search within states: when a value was changed, and to what.

use everturn_requests::change_view;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The default and the largest number of changes.
const CHANGES: (u64, u64) = (100, 1000);

/// Which changes to return.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangesQuery {
    /// A part of the path, such as `luna.trust`; case does not matter.
    path: Option<String>,
    /// The new value, as text or as JSON.
    value: Option<String>,
    /// The first turn.
    from: Option<u64>,
    /// The last turn.
    to: Option<u64>,
    /// The number of changes: 100, at most 1000.
    #[schemars(range(min = 1, max = CHANGES.1))]
    limit: Option<u64>,
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

/// A change that matches.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangeView {
    /// The turn.
    turn: u64,
    /// The path, with its scope first.
    path: String,
    /// `set`, `remove` and so on.
    op: String,
    /// The new value, if the change names it.
    value: Option<Value>,
    /// The value before, if the change names it.
    previous: Option<Value>,
}

/// The changes that match, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangesAnswer {
    /// The changes.
    changes: Vec<ChangeView>,
    /// Whether there are more.
    more: bool,
}

/// The steps of a path with dots.
fn dotted(path: Option<&Value>) -> String {
    let step = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match path {
        Some(Value::Array(steps)) => steps.iter().map(step).collect::<Vec<_>>().join("."),
        Some(path) => step(path),
        None => String::new(),
    }
}

/// Whether a value is the one that is searched for, as text or as JSON.
fn is_value(value: Option<&Value>, wanted: &str) -> bool {
    value.is_some_and(|value| value.as_str() == Some(wanted) || format!("{value}") == wanted)
}

/// The first value in a change that is searched for, with its path: the change may set a whole object. No recursion.
fn first_match<'v>(
    (path, value): (String, Option<&'v Value>),
    (wanted, text): (&str, Option<&str>),
) -> Option<(String, Option<&'v Value>)> {
    let mut open = vec![(path, value)];
    while let Some((path, value)) = open.pop() {
        let is_wanted = path.to_lowercase().contains(wanted);
        if is_wanted && text.is_none_or(|text| is_value(value, text)) {
            return Some((path, value));
        }
        match value {
            Some(Value::Object(fields)) => {
                let below = fields.iter().rev();
                open.extend(below.map(|(key, value)| (format!("{path}.{key}"), Some(value))));
            }
            Some(Value::Array(items)) => {
                let below = items.iter().enumerate().rev();
                open.extend(below.map(|(at, value)| (format!("{path}.{at}"), Some(value))));
            }
            _ => {}
        }
    }
    None
}

#[expect(clippy::needless_pass_by_value, reason = "all handlers have this type")]
fn find_changes(call: &Call<'_>, query: ChangesQuery) -> Result<Answer<ChangesAnswer>, Problem> {
    let limit = query.limit.unwrap_or(CHANGES.0);
    if limit == 0 || limit > CHANGES.1 {
        let what = format!("limit: 1 to {}", CHANGES.1);
        return Err(Problem::bad_request(what).at("limit"));
    }
    let wanted = query.path.as_deref().unwrap_or_default().to_lowercase();
    let reader = call.library.reader(&call.session()?, None)?;
    let mut answer = ChangesAnswer { changes: Vec::new(), more: false };
    let mut changes = reader.changes(query.from.unwrap_or(0)..=query.to.unwrap_or(u64::MAX))?;
    while let Some(change) = changes.next().transpose()? {
        let record = change_view(&change)?;
        let record: Value = serde_json::from_str(record.get())
            .map_err(|error| Problem::internal(format!("a change is not JSON: {error}")))?;
        let inner = dotted(record.get("path"));
        let path = if inner.is_empty() {
            change.scope.clone()
        } else {
            format!("{}.{inner}", change.scope)
        };
        let set = (path.clone(), record.get("value"));
        let Some((found, value)) = first_match(set, (&wanted, query.value.as_deref())) else {
            continue;
        };
        if answer.changes.len() as u64 == limit {
            answer.more = true;
            break;
        }
        answer.changes.push(ChangeView {
            turn: change.turn,
            previous: record.get("previousValue").filter(|_| found == path).cloned(),
            path: found,
            op: record.get("op").and_then(Value::as_str).unwrap_or_default().to_owned(),
            value: value.cloned(),
        });
    }
    Ok(Answer::ok(answer))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/changes";
    let what = "When values of the state were changed, by path and value.";
    vec![Route::get((path, "findChanges", what), find_changes)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_as_text_and_as_json() {
        assert!(is_value(Some(&json!(5)), "5") && !is_value(Some(&json!(50)), "5"));
        assert!(is_value(Some(&json!("5")), "5") && is_value(Some(&json!("a")), "\"a\""));
        let set = json!({"luna": {"trust": 5, "mood": ["calm"]}});
        let found = first_match(("world.npcs".to_owned(), Some(&set)), ("luna.trust", Some("5")));
        assert_eq!(found, Some(("world.npcs.luna.trust".to_owned(), Some(&json!(5)))));
        let found = first_match(("world.npcs".to_owned(), Some(&set)), ("mood.0", None));
        assert_eq!(found.unwrap().1, Some(&json!("calm")));
        assert_eq!(first_match(("a".to_owned(), None), ("b", None)), None);
        assert!(!is_value(None, "null") && is_value(Some(&json!(null)), "null"));
        assert_eq!(dotted(Some(&json!(["a", 1, "b"]))), "a.1.b");
        assert_eq!(dotted(Some(&json!("a.b"))), "a.b");
    }
}
