//! Pins: retention leaves pinned sessions alone.

use axum::http::Method;
use everturn::format::Operation;
use everturn::retention::{pin_session, unpin_session};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;
use crate::route::{Answer, Call, NoBody, Route};

/// Whether a session is pinned.
#[derive(Debug, Serialize, JsonSchema)]
struct PinAnswer {
    /// Whether it is pinned now.
    pinned: bool,
    /// Whether that is new.
    changed: bool,
}

fn pin(call: &Call<'_>, _: NoBody) -> Result<Answer<PinAnswer>, Problem> {
    let found = call.session()?;
    found.format.editing(Operation::Write)?;
    let root = call.library.writable_root(found.source)?;
    let changed = pin_session(root.store(), found.format, &found.place, call.library.now())?;
    Ok(Answer::ok(PinAnswer { pinned: true, changed }))
}

fn unpin(call: &Call<'_>, _: NoBody) -> Result<Answer<PinAnswer>, Problem> {
    let found = call.session()?;
    found.format.editing(Operation::Write)?;
    let root = call.library.writable_root(found.source)?;
    let changed = unpin_session(root.store(), found.format, &found.place)?;
    Ok(Answer::ok(PinAnswer { pinned: false, changed }))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/pin";
    vec![
        Route::change((Method::PUT, path, "pinSession", "Pins a session."), pin),
        Route::change((Method::DELETE, path, "unpinSession", "Unpins a session."), unpin),
    ]
}
