//! All routes of the API, below `/api/v1`.
//!
//! - `sessions`: lists with facets, one session, new sessions, status, pins; `trash`: the trash.
//! - `turns`: the requests of the line protocol that write; `revise`: edits; `entries`: pages of entries.
//! - `states`: states, differences, branches; `timeline`: what happened at each turn.
//! - `find`: search; `stats`: tokens and costs; `export`: downloads; `care`: check, repair and secrets.
//! - `context`: what fits into a number of tokens; `describe`: the OpenAPI document.

mod care;
mod context;
mod describe;
mod entries;
mod export;
mod find;
mod revise;
mod sessions;
mod states;
mod stats;
mod timeline;
mod trash;
mod turns;

use crate::route::Route;

/// The table of routes.
pub(crate) fn routes() -> Vec<Route> {
    [
        describe::routes(),
        sessions::routes(),
        trash::routes(),
        entries::routes(),
        states::routes(),
        timeline::routes(),
        turns::routes(),
        revise::routes(),
        find::routes(),
        stats::routes(),
        export::routes(),
        care::routes(),
        context::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
