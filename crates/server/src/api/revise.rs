//! Edits of earlier messages.

use axum::http::Method;
use everturn::format::Operation;
use everturn::model::Revision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// How to change a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "change")]
enum ReviseRequest {
    /// Replaces the text; the previous text is kept with it.
    Edit {
        /// The turn.
        turn: u64,
        /// The new text.
        text: String,
    },
    /// Adds a version; the earlier ones are kept, to choose from.
    Regenerate {
        /// The turn.
        turn: u64,
        /// The text of the new version.
        text: String,
    },
    /// Switches to an earlier version.
    Choose {
        /// The turn.
        turn: u64,
        /// The number of the version, counted from 1, oldest first.
        version: u64,
    },
    /// Moves a message to the trash.
    Delete {
        /// The turn.
        turn: u64,
    },
    /// Restores a message.
    Restore {
        /// Its name in the trash.
        name: String,
    },
}

impl From<ReviseRequest> for Revision {
    fn from(request: ReviseRequest) -> Revision {
        match request {
            ReviseRequest::Edit { turn, text } => Revision::Edit { turn, text },
            ReviseRequest::Regenerate { turn, text } => Revision::Regenerate { turn, text },
            ReviseRequest::Choose { turn, version } => Revision::Choose { turn, which: version },
            ReviseRequest::Delete { turn } => Revision::Delete { turn },
            ReviseRequest::Restore { name } => Revision::Restore { name },
        }
    }
}

/// A changed message.
#[derive(Debug, Serialize, JsonSchema)]
struct ReviseAnswer {
    /// The last turn of the session, or the turn that was changed.
    turn: u64,
    /// The ID of the message, or its name in the trash.
    id: Option<String>,
}

fn revise_turn(call: &Call<'_>, body: ReviseRequest) -> Result<Answer<ReviseAnswer>, Problem> {
    let found = call.session()?;
    let editing = found.format.editing(Operation::Write)?;
    let root = call.library.writable_root(found.source)?;
    call.library.release(&found)?;
    let mut editor = editing.edit(root.store(), &found.place)?;
    if let Some(after) = call.expected_turn()?
        && editor.last_turn() != after
    {
        let what = format!("the last turn is {}, not {after}", editor.last_turn());
        let code = everturn_requests::ErrorCode::Conflict;
        return Err(everturn_requests::RequestError::new(code, what).at("after").into());
    }
    let changed = editor.revise(&body.into(), call.library.now())?;
    editor.release()?;
    Ok(Answer::ok(ReviseAnswer { turn: changed.turn, id: changed.id }))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/revise";
    let what = "Edits, regenerates, deletes or restores a message.";
    vec![Route::change((Method::POST, path, "reviseTurn", what), revise_turn).conditional()]
}
