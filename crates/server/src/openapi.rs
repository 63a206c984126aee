//! The OpenAPI 3.1 document, made from the table of routes.

use axum::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::events::{LIST_EVENTS, SESSION_EVENTS};
use crate::login::{CodeAnswer, CodeRequest, LogoutAnswer, TokenAnswer};
use crate::narration::{PLAY_STREAM, PlayRequest};
use crate::problem::{PROBLEM_TYPE, Problem};
use crate::route::{AnswerKind, Effect, JSON, NoBody, Route};

/// The place of schemas in the document.
const DEFINITIONS: &str = "/components/schemas";

/// Removes `null` from the types of a parameter: an absent parameter is not sent.
fn without_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            if let Some(kind) = schema.get_mut("type") {
                *kind = only;
            }
        }
    }
    if let Some(Value::Array(any)) = schema.get("anyOf") {
        let rest: Vec<Value> =
            any.iter().filter(|one| one.get("type") != Some(&json!("null"))).cloned().collect();
        if let [only] = rest.as_slice() {
            return only.clone();
        }
    }
    schema
}

/// The parameters of a query, from the schema of its fields.
fn query_parameters(schema: &Value) -> Vec<Value> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object);
    let parameter = |(name, field): (&String, &Value)| {
        let mut field = without_null(field.clone());
        let description = field.as_object_mut().and_then(|field| field.remove("description"));
        json!({
            "name": name, "in": "query", "required": required.contains(&name.as_str()),
            "description": description.unwrap_or_default(), "schema": field,
        })
    };
    fields.into_iter().flatten().map(parameter).collect()
}

/// The parameters in the path.
fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| {
        let description = match name {
            "session" => "The key of a session, or its ID if it is unique.",
            _ => "An ID.",
        };
        let schema = json!({"type": "string", "minLength": 1});
        json!({"name": name, "in": "path", "required": true, "description": description, "schema": schema})
    };
    names.map(parameter).collect()
}

fn header_parameter(name: &str, description: &str) -> Value {
    let schema = json!({"type": "string"});
    json!({"name": name, "in": "header", "required": false, "description": description, "schema": schema})
}

fn problem_responses(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let problem = generator.subschema_for::<Problem>();
    let described = [
        ("400", "The request is not valid."),
        ("401", "No valid cookie or token."),
        ("403", "Not allowed: read-only, another host, or another origin."),
        ("404", "There is no such session, turn or value."),
        ("405", "The method is not possible here."),
        ("408", "The request took too long."),
        ("409", "The request contradicts what is stored."),
        ("412", "The session has changed: the turn in If-Match is not the last one."),
        ("413", "The body is too long."),
        ("415", "The body is not JSON."),
        ("422", "The format lacks the operation, or stored data are damaged."),
        ("423", "Another process is writing to the session."),
        ("429", "Too many requests."),
        ("500", "The server failed."),
        ("503", "Too much to do, or a flush has failed."),
        ("507", "The disk failed or is full."),
    ];
    let response = |(status, description): (&str, &str)| {
        let content = json!({PROBLEM_TYPE: {"schema": problem}});
        (status.to_owned(), json!({"description": description, "content": content}))
    };
    described.into_iter().map(response).collect()
}

fn success(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let content = match &route.answer {
        AnswerKind::Json(schema) => json!({JSON: {"schema": schema(generator)}}),
        AnswerKind::File(media) => {
            let file = |media: &&str| match *media {
                JSON => json!({"schema": {"type": "object"}}),
                _ => json!({"schema": {"type": "string", "format": "binary"}}),
            };
            Value::Object(media.iter().map(|media| ((*media).to_owned(), file(media))).collect())
        }
    };
    json!({"description": route.summary, "content": content})
}

/// A body. It may be absent if it has no required fields.
fn request_body(schema: &Value, generator: &SchemaGenerator) -> Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|name| name.rsplit('/').next());
    let named = name.and_then(|name| generator.definitions().get(name));
    let fields = named.unwrap_or(schema);
    let is_needed = ["required", "oneOf"].iter().any(|word| fields.get(*word).is_some());
    json!({"required": is_needed, "content": {JSON: {"schema": schema}}})
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut parameters = path_parameters(route.path);
    parameters.extend(query_parameters((route.query)(generator).as_value()));
    if route.is_conditional {
        let what = "The ETag of the session: refuses the change unless its turn is the last one.";
        parameters.push(header_parameter("If-Match", what));
    }
    if route.has_key {
        let what = "A key that is stored with the turn, so that it is stored once however often it is sent.";
        parameters.push(header_parameter("Idempotency-Key", what));
    }
    let mut responses = problem_responses(generator);
    responses.insert(route.success.as_u16().to_string(), success(route, generator));
    if route.method == Method::GET {
        responses.insert("304".to_owned(), json!({"description": "Unchanged."}));
    }
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let (Some(schema), Some(fields)) = (route.body, operation.as_object_mut()) {
        let schema = schema(generator);
        fields.insert("requestBody".to_owned(), request_body(schema.as_value(), generator));
    }
    operation
}

