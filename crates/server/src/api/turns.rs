//! The requests of the line protocol that write.

use axum::http::Method;
use everturn_catalog::SummaryDetail;
use everturn_requests::{
    AppendAnswer, AppendRequest, EmptyRequest, ForkAnswer, ForkRequest, MarkAddRequest, MarkAnswer,
    MarkRemoveRequest, Request, Response, RewindAnswer, RewindRequest, SceneAnswer, SceneRequest,
    SnapshotAnswer, StatusAnswer, UndoAnswer, UndoRequest,
};

use super::states::answer_of;
use crate::problem::Problem;
use crate::route::{Answer, Call, NoBody, Route};

/// The turn that must be the last one: from `If-Match` or from the body, which must not differ.
fn last_turn(call: &Call<'_>, after: Option<u64>) -> Result<Option<u64>, Problem> {
    match (call.expected_turn()?, after) {
        (Some(header), Some(body)) if header != body => {
            Err(Problem::bad_request("If-Match and after name different turns").at("after"))
        }
        (header, body) => Ok(header.or(body)),
    }
}

fn append_turn(call: &Call<'_>, body: AppendRequest) -> Result<Answer<AppendAnswer>, Problem> {
    let key = match (&call.input.idempotency_key, body.key) {
        (Some(header), Some(body)) if *header != body => {
            return Err(Problem::bad_request("Idempotency-Key and key differ").at("key"));
        }
        (header, body) => body.or_else(|| header.clone()),
    };
    let request = AppendRequest { key, after: last_turn(call, body.after)?, ..body };
    answer_of!(call.library.handle(&call.session()?, &Request::Append(request))?, Append)
}

#[expect(clippy::needless_pass_by_value, reason = "all handlers have this type")]
fn undo_turns(call: &Call<'_>, body: UndoRequest) -> Result<Answer<UndoAnswer>, Problem> {
    let request = UndoRequest { after: last_turn(call, body.after)?, ..body };
    answer_of!(call.library.handle(&call.session()?, &Request::Undo(request))?, Undo)
}

#[expect(clippy::needless_pass_by_value, reason = "all handlers have this type")]
fn rewind(call: &Call<'_>, body: RewindRequest) -> Result<Answer<RewindAnswer>, Problem> {
    let request = RewindRequest { after: last_turn(call, body.after)?, ..body };
    let answer =
        answer_of!(call.library.handle(&call.session()?, &Request::Rewind(request))?, Rewind);
    call.library.list(SummaryDetail::Names);
    answer
}

fn fork(call: &Call<'_>, body: ForkRequest) -> Result<Answer<ForkAnswer>, Problem> {
    let answer = answer_of!(call.library.handle(&call.session()?, &Request::Fork(body))?, Fork);
    call.library.list(SummaryDetail::Names);
    answer
}

fn start_scene(call: &Call<'_>, body: SceneRequest) -> Result<Answer<SceneAnswer>, Problem> {
    let request = SceneRequest { after: last_turn(call, body.after)?, ..body };
    answer_of!(call.library.handle(&call.session()?, &Request::SceneStart(request))?, Scene)
}

fn end_scene(call: &Call<'_>, body: SceneRequest) -> Result<Answer<SceneAnswer>, Problem> {
    let request = SceneRequest { after: last_turn(call, body.after)?, ..body };
    answer_of!(call.library.handle(&call.session()?, &Request::SceneEnd(request))?, Scene)
}

fn take_snapshot(call: &Call<'_>, _: NoBody) -> Result<Answer<SnapshotAnswer>, Problem> {
    let request = Request::Snapshot(EmptyRequest {});
    answer_of!(call.library.handle(&call.session()?, &request)?, Snapshot)
}

fn add_mark(call: &Call<'_>, body: MarkAddRequest) -> Result<Answer<MarkAnswer>, Problem> {
    answer_of!(call.library.handle(&call.session()?, &Request::MarkAdd(body))?, Mark)
}

fn remove_mark(call: &Call<'_>, _: NoBody) -> Result<Answer<MarkAnswer>, Problem> {
    let request = MarkRemoveRequest { mark: call.param("mark").to_owned() };
    answer_of!(call.library.handle(&call.session()?, &Request::MarkRemove(request))?, Mark)
}

fn pause(call: &Call<'_>, _: NoBody) -> Result<Answer<StatusAnswer>, Problem> {
    answer_of!(call.library.handle(&call.session()?, &Request::Pause(EmptyRequest {}))?, Status)
}

fn resume(call: &Call<'_>, _: NoBody) -> Result<Answer<StatusAnswer>, Problem> {
    answer_of!(call.library.handle(&call.session()?, &Request::Resume(EmptyRequest {}))?, Status)
}

fn complete(call: &Call<'_>, _: NoBody) -> Result<Answer<StatusAnswer>, Problem> {
    answer_of!(call.library.handle(&call.session()?, &Request::Complete(EmptyRequest {}))?, Status)
}

pub(super) fn routes() -> Vec<Route> {
    macro_rules! post {
        ($path:literal, $operation:literal, $summary:literal, $handle:ident) => {
            Route::change(
                (Method::POST, concat!("/api/v1/sessions/{session}/", $path), $operation, $summary),
                $handle,
            )
        };
    }
    vec![
        post!("append", "appendTurn", "Appends a turn or message.", append_turn)
            .conditional()
            .keyed(),
        post!("undo", "undoTurns", "Undoes the last turns with a new turn.", undo_turns)
            .conditional(),
        post!(
            "rewind",
            "rewindSession",
            "Goes back to a turn; what there was becomes a branch.",
            rewind
        )
        .conditional(),
        post!("fork", "forkSession", "Creates a session from the turns of this one.", fork),
        post!("scene_start", "startScene", "Starts a scene.", start_scene).conditional(),
        post!("scene_end", "endScene", "Ends the open scene.", end_scene).conditional(),
        post!("snapshot", "takeSnapshot", "Stores the present state as a snapshot.", take_snapshot),
        post!("marks", "addMark", "Adds a mark.", add_mark),
        Route::change(
            (
                Method::DELETE,
                "/api/v1/sessions/{session}/marks/{mark}",
                "removeMark",
                "Removes a mark.",
            ),
            remove_mark,
        ),
        post!("pause", "pauseSession", "Pauses a session.", pause),
        post!("resume", "resumeSession", "Resumes a paused session.", resume),
        post!("complete", "completeSession", "Completes a session.", complete),
    ]
}
