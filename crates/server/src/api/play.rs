//! Campaigns in the browser: the table, and turns that a narrator answers.

mod table;

use axum::http::Method;
use everturn::campaign::{CampaignError, CampaignWriter, PlayOutcome, Submission};
use everturn::format::{Feature, Operation, SessionError};
use everturn::names::SessionId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::library::{Library, LocatedSession};
use crate::narration::{NarrationSink, PlayRequest};
use crate::problem::Problem;
use crate::route::{Answer, Call, NoQuery, Route};
use table::{TableAnswer, table_of};

/// The line of a turn in which the player does nothing.
const CONTINUE: &str = "Continue.";

/// The most bytes of a line.
const LONGEST: usize = 16 << 10;

/// The answer of the narrator.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlayAnswer {
    /// The last turn.
    turn: u64,
    /// What the narrator tells.
    text: String,
    /// What was noticed, such as refused claims.
    notes: Vec<String>,
    /// Why the campaign has ended, if it has.
    ended: Option<String>,
}

/// A campaign that can be played.
fn campaign_id(found: &LocatedSession) -> Result<SessionId, Problem> {
    let has_rules = found.format.capabilities().features.contains(&Feature::CampaignRules);
    if !has_rules || found.place.is_archive() {
        let error = SessionError::Unsupported {
            layout: found.format.name(),
            what: "playing: only campaigns have a narrator",
        };
        return Err(error.into());
    }
    SessionId::parse(&found.place.id).map_err(|error| Problem::bad_request(error.to_string()))
}

fn failed(error: CampaignError) -> Problem {
    SessionError::from(error).into()
}

fn check_line(line: &str) -> Result<(), Problem> {
    match line.len() > LONGEST {
        true => Err(Problem::bad_request(format!("a line has at most {LONGEST} bytes")).at("line")),
        false => Ok(()),
    }
}

fn act(
    library: &Library,
    writer: &mut CampaignWriter,
    (request, key): (&PlayRequest, Option<&str>),
    sink: NarrationSink,
) -> Result<Option<PlayOutcome>, Problem> {
    let now = library.now();
    let seed = u64::try_from(now.as_nanosecond()).unwrap_or_default() ^ writer.turn();
    let narrator = || library.narrator(seed, sink);
    let done = match request {
        PlayRequest::Say { line, actor } => {
            check_line(line)?;
            let is_silent = line.trim().is_empty() && writer.turn() > 0;
            let line = if is_silent { CONTINUE } else { line.as_str() };
            let said = Submission { user_input: line, actor: actor.as_deref(), seed };
            writer.submit_with_key(&said, key, &mut *narrator()?, now)
        }
        PlayRequest::Retry {} => writer.retell(None, seed, &mut *narrator()?, now),
        PlayRequest::Edit { line } => {
            check_line(line)?;
            writer.retell(Some(line), seed, &mut *narrator()?, now)
        }
        PlayRequest::Choose { version } => {
            writer.choose_version(usize::try_from(*version).unwrap_or(usize::MAX), now)
        }
        PlayRequest::Undo { turns } => writer.undo(*turns, now),
        PlayRequest::Redo { turns } => writer.redo(*turns, now),
        PlayRequest::Actor { id } => {
            writer.select_actor(id).map_err(failed)?;
            return Ok(None);
        }
    };
    done.map(Some).map_err(failed)
}

fn answer_of(
    writer: &CampaignWriter,
    outcome: Option<&PlayOutcome>,
) -> Result<PlayAnswer, CampaignError> {
    let text = outcome.and_then(|done| done.row.string_at(&["assistant_text"]));
    let notes =
        outcome.into_iter().flat_map(|done| &done.findings).map(ToString::to_string).collect();
    Ok(PlayAnswer {
        turn: writer.turn(),
        text: text.unwrap_or_default(),
        notes,
        ended: writer.campaign().end_reason()?,
    })
}

/// Plays, and stores the turn. `sink` gets the text as far as it has arrived.
pub(crate) fn play(
    library: &Library,
    found: &LocatedSession,
    (request, key, after): (&PlayRequest, Option<&str>, Option<u64>),
    sink: NarrationSink,
) -> Result<PlayAnswer, Problem> {
    let id = campaign_id(found)?;
    found.format.editing(Operation::Write)?;
    let root = library.writable_root(found.source)?;
    library.release(found)?;
    let mut writer = CampaignWriter::open(root.store().clone(), &id).map_err(failed)?;
    let answer = match after.filter(|after| *after != writer.turn()) {
        Some(after) => {
            let what = format!("the last turn is {}, not {after}", writer.turn());
            let code = everturn_requests::ErrorCode::Conflict;
            Err(everturn_requests::RequestError::new(code, what).at("after").into())
        }
        None => act(library, &mut writer, (request, key), sink)
            .and_then(|done| answer_of(&writer, done.as_ref()).map_err(failed)),
    };
    let released = writer.release().map_err(failed);
    let answer = answer?;
    released?;
    library.changed(found);
    Ok(answer)
}

#[expect(clippy::needless_pass_by_value, reason = "all handlers have this type")]
fn play_turn(call: &Call<'_>, body: PlayRequest) -> Result<Answer<PlayAnswer>, Problem> {
    let key = call.input.idempotency_key.as_deref();
    if key.is_some() && !matches!(body, PlayRequest::Say { .. }) {
        call.refuse_key()?;
    }
    let request = (&body, key, call.expected_turn()?);
    Ok(Answer::ok(play(call.library, &call.session()?, request, Box::new(|_| {}))?))
}

fn get_table(call: &Call<'_>, _: NoQuery) -> Result<Answer<TableAnswer>, Problem> {
    let found = call.session()?;
    let id = campaign_id(&found)?;
    let store = call.library.store(found.source)?;
    let table = table_of(store, &id, call.library.narrator_name()).map_err(failed)?;
    Ok(Answer::ok(table))
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/v1/sessions/{session}/play";
    let table = "/api/v1/sessions/{session}/table";
    let what = "Plays a turn of a campaign, and returns the narrator's answer.";
    vec![
        Route::get((table, "getTable", "Party, map and quest of a campaign."), get_table),
        Route::change((Method::POST, path, "playTurn", what), play_turn).conditional().keyed(),
    ]
}
