//! From a request to its answer: guard, route, a worker of the bounded pool, headers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, get, on};
use everturn::scan::SecretRules;
use everturn_export::mask_json;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::audit::Principal;
use crate::events::{LIST_EVENTS, SESSION_EVENTS, list_events, session_events};
use crate::guard::{LOGIN, TOKEN};
use crate::headers::{compressed, protect};
use crate::narration::PLAY_STREAM;
use crate::play_stream::stream_play;
use crate::problem::Problem;
use crate::route::{Call, CallInput, Effect, JSON, Reply, Route};
use crate::session_key::short_hash;
use crate::state::{ServerState, read_body, timed_out};
use crate::{api, login, mcp, page};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where agents connect.
const MCP: &str = "/mcp";

/// Where a stream of events starts.
#[derive(Debug, Deserialize)]
struct EventsQuery {
    /// The ID of the last event that the client has, if it cannot send headers; `0` for all.
    after: Option<String>,
}

/// All routes, behind the guard.
pub(crate) fn router(state: &Arc<ServerState>, stop: &watch::Receiver<bool>) -> Router {
    let (of_list, of_session) = (stop.clone(), stop.clone());
    let list = move |State(state): State<Arc<ServerState>>, headers: HeaderMap| {
        list_events(state, headers, of_list.clone())
    };
    let session = move |State(state): State<Arc<ServerState>>,
                        Path(session): Path<String>,
                        Query(query): Query<EventsQuery>,
                        headers: HeaderMap| {
        session_events(state, session, headers, (query.after, of_session.clone()))
    };
    let play = |State(state): State<Arc<ServerState>>,
                Path(session): Path<String>,
                request: Request| stream_play(state, session, request);
    let mut router = Router::new()
        .route(LIST_EVENTS, get(list))
        .route(SESSION_EVENTS, get(session))
        .route(PLAY_STREAM, on(MethodFilter::POST, play))
        .route(LOGIN, get(login::log_in))
        .route(TOKEN, on(MethodFilter::POST, login::exchange_code))
        .route("/api/v1/codes", on(MethodFilter::POST, login::new_code))
        .route("/api/v1/logout", on(MethodFilter::POST, login::log_out));
    for route in api::routes() {
        let route = Arc::new(route);
        let Ok(filter) = MethodFilter::try_from(route.method.clone()) else { continue };
        let path = route.path;
        let serve =
            move |state: State<Arc<ServerState>>, params: RawPathParams, request: Request| {
                serve_route(state, Arc::clone(&route), params, request)
            };
        router = router.route(path, on(filter, serve));
    }
    let served = (Arc::clone(&state.library), Arc::clone(&state.hub));
    router = router.route(MCP, mcp::http_service(served, &state.options, stop.clone()));
    router
        .fallback(fallback)
        .method_not_allowed_fallback(wrong_method)
        .with_state(Arc::clone(state))
        .layer(from_fn_with_state(Arc::clone(state), guarded))
}

/// Lets a request in, and adds the headers of every answer.
async fn guarded(
    State(state): State<Arc<ServerState>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let mut response = match state.guard.admit(&parts, Instant::now()) {
        Ok(principal) => {
            if let Some(principal) = principal {
                parts.extensions.insert(principal);
            }
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    };
    protect(&mut response);
    response
}

async fn fallback(request: Request) -> Response<Body> {
    let path = request.uri().path();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match page::file(path, request.headers()).filter(|_| is_read) {
        Some(file) => file,
        None => Problem::not_found(format!("there is nothing at {path:?}"))
            .hint("GET /api/v1/openapi.json describes the API")
            .into_response(),
    }
}

async fn wrong_method(request: Request) -> Problem {
    let what = format!("{} is not possible here", request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", what)
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let invalid =
        |_| Problem::bad_request(format!("the header {name} is invalid")).at(name.as_str());
    headers.get(name).map(|value| value.to_str().map(str::to_owned).map_err(invalid)).transpose()
}

async fn call_input(
    state: &ServerState,
    params: &RawPathParams,
    parts: &Parts,
    body: Body,
) -> Result<CallInput, Problem> {
    let params = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(CallInput {
        params: params.collect::<HashMap<_, _>>(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: read_body(state, &parts.headers, body).await?,
        if_match: text(&parts.headers, &header::IF_MATCH)?,
        idempotency_key: text(&parts.headers, &IDEMPOTENCY_KEY)?,
    })
}

/// Whether the client asks to see secrets.
fn reveals(query: &str) -> bool {
    query.split('&').any(|pair| pair == "reveal=true")
}

async fn serve_route(
    State(state): State<Arc<ServerState>>,
    route: Arc<Route>,
    params: RawPathParams,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let by = parts.extensions.get::<Principal>().map_or("nobody", |principal| principal.as_str());
    let is_revealing = reveals(parts.uri.query().unwrap_or_default());
    let session =
        params.iter().find(|(name, _)| *name == "session").map(|(_, value)| value.to_owned());
    let reply = match call_input(&state, &params, &parts, body).await {
        Ok(input) => {
            let served = Arc::clone(&route);
            let work = state.work(move |library| {
                let mut reply = served.serve(&Call { library, input: &input })?;
                if !is_revealing && reply.media == JSON {
                    reply.bytes = masked(reply.bytes);
                }
                Ok(reply)
            });
            timeout(state.options.limits.request_time, work)
                .await
                .unwrap_or_else(|_| Err(timed_out()))
        }
        Err(problem) => Err(problem),
    };
    let response = match reply {
        Ok(reply) => finish(&parts.headers, reply),
        Err(problem) => problem.into_response(),
    };
    if route.effect == Effect::Write || is_revealing {
        state.audit(by, route.operation, session, response.status());
    }
    response
}

/// Replaces secrets in the strings of JSON with placeholders.
fn masked(json: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(json) {
        Ok(text) => mask_json(text, SecretRules::standard()).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Makes the answer, or says that the client has it already.
fn finish(request: &HeaderMap, reply: Reply) -> Response<Body> {
    let Reply { status, bytes, media, etag, location, file } = reply;
    let etag = etag.unwrap_or_else(|| format!("W/\"{}\"", short_hash(&bytes)));
    let known =
        request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let weak = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let is_known = known.flat_map(|value| value.split(',')).any(|tag| weak(tag) == weak(&etag));
    let is_unchanged = is_known && status == StatusCode::OK;
    let packed = compressed(request, &bytes).filter(|_| !is_unchanged);
    let is_packed = packed.is_some();
    let body = if is_unchanged { Body::empty() } else { Body::from(packed.unwrap_or(bytes)) };
    let mut response = Response::new(body);
    *response.status_mut() = if is_unchanged { StatusCode::NOT_MODIFIED } else { status };
    let headers = response.headers_mut();
    insert(headers, header::ETAG, &etag);
    insert(headers, header::VARY, "Accept-Encoding");
    insert(headers, header::CACHE_CONTROL, "private, no-cache");
    if !is_unchanged {
        insert(headers, header::CONTENT_TYPE, media);
    }
    if is_packed {
        insert(headers, header::CONTENT_ENCODING, "gzip");
    }
    if let Some(location) = location {
        insert(headers, header::LOCATION, &location);
    }
    if let Some(name) = file {
        insert(headers, header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{name}\""));
    }
    response
}
