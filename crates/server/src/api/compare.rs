//! Two sessions or branches side by side, aligned by turn.

use std::collections::BTreeMap;

use everturn::format::SessionReader;
use everturn::model::SessionState;
use everturn_requests::{EntryView, entry_view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::library::LocatedSession;
use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The default and the largest number of turns of a page.
const PAGES: (u64, u64) = (100, 1000);

/// The most differences of the states.
const DIFFERENCES: usize = 1000;

/// What to compare.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompareQuery {
    /// The first session.
    left: String,
    /// The second session; may be the same, with another branch.
    right: String,
    /// A branch of the first session.
    left_branch: Option<String>,
    /// A branch of the second session.
    right_branch: Option<String>,
    /// The first turn; by default the first one that differs.
    from: Option<u64>,
    /// The number of turns of a page: 100, at most 1000.
    #[schemars(range(min = 1, max = PAGES.1))]
    limit: Option<u64>,
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

/// One of the two sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct ComparedSession {
    /// Its key.
    key: String,
    /// Its title.
    title: String,
    /// Its last turn.
    turns: u64,
}

/// A turn of both sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct ComparedTurn {
    /// The turn.
    turn: u64,
    /// Whether both have the same texts.
    same: bool,
    /// The entries of the first session.
    left: Vec<EntryView>,
    /// The entries of the second session; empty if they are the same.
    right: Vec<EntryView>,
}

/// A value that differs between the last states.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct StateDifference {
    /// The path, with its scope first.
    path: Vec<String>,
    /// The value in the first session; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<Value>,
    /// The value in the second session; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    right: Option<Value>,
}

/// The comparison.
#[derive(Debug, Serialize, JsonSchema)]
struct CompareAnswer {
    /// The first session.
    left: ComparedSession,
    /// The second session.
    right: ComparedSession,
    /// The last turn that both have in common.
    common: u64,
    /// A page of turns.
    turns: Vec<ComparedTurn>,
    /// The first turn of the next page; null after the last one.
    next: Option<u64>,
    /// The differences between the last states; empty if one of them is not stored.
    state: Vec<StateDifference>,
    /// Whether there are more differences.
    more: bool,
}

type EntriesByTurn = BTreeMap<u64, Vec<EntryView>>;

fn read_turns(
    reader: &dyn SessionReader,
    (from, to): (u64, u64),
) -> Result<EntriesByTurn, Problem> {
    let mut turns = EntriesByTurn::new();
    let mut entries = reader.entries(from..=to)?;
    while let Some(entry) = entries.next().transpose()? {
        turns.entry(entry.turn).or_default().push(entry_view(entry, false)?);
    }
    Ok(turns)
}

/// What makes two turns the same: times and IDs differ between copies.
fn texts(entries: &[EntryView]) -> Vec<(&str, &str, &str)> {
    let each = entries.iter();
    each.map(|one| (one.speaker.as_str(), one.kind.as_str(), one.text.as_str())).collect()
}

/// The last turn before which all turns are the same, by halving: what two sessions share is a prefix.
pub(super) fn common_turns(
    left: &dyn SessionReader,
    right: &dyn SessionReader,
) -> Result<u64, Problem> {
    let is_same = |turn: u64| -> Result<bool, Problem> {
        let (one, two) = (read_turns(left, (turn, turn))?, read_turns(right, (turn, turn))?);
        let entries = |turns: &EntriesByTurn| turns.get(&turn).map_or(0, Vec::len);
        if entries(&one) == 0 && entries(&two) == 0 {
            return Ok(true);
        }
        let none = Vec::new();
        let (one, two) = (one.get(&turn).unwrap_or(&none), two.get(&turn).unwrap_or(&none));
        Ok(texts(one) == texts(two))
    };
    let (mut same, mut differs) = (0, (*left.turns()?.end()).min(*right.turns()?.end()) + 1);
    while differs - same > 1 {
        let middle = same + (differs - same) / 2;
        if is_same(middle)? {
            same = middle;
        } else {
            differs = middle;
        }
    }
    Ok(same)
}

/// The values of a state by scope.
fn values(state: &SessionState) -> Value {
    let scope = |(name, tree): &(String, everturn::tree::JsonTree)| {
        (name.clone(), serde_json::from_str(&tree.to_line()).unwrap_or_default())
    };
    Value::Object(state.scopes.iter().map(scope).collect())
}

