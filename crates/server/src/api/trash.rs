//! The trash of all sources whose sessions may be changed.

use axum::http::{Method, StatusCode};
use everturn::format::{Operation, SessionFormat};
use everturn::model::TrashedSession;
use everturn_catalog::SummaryDetail;
use schemars::JsonSchema;
use serde::Serialize;

use crate::library::Library;
use crate::problem::Problem;
use crate::route::{Answer, Call, NoBody, NoQuery, Route};

/// A session in the trash.
#[derive(Debug, Serialize, JsonSchema)]
struct TrashView {
    /// Its name in the trash.
    name: String,
    /// The source whose trash has it.
    source: String,
    /// Its format.
    format: String,
    /// The ID of the session.
    id: String,
    /// When it was moved to the trash.
    time: String,
    /// Its size.
    bytes: u64,
}

/// The trash.
#[derive(Debug, Serialize, JsonSchema)]
struct TrashAnswer {
    /// The sessions, oldest first.
    sessions: Vec<TrashView>,
    /// Sources whose trash cannot be read.
    warnings: Vec<String>,
}

/// A restored session.
#[derive(Debug, Serialize, JsonSchema)]
struct RestoreAnswer {
    /// The ID of the session.
    id: String,
    /// The source that has it again.
    source: String,
}

type TrashedItem = (usize, &'static dyn SessionFormat, TrashedSession);

fn trashed(library: &Library) -> (Vec<TrashedItem>, Vec<String>) {
    let (mut items, mut warnings) = (Vec::new(), Vec::new());
    for source in 0..library.source_count() {
        let Ok(store) = library.store(source) else { continue };
        for format in library.formats(source) {
            let Some(lifecycle) = format.capabilities().lifecycle else { continue };
            match lifecycle.list_trash(&store) {
                Ok(found) => items.extend(found.into_iter().map(|one| (source, format, one))),
                Err(error) => {
                    warnings.push(format!("{}: {error}", library.source_name(source)));
                }
            }
        }
    }
    items.sort_by(|(_, _, one), (_, _, two)| one.name.cmp(&two.name));
    (items, warnings)
}

fn list_trash(call: &Call<'_>, _: NoQuery) -> Result<Answer<TrashAnswer>, Problem> {
    let (items, warnings) = trashed(call.library);
    let view = |(source, format, item): TrashedItem| TrashView {
        name: item.name,
        source: call.library.source_name(source).to_owned(),
        format: format.name().to_owned(),
        id: item.id,
        time: item.time.to_string(),
        bytes: item.bytes,
    };
    Ok(Answer::ok(TrashAnswer { sessions: items.into_iter().map(view).collect(), warnings }))
}

fn restore_session(call: &Call<'_>, _: NoBody) -> Result<Answer<RestoreAnswer>, Problem> {
    let name = call.param("name");
    let (items, _) = trashed(call.library);
    let mut named = items.into_iter().filter(|(_, _, item)| item.name == name);
    let missing = || {
        Problem::not_found(format!("{name:?} is not in the trash"))
            .hint("GET /api/v1/trash lists it")
    };
    let (source, format, item) = named.next().ok_or_else(missing)?;
    if named.next().is_some() {
        let what = format!("{name:?} is in the trash of several sources");
        return Err(Problem::new(StatusCode::CONFLICT, "ambiguous", what)
            .hint("restore it with everturn restore NAME --root DIR"));
    }
    let root = call.library.writable_root(source)?;
    let place = format.lifecycle(Operation::Restore)?.restore(root.store(), &item.name)?;
    call.library.list(SummaryDetail::Names);
    let source = call.library.source_name(source).to_owned();
    Ok(Answer::ok(RestoreAnswer { id: place.id, source }))
}

pub(super) fn routes() -> Vec<Route> {
    let restore = "/api/v1/trash/{name}/restore";
    vec![
        Route::get(("/api/v1/trash", "listTrash", "The sessions in the trash."), list_trash),
        Route::change(
            (Method::POST, restore, "restoreSession", "Restores a session."),
            restore_session,
        ),
    ]
}
