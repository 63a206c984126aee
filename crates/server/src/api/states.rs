//! States, differences, marks and branches.

use everturn_requests::{
    BranchesAnswer, DiffAnswer, DiffRequest, EmptyRequest, MarksAnswer, Request, Response,
    StateAnswer, StatePath, StateRequest,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::problem::Problem;
use crate::route::{Answer, Call, RevealQuery, Route};

/// Which state to return.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StateQuery {
    /// The turn; the last one by default.
    turn: Option<u64>,
    /// The path of a value, such as `world.npcs.luna`, or as a JSON pointer: `/world/npcs/luna`.
    path: Option<String>,
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

/// Parses a path with dots, or a JSON pointer, whose keys may contain dots.
fn state_path(text: String) -> StatePath {
    match text.strip_prefix('/') {
        Some(pointer) => {
            let key = |part: &str| part.replace("~1", "/").replace("~0", "~");
            StatePath::Keys(pointer.split('/').map(key).collect())
        }
        None => StatePath::Dotted(text),
    }
}

/// What an answer must be; another one is an error of the server.
macro_rules! answer_of {
    ($response:expr, $variant:ident) => {
        match $response {
            Response::$variant(answer) => Ok(Answer::ok(answer)),
            _ => Err(Problem::internal("the answer has the wrong type")),
        }
    };
}
pub(super) use answer_of;

fn get_state(call: &Call<'_>, query: StateQuery) -> Result<Answer<StateAnswer>, Problem> {
    let request = StateRequest { path: query.path.map(state_path), turn: query.turn };
    answer_of!(call.library.handle(&call.session()?, &Request::State(request))?, State)
}

/// Which states to compare.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiffQuery {
    /// The turn to start from.
    from: u64,
    /// The turn to compare with; the last one by default.
    to: Option<u64>,
    /// Only this scope.
    scope: Option<String>,
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

fn get_diff(call: &Call<'_>, query: DiffQuery) -> Result<Answer<DiffAnswer>, Problem> {
    let request = DiffRequest { from: query.from, to: query.to, scope: query.scope };
    answer_of!(call.library.handle(&call.session()?, &Request::Diff(request))?, Diff)
}

fn list_branches(call: &Call<'_>, _: RevealQuery) -> Result<Answer<BranchesAnswer>, Problem> {
    let request = Request::Branches(EmptyRequest {});
    answer_of!(call.library.handle(&call.session()?, &request)?, Branches)
}

fn list_marks(call: &Call<'_>, _: RevealQuery) -> Result<Answer<MarksAnswer>, Problem> {
    let request = Request::MarkList(EmptyRequest {});
    answer_of!(call.library.handle(&call.session()?, &request)?, Marks)
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(
            (
                "/api/v1/sessions/{session}/state",
                "getState",
                "The state at a turn, or a value in it.",
            ),
            get_state,
        ),
        Route::get(
            (
                "/api/v1/sessions/{session}/diff",
                "getDiff",
                "The changes of the state between two turns.",
            ),
            get_diff,
        ),
        Route::get(
            (
                "/api/v1/sessions/{session}/branches",
                "listBranches",
                "Branches and forks of a session.",
            ),
            list_branches,
        ),
        Route::get(
            ("/api/v1/sessions/{session}/marks", "listMarks", "The marks of a session."),
            list_marks,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_dots_or_are_pointers() {
        assert_eq!(state_path("a.b".to_owned()), StatePath::Dotted("a.b".to_owned()));
        let keys = ["a.b", "c/d", "~"].map(str::to_owned).to_vec();
        assert_eq!(state_path("/a.b/c~1d/~0".to_owned()), StatePath::Keys(keys));
    }
}
