//! The tools: a selection of the routes of the API, with the same arguments and answers.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::Method;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::api;
use crate::route::{CallInput, Effect, Route};

/// A tool, the operation of the API that it calls, and its description for models.
struct ToolLine {
    name: &'static str,
    operation: &'static str,
    description: &'static str,
}

const TOOLS: &[ToolLine] = &[
    ToolLine {
        name: "search_sessions",
        operation: "search",
        description: "Full-text search over all AI sessions on this machine. Hits have the key of the session and the turn.",
    },
    ToolLine {
        name: "list_sessions",
        operation: "listSessions",
        description: "List sessions, most recently changed first, with facets. Use `limit` and `cursor` for pages.",
    },
    ToolLine {
        name: "get_session",
        operation: "getSession",
        description: "Overview of one session: title, format, status, times, number of turns.",
    },
    ToolLine {
        name: "get_overview",
        operation: "getOverview",
        description: "What a session is about: speakers, kinds of entries, first and last text, marks, parts of the state, tokens.",
    },
    ToolLine {
        name: "get_entries",
        operation: "listEntries",
        description: "Entries of a session by range of turns, around a turn, or the last turns.",
    },
    ToolLine {
        name: "get_context",
        operation: "getContext",
        description: "The newest part of a session that fits into a number of tokens, with citations by session and turn.",
    },
    ToolLine {
        name: "search_context",
        operation: "searchContext",
        description: "The entries of all sessions that match a query best, as far as they fit into a number of tokens, with citations.",
    },
    ToolLine {
        name: "get_state",
        operation: "getState",
        description: "The state of a game, campaign or chat log at a turn, or the value at a path in it.",
    },
    ToolLine {
        name: "get_diff",
        operation: "getDiff",
        description: "What changed in the state between two turns.",
    },
    ToolLine {
        name: "get_timeline",
        operation: "getTimeline",
        description: "For each turn: time, speaker, sizes, scenes, snapshots and marks.",
    },
    ToolLine {
        name: "find_changes",
        operation: "findChanges",
        description: "When values of the state changed, by a part of the path and the new value.",
    },
    ToolLine {
        name: "compare_sessions",
        operation: "compareSessions",
        description: "Two sessions or branches side by side from the first turn that differs, with the differences of their states.",
    },
    ToolLine {
        name: "get_branch_graph",
        operation: "getGraph",
        description: "A session with its relatives as a graph: forks, rewinds and branches, with the turns at which they part.",
    },
    ToolLine {
        name: "list_branches",
        operation: "listBranches",
        description: "Branches and forks of a session.",
    },
    ToolLine {
        name: "append_turn",
        operation: "appendTurn",
        description: "Append a turn or message to a session. With `key`, it is stored once however often it is sent.",
    },
    ToolLine {
        name: "add_mark",
        operation: "addMark",
        description: "Add a bookmark or another mark to a session.",
    },
    ToolLine {
        name: "fork_session",
        operation: "forkSession",
        description: "Create a new session from the turns of this one.",
    },
];

/// A tool with the route that it calls.
pub(super) struct McpTool {
    pub(super) tool: Tool,
    pub(super) route: Route,
}

/// Precedes a field of a body that has the name of a parameter of the path: the ID of a new session.
const NEW: &str = "new_";

fn is_in_path(route: &Route, name: &str) -> bool {
    route.path.contains(&format!("{{{name}}}"))
}

/// The arguments of a tool: the parameters of the path, of the query and of the body.
fn input_schema(route: &Route) -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut schemas = vec![(route.query)(&mut generator)];
    schemas.extend(route.body.map(|body| body(&mut generator)));
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let description = "The key of a session, or its ID if it is unique.";
        properties.insert(name.to_owned(), json!({"type": "string", "description": description}));
        required.push(Value::from(name));
    }
    for schema in &schemas {
        let part = |name: &str| schema.as_value().get(name);
        for (name, field) in part("properties").and_then(Value::as_object).into_iter().flatten() {
            if name != "reveal" {
                let name =
                    if is_in_path(route, name) { format!("{NEW}{name}") } else { name.clone() };
                properties.insert(name, field.clone());
            }
        }
        required.extend(part("required").and_then(Value::as_array).into_iter().flatten().cloned());
    }
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    schema.as_object().cloned().unwrap_or_default()
}

/// The tools that an agent may use.
pub(super) fn tools(allow_writes: bool) -> Vec<McpTool> {
    let mut routes: HashMap<&'static str, Route> =
        api::routes().into_iter().map(|route| (route.operation, route)).collect();
    let mut tools = Vec::new();
    for line in TOOLS {
        let Some(route) = routes.remove(line.operation) else { continue };
        let is_read = route.effect == Effect::Read;
        if !is_read && !allow_writes {
            continue;
        }
        let mut annotations = ToolAnnotations::new();
        annotations.read_only_hint = Some(is_read);
        annotations.destructive_hint = Some(false);
        annotations.open_world_hint = Some(false);
        let tool = Tool::new(line.name, line.description, Arc::new(input_schema(&route)));
        tools.push(McpTool { tool: tool.with_annotations(annotations), route });
    }
    tools
}

/// Percent-encodes a value of a query.
pub(super) fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    value
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The arguments of a tool as a request of its route.
pub(super) fn call_input(route: &Route, arguments: JsonObject) -> CallInput {
    let mut input = CallInput::default();
    let (mut query, mut body) = (Vec::new(), Map::new());
    for (name, value) in arguments {
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let of_body = name.strip_prefix(NEW).filter(|rest| is_in_path(route, rest));
        if let Some(rest) = of_body {
            body.insert(rest.to_owned(), value);
        } else if is_in_path(route, &name) {
            input.params.insert(name, text);
        } else if route.method == Method::GET {
            if !value.is_null() {
                query.push(format!("{}={}", encoded(&name), encoded(&text)));
            }
        } else {
            body.insert(name, value);
        }
    }
    input.query = query.join("&");
    if route.method != Method::GET {
        input.body = Value::Object(body).to_string().into();
    }
    input
}
