//! From a request to its answer: guard, route, a worker of the bounded pool, headers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, get, on};
use everturn::scan::SecretRules;
use everturn_export::mask_json;
use serde::Deserialize;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use crate::audit::{AuditRecord, Principal};
use crate::guard::{Guard, LOGIN, TOKEN};
use crate::headers::{compressed, protect};
use crate::library::Library;
use crate::live::{ListFeed, LiveHub, list_events, session_events};
use crate::options::ServeOptions;
use crate::problem::Problem;
use crate::route::{Call, CallInput, Effect, JSON, Reply, Route};
use crate::session_key::short_hash;
use crate::{api, login, mcp, page};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The changes of the list of sessions.
pub(crate) const LIST_EVENTS: &str = "/api/v1/events";

/// The events of a session.
pub(crate) const SESSION_EVENTS: &str = "/api/v1/sessions/{session}/events";

/// Where agents connect.
const MCP: &str = "/mcp";

/// Where a stream of events starts.
#[derive(Debug, Deserialize)]
struct EventsQuery {
    /// The ID of the last event that the client has, if it cannot send headers; `0` for all.
    after: Option<String>,
}

/// What all requests share.
pub(crate) struct ServerState {
    pub(crate) guard: Guard,
    pub(crate) library: Arc<Library>,
    pub(crate) options: ServeOptions,
    pub(crate) hub: Arc<LiveHub>,
    pub(crate) feed: ListFeed,
    workers: Semaphore,
    waiting: AtomicUsize,
}

impl ServerState {
    /// `start` distinguishes this start of the server from others.
    pub(crate) fn new(guard: Guard, options: ServeOptions, start: String) -> ServerState {
        let hub = LiveHub::new(&options);
        ServerState {
            guard,
            library: Arc::new(Library::new(&options, Arc::clone(&hub))),
            workers: Semaphore::new(options.limits.workers),
            waiting: AtomicUsize::new(0),
            feed: ListFeed::new(start),
            hub,
            options,
        }
    }

    /// Runs work with sessions on a thread of the pool. The number of requests that wait for one is bounded.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Library) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let busy = || {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "too many requests wait")
                .hint("send the request again later")
        };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.options.limits.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(busy());
        }
        let permit = self.workers.acquire().await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let _permit = permit.map_err(|_| busy())?;
        let library = Arc::clone(&self.library);
        let done = tokio::task::spawn_blocking(move || work(&library)).await;
        done.map_err(|_| Problem::internal("the request failed unexpectedly"))?
    }

    pub(crate) fn audit(
        &self,
        by: &'static str,
        operation: &'static str,
        session: Option<String>,
        status: StatusCode,
    ) {
        let (time, status) = ((self.options.now)(), status.as_u16());
        (self.options.audit)(&AuditRecord { time, by, operation, session, status });
    }
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
    let mut router = Router::new()
        .route(LIST_EVENTS, get(list))
        .route(SESSION_EVENTS, get(session))
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
    match page::file(path).filter(|_| matches!(*request.method(), Method::GET | Method::HEAD)) {
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

/// Reads the body of a request, which must be JSON if there is one.
pub(crate) async fn read_body(
    state: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, Problem> {
    let limits = &state.options.limits;
    let too_large = || {
        let what = format!("a body has at most {} bytes", limits.body);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", what)
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if length
        .and_then(|length| length.parse::<usize>().ok())
        .is_some_and(|length| length > limits.body)
    {
        return Err(too_large());
    }
    let read = timeout(limits.request_time, axum::body::to_bytes(body, limits.body)).await;
    let bytes = read.map_err(|_| timed_out())?.map_err(|_| too_large())?;
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.and_then(|media| media.split(';').next()).map(str::trim);
    if !bytes.is_empty() && media != Some(JSON) {
        let what = "a body must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", what));
    }
    Ok(bytes)
}

fn timed_out() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the request took too long")
        .hint("a change may still be made: send it again with its idempotency key or If-Match")
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