/// An operation that the table lacks, because it needs no session.
fn login_operation<B: JsonSchema, A: JsonSchema>(
    (id, summary): (&str, &str),
    generator: &mut SchemaGenerator,
) -> Value {
    let (body, answer) = (generator.subschema_for::<B>(), generator.subschema_for::<A>());
    let mut responses = problem_responses(generator);
    let success = json!({"description": summary, "content": {JSON: {"schema": answer}}});
    responses.insert("200".to_owned(), success);
    json!({
        "operationId": id, "summary": summary, "responses": responses,
        "requestBody": request_body(body.as_value(), generator),
    })
}

/// A stream of server-sent events.
fn events_operation(
    (id, path, summary): (&str, &str, &str),
    generator: &mut SchemaGenerator,
) -> Value {
    let mut parameters = path_parameters(path);
    let what = "The ID of the last event that the client has; later ones follow.";
    parameters.push(header_parameter("Last-Event-ID", what));
    if path == SESSION_EVENTS {
        let what = "The same, for clients that cannot send headers; 0 is the beginning.";
        let mut after = header_parameter("after", what);
        if let Some(place) = after.get_mut("in") {
            *place = json!("query");
        }
        parameters.push(after);
    }
    let mut responses = problem_responses(generator);
    let stream = json!({"text/event-stream": {"schema": {"type": "string"}}});
    responses.insert("200".to_owned(), json!({"description": summary, "content": stream}));
    json!({"operationId": id, "summary": summary, "parameters": parameters, "responses": responses})
}

/// A turn of a campaign with a stream as the answer.
fn play_operation(generator: &mut SchemaGenerator) -> Value {
    let summary = "Plays a turn of a campaign; the narrator's text so far as server-sent events.";
    let body = generator.subschema_for::<PlayRequest>();
    let mut responses = problem_responses(generator);
    let stream = json!({"text/event-stream": {"schema": {"type": "string"}}});
    responses.insert("200".to_owned(), json!({"description": summary, "content": stream}));
    let mut parameters = path_parameters(PLAY_STREAM);
    let key =
        "A key that is stored with the turn, so that it is stored once however often it is sent.";
    parameters.push(header_parameter("If-Match", "The last turn, in quotes."));
    parameters.push(header_parameter("Idempotency-Key", key));
    json!({
        "operationId": "streamPlay", "summary": summary, "parameters": parameters,
        "responses": responses, "requestBody": request_body(body.as_value(), generator),
        "x-everturn-audited": true,
    })
}

/// The document.
pub(crate) fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = DEFINITIONS.into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    let mut add = |path: &str, method: &Method, operation: Value| {
        let item = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(method.as_str().to_ascii_lowercase(), operation);
        }
    };
    // Pages for browsers are no part of the API.
    for route in routes.iter().filter(|route| route.path.starts_with("/api/")) {
        let mut described = operation(route, &mut generator);
        if route.effect == Effect::Write
            && let Some(described) = described.as_object_mut()
        {
            described.insert("x-everturn-audited".to_owned(), Value::Bool(true));
        }
        add(route.path, &route.method, described);
    }
    let exchange = ("exchangeCode", "Exchanges a one-time code for a token.");
    let mut exchange = login_operation::<CodeRequest, TokenAnswer>(exchange, &mut generator);
    if let Some(exchange) = exchange.as_object_mut() {
        exchange.insert("security".to_owned(), json!([]));
    }
    add("/api/v1/token", &Method::POST, exchange);
    let code = ("createCode", "Creates a one-time code for another browser or program.");
    add(
        "/api/v1/codes",
        &Method::POST,
        login_operation::<NoBody, CodeAnswer>(code, &mut generator),
    );
    let logout = ("logOut", "Makes the cookie or the token of the request void.");
    add(
        "/api/v1/logout",
        &Method::POST,
        login_operation::<NoBody, LogoutAnswer>(logout, &mut generator),
    );
    for stream in [
        ("followSessions", LIST_EVENTS, "Changes of the list of sessions, as server-sent events."),
        ("followSession", SESSION_EVENTS, "New turns of a session, as server-sent events."),
    ] {
        add(stream.1, &Method::GET, events_operation(stream, &mut generator));
    }
    add(PLAY_STREAM, &Method::POST, play_operation(&mut generator));
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Everturn",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions of AI agents and games on this machine.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{"token": []}],
    })
}