/// The members of a value by key; `None` if it has none.
fn members(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Object(fields) => {
            Some(fields.iter().map(|(key, value)| (key.clone(), value)).collect())
        }
        Value::Array(items) => {
            Some(items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect())
        }
        _ => None,
    }
}

/// The values that differ, without recursion.
fn differences(left: &Value, right: &Value) -> (Vec<StateDifference>, bool) {
    let mut found = Vec::new();
    let mut open = vec![(Vec::new(), Some(left), Some(right))];
    while let Some((path, left, right)) = open.pop() {
        if left == right {
            continue;
        }
        if found.len() == DIFFERENCES {
            return (found, true);
        }
        let is_alike = left.zip(right).is_some_and(|(one, two)| one.is_object() == two.is_object());
        let both = left.and_then(members).zip(right.and_then(members)).filter(|_| is_alike);
        let Some((one, two)) = both else {
            found.push(StateDifference { path, left: left.cloned(), right: right.cloned() });
            continue;
        };
        let mut keys: Vec<&String> = one.keys().chain(two.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys.into_iter().rev() {
            let mut path = path.clone();
            path.push(key.clone());
            open.push((path, one.get(key).copied(), two.get(key).copied()));
        }
    }
    (found, false)
}

fn compared(
    call: &Call<'_>,
    found: &LocatedSession,
    turns: u64,
) -> Result<ComparedSession, Problem> {
    let summary = found.format.summary(&call.library.store(found.source)?, &found.place)?;
    Ok(ComparedSession { key: found.key.clone(), title: summary.title, turns })
}

fn compare(call: &Call<'_>, query: CompareQuery) -> Result<Answer<CompareAnswer>, Problem> {
    let CompareQuery { left, right, left_branch, right_branch, from, limit, .. } = query;
    let limit = limit.unwrap_or(PAGES.0);
    if limit == 0 || limit > PAGES.1 {
        let what = format!("limit: a page has 1 to {} turns", PAGES.1);
        return Err(Problem::bad_request(what).at("limit"));
    }
    let (one, two) = (call.library.find(&left)?, call.library.find(&right)?);
    let left = call.library.reader(&one, left_branch.as_deref())?;
    let right = call.library.reader(&two, right_branch.as_deref())?;
    let common = common_turns(&*left, &*right)?;
    let ends = (*left.turns()?.end(), *right.turns()?.end());
    let from = from.unwrap_or(common + 1);
    let last = ends.0.max(ends.1);
    let to = last.min(from.saturating_add(limit - 1));
    let (mut lefts, mut rights) =
        (read_turns(&*left, (from, to))?, read_turns(&*right, (from, to))?);
    let mut numbers: Vec<u64> = lefts.keys().chain(rights.keys()).copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let turn = |turn: u64| {
        let left = lefts.remove(&turn).unwrap_or_default();
        let right = rights.remove(&turn).unwrap_or_default();
        let same = texts(&left) == texts(&right);
        ComparedTurn { turn, same, left, right: if same { Vec::new() } else { right } }
    };
    let turns = numbers.into_iter().map(turn).collect();
    let (state, more) = match (left.state(None), right.state(None)) {
        (Ok(one), Ok(two)) => differences(&values(&one), &values(&two)),
        // Not every format has states.
        _ => (Vec::new(), false),
    };
    Ok(Answer::ok(CompareAnswer {
        left: compared(call, &one, ends.0)?,
        right: compared(call, &two, ends.1)?,
        common,
        turns,
        next: (to < last).then(|| to + 1),
        state,
        more,
    }))
}

pub(super) fn routes() -> Vec<Route> {
    let what = "Two sessions or branches side by side, aligned by turn.";
    vec![Route::get(("/api/v1/compare", "compareSessions", what), compare)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_name_the_smallest_values() {
        let left =
            json!({"world": {"gate": "open", "npcs": {"luna": {"trust": 5}}, "list": [1, 2]}});
        let right = json!({"world": {"npcs": {"luna": {"trust": 7}}, "list": [1, 3, 4]}});
        let (found, more) = differences(&left, &right);
        let lines: Vec<String> = found
            .iter()
            .map(|one| format!("{} {:?} {:?}", one.path.join("."), one.left, one.right))
            .collect();
        assert!(!more);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(
            lines.iter().any(|line| line.starts_with("world.gate Some(String(\"open\")) None"))
        );
        assert!(lines.iter().any(|line| line.starts_with("world.npcs.luna.trust")));
        assert!(differences(&left, &left).0.is_empty());
    }
}
