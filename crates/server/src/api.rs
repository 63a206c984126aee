//! All routes of the API, below `/api/v1`.
//!
//! - `sessions`: lists with facets, one session, new sessions, status; `pins`: pins; `trash`: the trash.
//! - `turns`: the requests of the line protocol that write; `revise`: edits; `entries`: pages of entries.
//! - `states`: states, differences, branches; `timeline`: what happened at each turn.
//! - `find`: search; `stats`: tokens and costs; `export`: downloads; `care`: check, repair and secrets.
//! - `title`: titles; `attachments`: pictures by reference; `overview`: what a session is about.
//! - `changes`: search within states; `compare`: two sessions side by side; `graph`: branches as a graph.
//! - `play`: campaigns; `retention`: what would expire; `plain`: pages without JavaScript.
//! - `context`: what fits into a number of tokens; `describe`: the OpenAPI document.

mod attachments;
mod care;
mod changes;
mod compare;
mod context;
mod describe;
mod entries;
mod export;
mod find;
mod graph;
mod overview;
mod pins;
mod plain;
mod play;
mod retention;
mod revise;
mod sessions;
mod states;
mod stats;
mod timeline;
mod title;
mod trash;
mod turns;

use crate::route::Route;

pub(crate) use play::play;

/// The table of routes.
pub(crate) fn routes() -> Vec<Route> {
    [
        describe::routes(),
        sessions::routes(),
        pins::routes(),
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
        title::routes(),
        attachments::routes(),
        overview::routes(),
        changes::routes(),
        compare::routes(),
        graph::routes(),
        play::routes(),
        retention::routes(),
        plain::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
