//! Compares the metadata with the files.

use super::{GameLocation, Survey, SurveyResult};
use crate::error::GameError;
use crate::files::GameFiles;
use crate::meta::tree;
use crate::paths::{DocumentFile, LogFile, LogKind};
use everturn_json::finding::FindingCode;
use everturn_value::tree::JsonTree;

/// A field of the metadata and its expected value.
pub(crate) type MetaField = (&'static [&'static str], JsonTree);

/// Returns the fields that are derived from the files.
pub(crate) fn expected(
    place: &GameLocation,
    files: &GameFiles,
    facts: &SurveyResult,
    turn: u64,
) -> Vec<MetaField> {
    let recount = &facts.recount;
    let mut fields: Vec<MetaField> = Vec::new();
    let mut add = |path: &'static [&'static str], value: JsonTree| fields.push((path, value));
    if let Some(id) = &place.id {
        add(&["sessionId"], tree(id));
    }
    if let Some(status) = place.status {
        add(&["status"], tree(status.as_str()));
    }
    add(&["current", "turnId"], tree(&turn));
    if recount.turns > 0 {
        add(&["current", "sceneId"], tree(&recount.scene));
    }
    if let Some(time) = &recount.game_time {
        let part = |key: &str| time.value_at(&[key]).unwrap_or_else(JsonTree::null);
        add(&["current", "gameDay"], part("day"));
        add(&["current", "gameTimeOfDay"], part("timeOfDay"));
    }
    add(&["files", "currentTurns"], tree(&current_file(files, LogKind::Turns, turn)));
    add(&["files", "currentDeltas"], tree(&current_file(files, LogKind::Deltas, turn)));
    if let Some((file, _)) = files.snapshots.last() {
        add(&["files", "latestSnapshot"], tree(&format!("snapshots/{}", file.render())));
        add(&["deltaStats", "lastSnapshotTurn"], tree(&file.turn));
        let since = recount.deltas_by_turn.sum(file.turn, u64::MAX);
        add(&["deltaStats", "deltasSinceSnapshot"], tree(&since));
    }
    add(&["deltaStats", "totalDeltas"], tree(&recount.deltas));
    add(&["stats", "totalTurns"], tree(&recount.turns));
    add(&["stats", "totalScenes"], tree(&recount.scene_starts.sum(0, u64::MAX)));
    add(&["stats", "totalEvents"], tree(&recount.events));
    add(&["stats", "conflictsResolved"], tree(&recount.conflicts));
    fields
}

/// Returns the file that the next line goes to.
fn current_file(files: &GameFiles, log: LogKind, turn: u64) -> String {
    let open = files.log(log).iter().rev().find(|(file, _)| file.last.is_none());
    let file = match open {
        Some((file, _)) => *file,
        None => LogFile::current(log, turn + 1),
    };
    format!("{}/{}", log.as_str(), file.render(log))
}

impl Survey<'_> {
    /// Compares the metadata with the counted totals. Absent fields are not reported.
    pub(super) fn compare_metadata(&mut self) -> Result<(), GameError> {
        let Some(meta) = self.meta else { return Ok(()) };
        let path = DocumentFile::Meta.in_dir(&self.session.dir);
        let mut wrong: Vec<(FindingCode, String)> = Vec::new();
        let turn =
            self.facts.recount.last().unwrap_or(self.session.last_logged_turn().unwrap_or(0));
        for (field, value) in expected(self.place, &self.files, &self.facts, turn) {
            let Some(found) = meta.tree.value_at(field) else { continue };
            let placed = matches!(field, ["sessionId"] | ["status"]);
            if found.is_same(&value) || (self.blind && !placed) {
                continue;
            }
            let code = if placed { FindingCode::WrongPlace } else { FindingCode::WrongMetadata };
            let name = field.join(".");
            wrong.push((code, format!("{name} is {}, not {}", found.to_line(), value.to_line())));
        }
        for field in ["worldState", "playerState", "currentScene", "latestSnapshot"] {
            let Some(name) = meta.text(&["files", field]) else { continue };
            match self.session.named_file(field) {
                None => wrong.push((
                    FindingCode::WrongMetadata,
                    format!("files.{field} is {name:?}, which is not a path"),
                )),
                // Missing states are reported where they are read; writers read the named ones.
                Some(_) if self.session.names_no_state_file(field)? => wrong.push((
                    FindingCode::WrongMetadata,
                    format!("files.{field} is {name:?}, which is not a file"),
                )),
                Some(file)
                    if field == "latestSnapshot" && self.session.store.stat(&file)?.is_none() =>
                {
                    wrong.push((
                        FindingCode::MissingFile,
                        format!("files.{field} is {name}, which does not exist"),
                    ));
                }
                Some(_) => {}
            }
        }
        let shown = meta.number(&["stateFiles", "turnId"]);
        if let Some(shown) = shown.filter(|shown| *shown > turn && !self.blind) {
            let message = format!("stateFiles.turnId is {shown}, but the last turn is {turn}");
            wrong.push((FindingCode::WrongMetadata, message));
        }
        for (code, message) in wrong {
            self.facts.wrong_metadata = true;
            self.note(&path, code, message);
        }
        Ok(())
    }
}
