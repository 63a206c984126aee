//! [`ServerState`]: what all requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::audit::AuditRecord;
use crate::guard::Guard;
use crate::hub::LiveHub;
use crate::library::Library;
use crate::live::ListFeed;
use crate::options::ServeOptions;
use crate::problem::Problem;
use crate::route::JSON;

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

/// The answer to a request that takes too long.
pub(crate) fn timed_out() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the request took too long")
        .hint("a change may still be made: send it again with its idempotency key or If-Match")
}
