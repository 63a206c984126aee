//! Branches as a graph: a session, the sessions that it was forked from, and all that were forked from those.

use std::collections::{HashMap, HashSet, VecDeque};

use everturn_catalog::SummaryDetail;
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::common_turns;
use crate::library::LocatedSession;
use crate::problem::Problem;
use crate::route::{Answer, Call, RevealQuery, Route};

/// The most nodes of a graph.
const MOST: usize = 500;

/// A line of turns: a session, or a branch in one.
#[derive(Debug, Serialize, JsonSchema)]
struct GraphNode {
    /// The key of the session.
    session: String,
    /// The branch in the session, if it is not its main line.
    branch: Option<String>,
    /// The ID of the session or branch.
    id: String,
    /// Its title.
    title: String,
    /// Its status.
    status: String,
    /// When it was last changed.
    updated: Option<String>,
    /// The number of the node that it leaves; null for the first one.
    parent: Option<u64>,
    /// The last turn that it shares with its parent.
    from: u64,
    /// Its last turn.
    turns: u64,
    /// Whether it is the session that was asked for.
    current: bool,
}

/// A graph. Its nodes are in an order in which parents come first.
#[derive(Debug, Serialize, JsonSchema)]
struct GraphAnswer {
    /// The nodes, numbered from 0.
    nodes: Vec<GraphNode>,
    /// Whether there are more.
    more: bool,
    /// Sessions that could not be read.
    warnings: Vec<String>,
}

/// A session of the family, as the list has it.
struct FamilyMember {
    located: LocatedSession,
    title: String,
    status: String,
    updated: Option<String>,
    turns: u64,
    parent: Option<String>,
}

/// The sessions of the same source and format, by ID.
fn relatives(call: &Call<'_>, found: &LocatedSession) -> HashMap<String, FamilyMember> {
    let listing = call.library.list(SummaryDetail::All);
    let located: HashMap<String, LocatedSession> =
        call.library.located().into_iter().map(|one| (one.key.clone(), one)).collect();
    let mut family = HashMap::new();
    for (key, session) in listing.iter() {
        let Some(one) = located.get(key) else { continue };
        if one.source != found.source || one.format.name() != found.format.name() {
            continue;
        }
        let summary = &session.summary;
        let member = FamilyMember {
            located: one.clone(),
            title: summary.title.clone(),
            status: summary.status.to_string(),
            updated: summary.updated.map(|time| time.to_string()),
            turns: summary.turns.unwrap_or_default(),
            parent: summary.parent.clone(),
        };
        family.insert(one.place.id.clone(), member);
    }
    family
}

/// The oldest session from which one descends.
fn ancestor_of<'f>(family: &'f HashMap<String, FamilyMember>, id: &'f str) -> &'f str {
    let (mut at, mut seen) = (id, HashSet::from([id]));
    while let Some(parent) = family.get(at).and_then(|one| one.parent.as_deref()) {
        if !family.contains_key(parent) || !seen.insert(parent) {
            break;
        }
        at = parent;
    }
    at
}

/// The last turn that a session shares with its parent.
fn leaving_turn(
    call: &Call<'_>,
    parent: &LocatedSession,
    child: &LocatedSession,
) -> Result<u64, Problem> {
    let (one, two) = (call.library.reader(parent, None)?, call.library.reader(child, None)?);
    common_turns(&*one, &*two)
}

fn add_branches(
    call: &Call<'_>,
    found: &LocatedSession,
    answer: &mut GraphAnswer,
) -> Result<(), Problem> {
    let parent = answer.nodes.iter().position(|node| node.current).map(|at| at as u64);
    let reader = call.library.reader(found, None)?;
    for branch in reader.branches()? {
        if answer.nodes.len() == MOST {
            answer.more = true;
            break;
        }
        let from = branch.from.unwrap_or_default();
        answer.nodes.push(GraphNode {
            session: found.key.clone(),
            title: branch.title,
            status: "branch".to_owned(),
            updated: branch.updated.map(|time| time.to_string()),
            parent,
            from,
            turns: from + branch.turns,
            current: false,
            id: branch.id.clone(),
            branch: Some(branch.id),
        });
    }
    Ok(())
}

fn get_graph(call: &Call<'_>, _: RevealQuery) -> Result<Answer<GraphAnswer>, Problem> {
    let found = call.session()?;
    let family = relatives(call, &found);
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for (id, one) in &family {
        if let Some(parent) = &one.parent {
            children.entry(parent).or_default().push(id);
        }
    }
    for ids in children.values_mut() {
        ids.sort_unstable();
    }
    let mut answer = GraphAnswer { nodes: Vec::new(), more: false, warnings: Vec::new() };
    let root = ancestor_of(&family, &found.place.id);
    let mut open: VecDeque<(&str, Option<u64>)> = VecDeque::from([(root, None)]);
    let mut seen = HashSet::new();
    while let Some((id, parent)) = open.pop_front() {
        let Some(one) = family.get(id).filter(|_| seen.insert(id)) else { continue };
        if answer.nodes.len() == MOST {
            answer.more = true;
            break;
        }
        let above = one.parent.as_deref().and_then(|parent| family.get(parent));
        let from = match above.filter(|_| parent.is_some()) {
            Some(above) => leaving_turn(call, &above.located, &one.located),
            None => Ok(0),
        };
        let from = from.unwrap_or_else(|problem| {
            answer.warnings.push(format!("{id}: {problem}"));
            0
        });
        let number = answer.nodes.len() as u64;
        answer.nodes.push(GraphNode {
            session: one.located.key.clone(),
            branch: None,
            id: id.to_owned(),
            title: one.title.clone(),
            status: one.status.clone(),
            updated: one.updated.clone(),
            parent,
            from,
            turns: one.turns,
            current: one.located.key == found.key,
        });
        let below = children.get(id).into_iter().flatten();
        open.extend(below.map(|child| (*child, Some(number))));
    }
    add_branches(call, &found, &mut answer)?;
    Ok(Answer::ok(answer))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/graph";
    let what = "The session with its relatives: forks, rewinds and branches as a graph.";
    vec![Route::get((path, "getGraph", what), get_graph)]
}
