//! What a session says of itself as a whole, besides its title: whether it goes on, where it comes from, on what it works.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::report::{Fate, Report};
use everturn_json::names::{FilePath, Name, SessionId};
use everturn_session::layout::{Layout, LayoutError, Stage};
use everturn_session::view::{Place, Summary};
use everturn_store::{Durability, Expect, Secrecy, Step, Store, StoreError, read_if_there};
use everturn_value::document::Style;
use everturn_value::tree::Tree;

/// The status of a session that goes on, which every layout has.
const ACTIVE: &str = "active";

/// The end of the name of the file that says where a branch comes from.
const OWN_FILE: &str = "everturn.json";

/// Where records of other programs say on which directory they work.
const PROJECTS: &[&[&str]] =
    &[&["cwd"], &["payload", "cwd"], &["working_dir"], &["directory"], &["info", "directory"]];

#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Whether the session goes on, in the words of its layout.
    pub(super) status: String,
    /// When it was last changed.
    pub(super) updated: Option<Timestamp>,
    /// The directory on which it works.
    pub(super) project: Option<String>,
    /// Where it branched off, and the layout whose session that is.
    pub(super) lineage: Option<(String, Tree)>,
    /// How many of its states are stored whole.
    pub(super) snapshots: usize,
}

impl Facts {
    /// Reads what the session says, or what is carried of what it said where it was first told.
    pub(super) fn read(
        store: &Arc<dyn Store>,
        layout: &dyn Layout,
        summary: &Summary,
        carried: Option<&Tree>,
    ) -> Result<Facts, LayoutError> {
        let place = &summary.place;
        let session =
            carried.and_then(|carried| carried.at(&["session"])).unwrap_or_else(Tree::null);
        let text = |key: &str| session.string_at(&[key]);
        let is_active = summary.status == ACTIVE;
        let lineage = match session.at(&["lineage"]) {
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
        Ok(Facts {
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
    pub(super) fn unlike(&self, other: &Facts) -> Option<&'static str> {
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
    pub(super) fn lineage_in(&self, layout: &str) -> Option<Tree> {
        let (_, lineage) = self.lineage.as_ref().filter(|(home, _)| home == layout)?;
        let members = lineage.children().into_iter().filter(|(key, _)| key != "layout");
        Some(Tree::of_members(members))
    }

    /// Gives a session that was just made what its layout has a place for; returns where it is then.
    pub(super) fn give(
        &self,
        store: &Arc<dyn Store>,
        layout: &dyn Layout,
        place: Place,
        now: Timestamp,
    ) -> Result<Place, LayoutError> {
        let file = lineage_file(store, layout, &place)?;
        if let Some((file, lineage)) = file.zip(self.lineage_in(layout.name())) {
            let document = Tree::of_members([("lineage".to_owned(), lineage)]);
            let bytes = document.to_text(&Style::PRETTY_ASCII).into_bytes();
            let mut scopes = vec![place.path.clone()];
            scopes.extend(Some(file.clone()).filter(|file| !file.is_within(&place.path)));
            let writer = store.lock(&scopes)?;
            let (expect, secrecy) = (Expect::Absent, Secrecy::Usual);
            let step = Step::Replace { file, expect, bytes, secrecy };
            writer.commit(vec![step], Durability::Synced)?;
            writer.release()?;
        }
        let stage = match self.status.as_str() {
            "paused" => Stage::Pause,
            "completed" => Stage::Complete,
            _ => return Ok(place),
        };
        let time = self.updated.unwrap_or(now);
        match layout.stage(store, &place, stage, time, &mut |_| ()) {
            Ok(staged) => Ok(staged.place),
            Err(LayoutError::NotOffered { .. }) => Ok(place),
            Err(error) => Err(error),
        }
    }

    /// Names what the new session does not say.
    pub(super) fn note_unlike(
        &self,
        new: &Facts,
        layout: &str,
        (fate, why): (Fate, &str),
        report: &mut Report,
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
            report.note(format!("snapshots: {}", self.snapshots), Fate::Dropped, why);
        }
    }
}

/// The directory on which another program worked, as one of its records says.
pub(super) fn project_of(record: &Tree) -> Option<String> {
    PROJECTS.iter().find_map(|path| record.string_at(path))
}

/// How many snapshots a game has.
fn snapshots(store: &Arc<dyn Store>, place: &Place) -> Result<usize, LayoutError> {
    match store.list(&everturn_json::names::below(&place.path, &["snapshots"])) {
        Ok(listing) => Ok(listing.entries.len()),
        Err(StoreError::Missing { .. }) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The file beside a session that says where it comes from; games say it themselves, and chat logs never do.
fn lineage_file(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<Option<FilePath>, LayoutError> {
    Ok(match layout.name() {
        "campaign" | "linggen" => Some(place.path.join(&Name::parse(OWN_FILE)?)),
        "codelia" => {
            let scopes = layout.belongings(store, place)?.scopes;
            scopes.into_iter().find(|scope| scope.as_str().ends_with(OWN_FILE))
        }
        _ => None,
    })
}

/// Where a session branched off, as it says itself.
fn lineage(
    store: &Arc<dyn Store>,
    layout: &dyn Layout,
    place: &Place,
) -> Result<Option<Tree>, LayoutError> {
    if layout.name() == "game" {
        let session =
            everturn_game::Session::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
        return Ok(session.metadata().and_then(|metadata| metadata.at(&["lineage"])));
    }
    let Some(file) = lineage_file(store, layout, place)? else { return Ok(None) };
    let bytes = read_if_there(store, &file)?;
    // What is wrong with the file is noticed by whoever reads the session.
    let document = bytes.and_then(|bytes| Tree::parse(String::from_utf8(bytes).ok()?).ok());
    Ok(document.and_then(|document| document.at(&["lineage"])))
}
