//! Takes over state files that were edited by hand: what differs from the log becomes a turn.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::error::GameError;
use super::meta::tree;
use super::paths::{DocumentFile, GameStatus};
use super::session::Session;
use super::state::{GameState, Scope, unstamped};
use super::state_source::is_doubtful;
use super::turn::TurnInput;
use super::writer::turns::EditedFile;
use super::writer::{GameWriter, TurnOutcome, lock_with};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::repair::{allocate_originals_for, original_path};
use everturn_store::{Store, read_optional};
use everturn_value::delta::diff;
use everturn_value::tree::{JsonTree, ValueKind};

/// Stores what the state files of a session have and its log has not as a turn of the actor `system`.
///
/// The turn, the states after it and copies of the edited files in the trash are one commit. If the turn is refused,
/// nothing has changed.
pub fn adopt(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<TurnOutcome, GameError> {
    let trash = allocate_originals_for(store, id, "adopt", now)?;
    let writer = lock_with(store, id, std::slice::from_ref(&trash))?;
    let session = Session::open(Arc::clone(store), id)?;
    if session.status != GameStatus::Active {
        let (id, status, wanted) = (id.clone(), session.status, "active");
        return Err(GameError::Status { id, status, wanted });
    }
    // The files may be older than the log: then only what was edited is taken, and not what is old.
    let turn = session.meta.as_ref().and_then(|meta| meta.number(&["stateFiles", "turnId"]));
    let turn = turn.ok_or_else(|| {
        GameError::input("the metadata does not show of which turn the state files are")
    })?;
    let known = session.state_at(turn)?;
    if let Some(finding) = known.findings.iter().find(|finding| is_doubtful(finding)) {
        return Err(GameError::damaged(&finding.file, &finding.message));
    }
    let (input, edited) = edits(&session, &known.state, &trash)?;
    let files: Vec<FilePath> = edited.iter().map(|edited| edited.file.clone()).collect();
    let mut game = GameWriter::with_edits(session, writer, &files)?;
    let done = game.append_edits(&input, edited, now);
    match &done {
        Ok(_) => game.close(now)?,
        Err(_) => game.release()?,
    }
    done
}

/// Returns the turn that leads from the state of the log to the state files, and the files that differ.
fn edits(
    session: &Session,
    known: &GameState,
    trash: &FilePath,
) -> Result<(TurnInput, Vec<EditedFile>), GameError> {
    let mut parts: Vec<(Scope, FilePath)> = vec![
        (Scope::World, DocumentFile::World.in_dir(&session.dir)),
        (Scope::Player, DocumentFile::Player.in_dir(&session.dir)),
    ];
    parts.extend(session.named_file("currentScene").map(|file| (Scope::Scene, file)));
    let mut input = TurnInput::new("system");
    let mut files: Vec<EditedFile> = Vec::new();
    for (scope, file) in parts {
        let Some(bytes) = read_optional(&session.store, &file)? else { continue };
        let edited = parse_state(&file, &bytes)?;
        let before = known.get(scope).map_or_else(JsonTree::object, unstamped);
        let deltas = diff(&before, &unstamped(&edited));
        if !deltas.is_empty() {
            input = input.changing(scope, deltas);
            files.push(EditedFile { original: original_path(trash, &file), file, bytes });
        }
    }
    if files.is_empty() {
        return Err(GameError::input("the state files have no changes that the log lacks"));
    }
    let names: Vec<String> =
        files.iter().filter_map(|edited| edited.file.name()).map(|name| name.to_string()).collect();
    let text = format!("Changes made by hand in {}.", names.join(", "));
    input.events.push(tree(&json!({"type": "adopt", "description": text})));
    Ok((input, files))
}

fn parse_state(file: &FilePath, bytes: &[u8]) -> Result<JsonTree, GameError> {
    let bad = |reason: &str| GameError::input(format!("{file} cannot be taken over: {reason}"));
    let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    let tree = JsonTree::parse(text.trim_start_matches('\u{feff}'));
    let tree = tree.map_err(|error| bad(&format!("it is not JSON: {error}")))?;
    match tree.kind() {
        ValueKind::Object => Ok(tree),
        other => Err(bad(&format!("it is {other}, not an object"))),
    }
}
