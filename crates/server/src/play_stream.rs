//! The narrator's answer as server-sent events, while it arrives.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use everturn::scan::SecretRules;
use everturn_export::mask_json;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api::play;
use crate::audit::Principal;
use crate::events::event_response;
use crate::narration::PlayRequest;
use crate::problem::Problem;
use crate::route::{Call, CallInput, parse_body};
use crate::state::{ServerState, read_body};

/// Events that may wait to be sent. Each `text` has the whole text so far, so that one that does not fit can be left out.
const WAITING: usize = 16;

fn event(name: &str, data: &Value) -> Bytes {
    let data = mask_json(data.to_string(), SecretRules::standard());
    format!("event: {name}\ndata: {data}\n\n").into()
}

fn header(request: &axum::http::request::Parts, name: &str) -> Option<String> {
    request.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Serves `POST play/stream`.
pub(crate) async fn stream_play(
    state: Arc<ServerState>,
    session: String,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let by = parts.extensions.get::<Principal>().map_or("nobody", |principal| principal.as_str());
    let body = match read_body(&state, &parts.headers, body).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let asked: PlayRequest = match parse_body(&body) {
        Ok(asked) => asked,
        Err(problem) => return problem.into_response(),
    };
    let (key, if_match) = (header(&parts, "idempotency-key"), header(&parts, "if-match"));
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let (text, name) = (sender.clone(), session.clone());
        let played = state.work(move |library| {
            let input = CallInput { if_match, ..CallInput::default() };
            let after = Call { library, input: &input }.expected_turn()?;
            let found = library.find(&session)?;
            let sink = Box::new(move |so_far: &str| {
                // A client that does not read gets the next text, which is longer.
                text.try_send(event("text", &json!({"text": so_far}))).ok();
            });
            play(library, &found, (&asked, key.as_deref(), after), sink)
        });
        let played = played.await.map_err(Problem::of_condition);
        let status = match &played {
            Ok(_) => StatusCode::OK,
            Err(problem) => StatusCode::from_u16(problem.status).unwrap_or_default(),
        };
        state.audit(by, "streamPlay", Some(name), status);
        let last = match played {
            Ok(answer) => event("turn", &json!(answer)),
            Err(problem) => event("problem", &json!(problem)),
        };
        // A client that has gone reads the turn from the session.
        sender.send(last).await.ok();
    });
    event_response(receiver)
}
