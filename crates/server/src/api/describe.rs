//! The OpenAPI document, and what the server is.

use everturn_requests::Access;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::openapi::document;
use crate::problem::Problem;
use crate::route::{Answer, Call, NoQuery, Route};

/// A source of sessions.
#[derive(Serialize, JsonSchema)]
struct SourceView {
    /// Its name, the first part of the keys of its sessions.
    name: String,
    /// Whether it can be read.
    readable: bool,
    /// Whether new sessions are created here.
    main: bool,
    /// Why it cannot be read.
    problem: Option<String>,
}

/// What the server is.
#[derive(Serialize, JsonSchema)]
struct ServerAnswer {
    /// The version of Everturn.
    version: String,
    /// The version of the API.
    api: u32,
    /// Whether requests may change sessions.
    writable: bool,
    /// The sources, in the order of lists.
    sources: Vec<SourceView>,
}

fn describe_server(call: &Call<'_>, _: NoQuery) -> Result<Answer<ServerAnswer>, Problem> {
    let library = call.library;
    let main = library.main_source().ok();
    let source = |number: usize| {
        let problem = library.store(number).err().map(|problem| problem.to_string());
        SourceView {
            name: library.source_name(number).to_owned(),
            readable: problem.is_none(),
            main: main == Some(number),
            problem,
        }
    };
    Ok(Answer::ok(ServerAnswer {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api: 1,
        writable: library.access() == Access::Write,
        sources: (0..library.source_count()).map(source).collect(),
    }))
}

fn describe_api(_: &Call<'_>, _: NoQuery) -> Result<Answer<Value>, Problem> {
    Ok(Answer::ok(document(&super::routes())))
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(
            ("/api/v1", "describeServer", "What the server is and serves."),
            describe_server,
        ),
        Route::get(("/api/v1/openapi.json", "describeApi", "This document."), describe_api),
    ]
}
