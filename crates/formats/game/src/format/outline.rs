//! The outline of a session: its scenes, snapshots, events and statistics, read from the logs.

use crate::error::GameError;
use crate::paths::scene_path;
use crate::session::Session;
use crate::turn::TurnRecord;
use everturn_json::finding::Finding;
use everturn_json::names::SceneId;
use everturn_session::model::{SceneOutline, SessionEvent, SessionOutline, SnapshotOutline};
use everturn_store::read_optional;
use everturn_value::tree::JsonTree;

/// A minute in milliseconds.
const MINUTE: u64 = 60_000;

/// Reads the outline of a session.
pub(super) fn outline(session: &Session) -> Result<(SessionOutline, Vec<Finding>), GameError> {
    let mut outline = SessionOutline::default();
    let mut rows = session.turns(0, u64::MAX - 1)?;
    for turn in &mut rows {
        let turn = turn?;
        add_turn(&mut outline.scenes, &turn);
        for event in turn.events().iter() {
            *outline.events.entry(event.kind.clone()).or_default() += 1;
        }
    }
    let mut findings = std::mem::take(&mut rows.findings);
    let mut rows = session.changes(0, u64::MAX - 1)?;
    for change in &mut rows {
        let change = change?;
        let count = change.group.deltas.len() as u64;
        *outline.changes.entry(change.group.scope.to_string()).or_default() += count;
    }
    findings.append(&mut rows.findings);
    describe_scenes(session, &mut outline.scenes)?;
    for (file, path) in &session.files()?.snapshots {
        match session.load_snapshot(path)? {
            Ok(snapshot) => outline.snapshots.push(SnapshotOutline {
                id: snapshot.id,
                turn: file.turn,
                reason: snapshot.reason.as_str().to_owned(),
            }),
            Err(finding) => findings.push(finding),
        }
    }
    let noted = |path: &[&str]| session.meta.as_ref().and_then(|meta| meta.number(path));
    let minutes = || noted(&["stats", "playTimeMinutes"]).map(|minutes| minutes * MINUTE);
    outline.play_time = noted(&["stats", "playTimeMs"]).or_else(minutes);
    Ok((outline, findings))
}

/// Adds a turn to the scene that it belongs to.
fn add_turn(scenes: &mut Vec<SceneOutline>, turn: &TurnRecord) {
    let Some(id) = &turn.scene else { return };
    if let Some(scene) = scenes.iter_mut().rev().find(|scene| scene.id == *id) {
        scene.last = scene.last.max(turn.turn);
        return;
    }
    scenes.push(SceneOutline {
        id: id.clone(),
        kind: String::new(),
        location: String::new(),
        first: turn.turn,
        last: turn.turn,
        is_open: false,
    });
}

/// Adds what the files of the scenes tell. The last scene is open unless its file says otherwise.
fn describe_scenes(session: &Session, scenes: &mut [SceneOutline]) -> Result<(), GameError> {
    if let Some(last) = scenes.last_mut() {
        last.is_open = true;
    }
    for scene in scenes {
        let Ok(id) = SceneId::parse(&scene.id) else { continue };
        let Some(bytes) = read_optional(&session.store, &scene_path(&session.dir, &id)?)? else {
            continue;
        };
        let text = String::from_utf8(bytes).unwrap_or_default();
        let Ok(tree) = JsonTree::parse(text) else { continue };
        scene.kind = tree.string_at(&["type"]).unwrap_or_default();
        let place = tree.string_at(&["location", "id"]).or_else(|| tree.string_at(&["location"]));
        scene.location = place.unwrap_or_default();
        scene.is_open &= tree.string_at(&["status"]).as_deref() != Some("completed");
    }
    Ok(())
}

/// Returns the events that are wanted.
pub(super) fn events(
    session: &Session,
    wanted: &dyn Fn(&SessionEvent) -> bool,
) -> Result<(Vec<SessionEvent>, Vec<Finding>), GameError> {
    let mut found = Vec::new();
    let mut rows = session.turns(0, u64::MAX - 1)?;
    for turn in &mut rows {
        let turn = turn?;
        let events = turn.events();
        found.extend(
            events
                .iter()
                .map(|event| SessionEvent {
                    turn: turn.turn,
                    id: event.id.clone(),
                    kind: event.kind.clone(),
                    text: event.description.clone(),
                    is_significant: event.is_significant(),
                })
                .filter(|event| wanted(event)),
        );
    }
    Ok((found, std::mem::take(&mut rows.findings)))
}
