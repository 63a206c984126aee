//! What a session says of itself as a whole, besides its title: whether it goes on, where it comes from, on what it works.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::report::{ConversionReport, Disposition};
use everturn_json::names::{FilePath, Name, SessionId};
use everturn_session::format::{SessionError, SessionFormat, Transition};
use everturn_session::model::{SessionRef, SessionSummary};
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError, read_optional};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

/// The status of a session that goes on, which every layout has.
const ACTIVE: &str = "active";

/// The end of the name of the file that says where a branch comes from.
const OWN_FILE: &str = "everturn.json";

/// Where records of other programs say on which directory they work.
const PROJECTS: &[&[&str]] =
    &[&["cwd"], &["payload", "cwd"], &["working_dir"], &["directory"], &["info", "directory"]];

#[derive(Debug, Clone, Default)]
pub(super) struct SessionFacts {
    /// Whether the session goes on, in the words of its layout.
    pub(super) status: String,
    /// When it was last changed.
    pub(super) updated: Option<Timestamp>,
    /// The directory on which it works.
    pub(super) project: Option<String>,
    /// Where it branched off, and the layout whose session that is.
    pub(super) lineage: Option<(String, JsonTree)>,
    /// How many of its states are stored whole.
    pub(super) snapshots: usize,
}

impl SessionFacts {
    /// Reads what the session says, or what is carried of what it said where it was first told.
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
        let is_active = summary.status == ACTIVE;
        let lineage = match session.value_at(&["lineage"]) {
            Some(lineage) => {
                Some((session.string_at(&["lineage", "layout"]).unwrap_or_default(), lineage))
            }
            None if carried.is_none() => {
                lineage(store, layout, place)?.map(|lineage| (layout.name().to_owned(), lineage))
            }
            None => None,
        };
        let snapshots = match layout.name() {
            "game" if carried.is_none() => snapshots(store, place)?,
            _ => 0,
        };
        Ok(SessionFacts {
            status: text("status").filter(|_| is_active).unwrap_or_else(|| summary.status.clone()),
            updated: text("updated").and_then(|time| time.parse().ok()).or(summary.updated),
            project: layout.project(store, place)?.or_else(|| text("project")),
            lineage,
            snapshots,
        })
    }

    /// The session of which it is a branch.
    fn parent(&self) -> Option<String> {
        self.lineage.as_ref().and_then(|(_, lineage)| lineage.string_at(&["parent"]))
    }

    /// The first of them that another session does not have.
    pub(super) fn first_difference(&self, other: &SessionFacts) -> Option<&'static str> {
        let same = [
            (self.status == other.status, "the status"),
            (self.parent() == other.parent(), "the session that it is a branch of"),
        ];
        same.iter().find(|(same, _)| !same).map(|(_, what)| *what)
    }

    /// What is carried of them.
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

    /// Where the session branched off, if that was one of this layout.
    pub(super) fn lineage_in(&self, layout: &str) -> Option<JsonTree> {
        let (_, lineage) = self.lineage.as_ref().filter(|(home, _)| home == layout)?;
        let members = lineage.children().into_iter().filter(|(key, _)| key != "layout");
        Some(JsonTree::from_members(members))
    }

    /// Gives a session that was just made what its layout has a place for; returns where it is then.
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
            let (expect, mode) = (Precondition::Absent, FileMode::Default);
            let step = Step::Replace { file, expect, bytes, mode };
            writer.commit(vec![step], Durability::Synced)?;
            writer.release()?;
        }
        let stage = match self.status.as_str() {
            "paused" => Transition::Pause,
            "completed" => Transition::Complete,
            _ => return Ok(place),
        };
        let time = self.updated.unwrap_or(now);
        match layout.transition(store, &place, stage, time, &mut |_| ()) {
            Ok(staged) => Ok(staged.session),
            Err(SessionError::Unsupported { .. }) => Ok(place),
            Err(error) => Err(error),
        }
    }

    /// Names what the new session does not say.
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
            lost.push(format!("the session {parent} that it is a branch of"));
        }
        if let Some(project) = self.project.as_ref().filter(|_| new.project.is_none()) {
            lost.push(format!("the project {project}"));
        }
        for what in lost {
            report.note(what, fate, why);
        }
        if self.snapshots > 0 && layout != "game" {
            let why = "they follow from the turns, and are made again where games are played";
            report.note(format!("snapshots: {}", self.snapshots), Disposition::Dropped, why);
        }
    }
}

/// The directory on which another program worked, as one of its records says.
pub(super) fn project_of(record: &JsonTree) -> Option<String> {
    PROJECTS.iter().find_map(|path| record.string_at(path))
}

/// How many snapshots a game has.
fn snapshots(store: &Arc<dyn Store>, place: &SessionRef) -> Result<usize, SessionError> {
    match store.list(&everturn_json::names::join_names(&place.path, &["snapshots"])) {
        Ok(listing) => Ok(listing.entries.len()),
        Err(StoreError::Missing { .. }) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The file beside a session that says where it comes from; games say it themselves, and chat logs never do.
fn lineage_file(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Option<FilePath>, SessionError> {
    Ok(match layout.name() {
        "campaign" | "linggen" => Some(place.path.join(&Name::parse(OWN_FILE)?)),
        "codelia" => {
            let scopes = layout.session_files(store, place)?.scopes;
            scopes.into_iter().find(|scope| scope.as_str().ends_with(OWN_FILE))
        }
        _ => None,
    })
}

/// Where a session branched off, as it says itself.
fn lineage(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Option<JsonTree>, SessionError> {
    if layout.name() == "game" {
        let session =
            everturn_game::Session::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        return Ok(session.metadata().and_then(|metadata| metadata.value_at(&["lineage"])));
    }
    let Some(file) = lineage_file(store, layout, place)? else { return Ok(None) };
    let bytes = read_optional(store, &file)?;
    // What is wrong with the file is noticed by whoever reads the session.
    let document = bytes.and_then(|bytes| JsonTree::parse(String::from_utf8(bytes).ok()?).ok());
    Ok(document.and_then(|document| document.value_at(&["lineage"])))
}
