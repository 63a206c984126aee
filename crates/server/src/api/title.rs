//! Titles of sessions.

use axum::http::Method;
use everturn::format::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::route::{Answer, Call, Route};

/// The most characters of a title.
const LONGEST: usize = 500;

/// A new title.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TitleRequest {
    /// The title: one line, at most 500 characters.
    title: String,
}

/// The title that is stored now.
#[derive(Debug, Serialize, JsonSchema)]
struct TitleAnswer {
    /// The title.
    title: String,
}

fn set_title(
    call: &Call<'_>,
    TitleRequest { title }: TitleRequest,
) -> Result<Answer<TitleAnswer>, Problem> {
    let title = title.trim().to_owned();
    if title.is_empty() || title.chars().count() > LONGEST || title.chars().any(char::is_control) {
        let what = format!("a title is one line of 1 to {LONGEST} characters");
        return Err(Problem::bad_request(what).at("title"));
    }
    let found = call.session()?;
    let editing = found.format.editing(Operation::Write)?;
    let root = call.library.writable_root(found.source)?;
    call.library.release(&found)?;
    let mut editor = editing.edit(root.store(), &found.place)?;
    let set = editor.set_title(&title, call.library.now());
    let released = editor.release();
    set?;
    released?;
    call.library.changed(&found);
    Ok(Answer::ok(TitleAnswer { title }))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/title";
    let what = "Sets the title, if the format stores one.";
    vec![Route::change((Method::PUT, path, "setTitle", what), set_title)]
}
