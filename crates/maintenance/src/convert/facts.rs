//! [`SessionFacts`]: properties of a whole session besides its title: its status, its lineage, its project.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::report::{ConversionReport, Disposition};
use everturn_json::names::{FilePath, Name, SessionId};
use everturn_session::format::{Operation, SessionError, SessionFormat, Transition};
use everturn_session::model::{SessionRef, SessionStatus, SessionSummary};
use everturn_store::{Durability, Step, Store, StoreError, read_optional};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

/// The suffix of the file that contains the lineage of a branch.
const OWN_FILE: &str = "everturn.json";

/// Where records of other programs contain their working directory.
const PROJECTS: &[&[&str]] =
    &[&["cwd"], &["payload", "cwd"], &["working_dir"], &["directory"], &["info", "directory"]];

#[derive(Debug, Clone, Default)]
pub(super) struct SessionFacts {
    /// The status of the session, in the terms of its format.
    pub(super) status: String,
    /// When it was last changed.
    pub(super) updated: Option<Timestamp>,
    /// Its working directory.
    pub(super) project: Option<String>,
    /// The session that it was forked from, with the format of that session.
    pub(super) lineage: Option<(String, JsonTree)>,
    /// The number of stored snapshots.
    pub(super) snapshots: usize,
}

impl SessionFacts {
    /// Reads the facts from the session, or from what it carries of its original.
    pub(super) fn read(
        store: &Arc<dyn Store>,
        layout: &dyn SessionFormat,
        summary: &SessionSummary,
        carried: Option<&JsonTree>,
    ) -> Result<SessionFacts, SessionError> {
        let place = &summary.session;
        let session = carried
            .and_then(|carried| carried.value_at(&["session"]))
            .unwrap_or_else(JsonTree::null);
        let text = |key: &str| session.string_at(&[key]);
        let is_active = summary.status == SessionStatus::Active;
        let lineage = match session.value_at(&["lineage"]) {
            Some(lineage) => {
                Some((session.string_at(&["lineage", "layout"]).unwrap_or_default(), lineage))
            }
            None if carried.is_none() => {
                lineage(store, layout, place)?.map(|lineage| (layout.name().to_owned(), lineage))
            }
            None => None,
        };
        let is_game = layout == everturn_game::FORMAT;
        let snapshots = if is_game && carried.is_none() { snapshots(store, place)? } else { 0 };
        Ok(SessionFacts {
            status: text("status")
                .filter(|_| is_active)
                .unwrap_or_else(|| summary.status.to_string()),
            updated: text("updated").and_then(|time| time.parse().ok()).or(summary.updated),
            project: layout.project(store, place)?.or_else(|| text("project")),
            lineage,
            snapshots,
        })
    }

    /// The session that it is a branch of.
    fn parent(&self) -> Option<String> {
        self.lineage.as_ref().and_then(|(_, lineage)| lineage.string_at(&["parent"]))
    }

