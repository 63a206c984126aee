//! Server-sent events: from cursors to the body of an answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::response::IntoResponse;
use everturn::names::FilePath;
use futures_core::Stream;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};

use crate::hub::FileChange;
use crate::library::LocatedSession;
use crate::listener::stopped;
use crate::live::{LiveEvent, TailCursor, end_of, read_after};
use crate::problem::Problem;
use crate::state::ServerState;

/// The changes of the list of sessions.
pub(crate) const LIST_EVENTS: &str = "/api/v1/events";

/// The events of a session.
pub(crate) const SESSION_EVENTS: &str = "/api/v1/sessions/{session}/events";

/// How often a stream looks for itself, in case a change was not reported.
const POLL: Duration = Duration::from_secs(15);

/// The pause after a read that failed, for example because another process has just moved the session.
const RETRY: Duration = Duration::from_millis(500);

/// After this, a comment is sent, so that a connection that is gone is noticed.
const COMMENT: &str = ": here\n\n";

/// The parts of a body, at most one of which waits to be sent.
struct EventBody(mpsc::Receiver<Bytes>);

impl Stream for EventBody {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|part| part.map(Ok))
    }
}

pub(crate) fn event_response(parts: mpsc::Receiver<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(EventBody(parts)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok())
}

fn text_of(events: &[LiveEvent]) -> Bytes {
    events.iter().map(LiveEvent::to_text).collect::<String>().into()
}

/// Why a stream looks again.
enum WakeReason {
    Change,
    Timeout,
    Stop,
}

/// Waits for a change that concerns the stream.
async fn wait_for_change(
    changes: &mut broadcast::Receiver<FileChange>,
    stop: &mut watch::Receiver<bool>,
    concerns: impl Fn(&FileChange) -> bool,
) -> WakeReason {
    let changed = async {
        loop {
            match changes.recv().await {
                Ok(change) if concerns(&change) => return,
                Ok(_) => {}
                // What was missed may concern it.
                Err(RecvError::Lagged(_)) => return,
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        () = changed => WakeReason::Change,
        () = tokio::time::sleep(POLL) => WakeReason::Timeout,
        () = stopped(stop) => WakeReason::Stop,
    }
}

/// The files whose changes concern a session.
fn paths_of(found: &LocatedSession) -> Vec<FilePath> {
    found.format.snapshot_paths(&found.place).unwrap_or_else(|_| vec![found.place.path.clone()])
}

/// Serves the events of a session.
pub(crate) async fn session_events(
    state: Arc<ServerState>,
    session: String,
    headers: HeaderMap,
    (after, stop): (Option<String>, watch::Receiver<bool>),
) -> Response<Body> {
    let given = last_event_id(&headers).map(str::to_owned).or(after);
    let cursor = match given.as_deref().map(|text| TailCursor::parse(text).ok_or(text)) {
        Some(Ok(cursor)) => Some(cursor),
        Some(Err(text)) => {
            let what = format!("{text:?} is not the ID of an event of a session");
            return Problem::bad_request(what).at("Last-Event-ID").into_response();
        }
        None => None,
    };
    // Changes from now on are not missed, whenever the session is read.
    let changes = state.hub.subscribe();
    let opened = state.work(move |library| {
        let found = library.find(&session)?;
        let cursor = match cursor {
            Some(cursor) => cursor,
            None => end_of(library, &found)?,
        };
        Ok((found, cursor))
    });
    let (found, cursor) = match opened.await {
        Ok(opened) => opened,
        Err(problem) => return problem.into_response(),
    };
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send_tail(state, (found, cursor), (changes, stop), sender));
    event_response(receiver)
}

async fn send_tail(
    state: Arc<ServerState>,
    (mut found, mut cursor): (LocatedSession, TailCursor),
    (mut changes, mut stop): (broadcast::Receiver<FileChange>, watch::Receiver<bool>),
    sender: mpsc::Sender<Bytes>,
) {
    let first = LiveEvent { id: Some(cursor.render()), name: "ready", data: "{}".to_owned() };
    if sender.send(text_of(&[first])).await.is_err() {
        return;
    }
    loop {
        let (key, from) = (found.key.clone(), cursor.clone());
        let read = state.work(move |library| {
            let found = library.find(&key)?;
            let page = read_after(library, &found, &from)?;
            Ok((found, page))
        });
        match read.await {
            Ok((now, page)) => {
                found = now;
                cursor = page.cursor;
                if !page.events.is_empty() && sender.send(text_of(&page.events)).await.is_err() {
                    return;
                }
                if page.more {
                    continue;
                }
            }
            Err(problem) if problem.code == "not_found" => {
                let data = "{}".to_owned();
                sender.send(text_of(&[LiveEvent { id: None, name: "removed", data }])).await.ok();
                return;
            }
            Err(_) => {
                tokio::time::sleep(RETRY).await;
                if sender.is_closed() || *stop.borrow() {
                    return;
                }
                continue;
            }
        }
        let paths = paths_of(&found);
        let source = found.source;
        let woken = tokio::select! {
            woken = wait_for_change(&mut changes, &mut stop, |change| change.concerns(source, &paths)) => woken,
            () = sender.closed() => return,
        };
        match woken {
            WakeReason::Change => {}
            WakeReason::Timeout => {
                state.hub.watch();
                if sender.send(Bytes::from_static(COMMENT.as_bytes())).await.is_err() {
                    return;
                }
            }
            WakeReason::Stop => return,
        }
    }
}

/// Serves the changes of the list of sessions.
pub(crate) async fn list_events(
    state: Arc<ServerState>,
    headers: HeaderMap,
    stop: watch::Receiver<bool>,
) -> Response<Body> {
    let number = last_event_id(&headers).and_then(|id| state.feed.number_of(id));
    let changes = state.hub.subscribe();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send_list(state, number, (changes, stop), sender));
    event_response(receiver)
}

async fn send_list(
    state: Arc<ServerState>,
    mut number: Option<u64>,
    (mut changes, mut stop): (broadcast::Receiver<FileChange>, watch::Receiver<bool>),
    sender: mpsc::Sender<Bytes>,
) {
    loop {
        let (shared, from) = (Arc::clone(&state), number);
        let read = state.work(move |library| Ok(shared.feed.events_after(library, from))).await;
        if let Ok((events, last)) = read {
            number = Some(last);
            if !events.is_empty() && sender.send(text_of(&events)).await.is_err() {
                return;
            }
        }
        let woken = tokio::select! {
            woken = wait_for_change(&mut changes, &mut stop, |_| true) => woken,
            () = sender.closed() => return,
        };
        match woken {
            // Several files change with one commit.
            WakeReason::Change => tokio::time::sleep(Duration::from_millis(60)).await,
            WakeReason::Timeout => {
                state.hub.watch();
                if sender.send(Bytes::from_static(COMMENT.as_bytes())).await.is_err() {
                    return;
                }
            }
            WakeReason::Stop => return,
        }
    }
}
