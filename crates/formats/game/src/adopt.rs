//! Takes over state files that were edited by hand: what differs from the log becomes a turn.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::error::GameError;
use super::meta::tree;
use super::paths::DocumentFile;
use super::repair::{plan_repair, repair, undo_repair};
use super::session::Session;
use super::state::{GameState, Scope, unstamped};
use super::state_source::is_doubtful;
use super::turn::TurnInput;
use super::writer::{GameWriter, TurnOutcome};
use everturn_json::names::{FilePath, SessionId};
use everturn_store::{Store, read_optional};
use everturn_value::delta::diff;
use everturn_value::tree::{JsonTree, ValueKind};

/// Stores what the state files of a session have and its log has not as a turn of the actor `system`.
///
/// The edited files are kept in the trash, as by a repair, until the turn is stored: if it is refused, they are restored.
pub fn adopt(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<TurnOutcome, GameError> {
    let session = Session::open(Arc::clone(store), id)?;
    // The files may be older than the log: then only what was edited is taken, and not what is old.
    let turn = session.meta.as_ref().and_then(|meta| meta.number(&["stateFiles", "turnId"]));
    let turn = turn.ok_or_else(|| {
        GameError::input("the metadata does not show of which turn the state files are")
    })?;
    let known = session.state_at(turn)?;
    if let Some(finding) = known.findings.iter().find(|finding| is_doubtful(finding)) {
        return Err(GameError::damaged(&finding.file, &finding.message));
    }
    let input = edits(&session, &known.state)?;
    let is_repaired = match plan_repair(store, id)?.actions.is_empty() {
        true => false,
        false => repair(store, id, now)?.originals.is_some(),
    };
    let done = append(store, id, &input, now);
    if done.is_err() && is_repaired {
        undo_repair(store, id, now)?;
    }
    done
}

fn append(
    store: &Arc<dyn Store>,
    id: &SessionId,
    input: &TurnInput,
    now: Timestamp,
) -> Result<TurnOutcome, GameError> {
    let mut game = GameWriter::open(Arc::clone(store), id)?;
    let done = game.append(input, now);
    match &done {
        Ok(_) => game.close(now)?,
        Err(_) => game.release()?,
    }
    done
}

/// Returns the turn that leads from the state of the log to the state files.
fn edits(session: &Session, known: &GameState) -> Result<TurnInput, GameError> {
    let mut parts: Vec<(Scope, FilePath)> = vec![
        (Scope::World, DocumentFile::World.in_dir(&session.dir)),
        (Scope::Player, DocumentFile::Player.in_dir(&session.dir)),
    ];
    parts.extend(session.named_file("currentScene").map(|file| (Scope::Scene, file)));
    let mut input = TurnInput::new("system");
    let mut files: Vec<String> = Vec::new();
    for (scope, file) in parts {
        let Some(edited) = read_state(session, &file)? else { continue };
        let before = known.get(scope).map_or_else(JsonTree::object, unstamped);
        let deltas = diff(&before, &unstamped(&edited));
        if !deltas.is_empty() {
            files.extend(file.name().map(|name| name.to_string()));
            input = input.changing(scope, deltas);
        }
    }
    if files.is_empty() {
        return Err(GameError::input("the state files have no changes that the log lacks"));
    }
    let text = format!("Changes made by hand in {}.", files.join(", "));
    input.events.push(tree(&json!({"type": "adopt", "description": text})));
    Ok(input)
}

fn read_state(session: &Session, file: &FilePath) -> Result<Option<JsonTree>, GameError> {
    let Some(bytes) = read_optional(&session.store, file)? else { return Ok(None) };
    let bad = |reason: &str| GameError::input(format!("{file} cannot be taken over: {reason}"));
    let text = String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    let tree = JsonTree::parse(text.trim_start_matches('\u{feff}'));
    let tree = tree.map_err(|error| bad(&format!("it is not JSON: {error}")))?;
    match tree.kind() {
        ValueKind::Object => Ok(Some(tree)),
        other => Err(bad(&format!("it is {other}, not an object"))),
    }
}