    /// The first fact that differs from another session.
    pub(super) fn first_difference(&self, other: &SessionFacts) -> Option<&'static str> {
        let same = [
            (self.status == other.status, "the status"),
            (self.parent() == other.parent(), "the parent session"),
        ];
        same.iter().find(|(same, _)| !same).map(|(_, what)| *what)
    }

    /// The facts as they are carried.
    pub(super) fn carried(&self) -> Vec<(&'static str, Value)> {
        let lineage = self.lineage.as_ref().and_then(|(layout, lineage)| {
            let mut value = lineage.to_value().ok()?;
            value.as_object_mut()?.insert("layout".to_owned(), json!(layout));
            Some(value)
        });
        let members = [
            ("status", Some(json!(self.status))),
            ("updated", self.updated.map(|time| json!(time.to_string()))),
            ("project", self.project.as_ref().map(|project| json!(project))),
            ("lineage", lineage),
        ];
        members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The lineage, if the parent is a session of this format.
    pub(super) fn lineage_in(&self, layout: &str) -> Option<JsonTree> {
        let (_, lineage) = self.lineage.as_ref().filter(|(home, _)| home == layout)?;
        let members = lineage.children().into_iter().filter(|(key, _)| key != "layout");
        Some(JsonTree::from_members(members))
    }

    /// Applies the facts that the format supports to a new session; returns its ref afterwards.
    pub(super) fn apply_to(
        &self,
        store: &Arc<dyn Store>,
        layout: &dyn SessionFormat,
        place: SessionRef,
        now: Timestamp,
    ) -> Result<SessionRef, SessionError> {
        let file = lineage_file(store, layout, &place)?;
        if let Some((file, lineage)) = file.zip(self.lineage_in(layout.name())) {
            let document = JsonTree::from_members([("lineage".to_owned(), lineage)]);
            let bytes = document.to_text(&JsonStyle::PRETTY_ASCII).into_bytes();
            let mut scopes = vec![place.path.clone()];
            scopes.extend(Some(file.clone()).filter(|file| !file.is_within(&place.path)));
            let writer = store.lock(&scopes)?;
            writer.commit(vec![Step::create(file, bytes)], Durability::Synced)?;
            writer.release()?;
        }
        let stage = match self.status.as_str() {
            "paused" => Transition::Pause,
            "completed" => Transition::Complete,
            _ => return Ok(place),
        };
        let time = self.updated.unwrap_or(now);
        let Ok(lifecycle) = layout.lifecycle(Operation::Transition(stage)) else {
            return Ok(place);
        };
        Ok(lifecycle.transition(store, &place, stage, time, &mut |_| ())?.session)
    }

    /// Reports the facts that the new session lacks.
    pub(super) fn note_differences(
        &self,
        new: &SessionFacts,
        layout: &str,
        (fate, why): (Disposition, &str),
        report: &mut ConversionReport,
    ) {
        let mut lost = Vec::new();
        if self.status != new.status {
            lost.push(format!("the status {}", self.status));
        }
        if let Some(parent) = self.parent().filter(|parent| Some(parent) != new.parent().as_ref()) {
            lost.push(format!("the parent session {parent}"));
        }
        if let Some(project) = self.project.as_ref().filter(|_| new.project.is_none()) {
            lost.push(format!("the project {project}"));
        }
        for what in lost {
            report.note(what, fate, why);
        }
        if self.snapshots > 0 && layout != everturn_game::FORMAT.name() {
            let why = "they are derived from the turns, and are created again in a game session";
            report.note(format!("snapshots: {}", self.snapshots), Disposition::Dropped, why);
        }
    }
}

/// The working directory in a record of another program.
pub(super) fn project_of(record: &JsonTree) -> Option<String> {
    PROJECTS.iter().find_map(|path| record.string_at(path))
}

/// The number of snapshots of a game.
fn snapshots(store: &Arc<dyn Store>, place: &SessionRef) -> Result<usize, SessionError> {
    match store.list(&everturn_json::names::join_names(&place.path, &["snapshots"])) {
        Ok(listing) => Ok(listing.entries.len()),
        Err(StoreError::Missing { .. }) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The file with the lineage of a session; games contain it themselves, and chat logs have none.
fn lineage_file(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Option<FilePath>, SessionError> {
    if [everturn_campaign::FORMAT, everturn_linggen::FORMAT].contains(&layout) {
        return Ok(Some(place.path.join(&Name::parse(OWN_FILE)?)));
    }
    if layout == everturn_codelia::FORMAT {
        let scopes = layout.session_files(store, place)?.scopes;
        return Ok(scopes.into_iter().find(|scope| scope.as_str().ends_with(OWN_FILE)));
    }
    Ok(None)
}

/// The lineage of a session, as stored with it.
fn lineage(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Option<JsonTree>, SessionError> {
    if layout == everturn_game::FORMAT {
        let session =
            everturn_game::Session::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        return Ok(session.metadata().and_then(|metadata| metadata.value_at(&["lineage"])));
    }
    let Some(file) = lineage_file(store, layout, place)? else { return Ok(None) };
    let bytes = read_optional(store, &file)?;
    // Problems of the file are reported when the session is read.
    let document = bytes.and_then(|bytes| JsonTree::parse(String::from_utf8(bytes).ok()?).ok());
    Ok(document.and_then(|document| document.value_at(&["lineage"])))
}
