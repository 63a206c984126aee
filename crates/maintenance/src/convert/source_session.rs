//! [`SourceSession`]: a session to be converted, with everything that the common model has of it.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::facts::{SessionFacts, project_of};
use super::report::{ConversionReport, Disposition, REPAIRED, UNREADABLE};
use super::source_entry::{EntryReader, SourceEntry, entry_difference};
use super::tool_calls::{CallPairs, MISPAIRED};
use everturn_json::finding::FindingCode;
use everturn_json::names::SessionId;
use everturn_session::format::{SessionError, SessionFormat, SessionReader};
use everturn_session::model::carried::{MEMBER, carried_entries};
use everturn_session::model::{Mark, MarkKind, SessionRef, SessionSummary, StateChange};
use everturn_store::Store;
use everturn_value::tree::JsonTree;

/// A session to be converted.
#[derive(Debug, Clone)]
pub(super) struct SourceSession {
    pub(super) layout: String,
    pub(super) id: String,
    /// Its title, if it was given one.
    pub(super) title: Option<String>,
    pub(super) created: Option<Timestamp>,
    pub(super) entries: Vec<SourceEntry>,
    pub(super) marks: Vec<Mark>,
    /// The state before the first turn, by scope, if the session has states.
    pub(super) state: Option<JsonTree>,
    /// The metadata of a chat log, and its stored states.
    pub(super) chat: Option<ChatDocument>,
    /// The metadata of a game that do not follow from its turns.
    pub(super) game: Option<JsonTree>,
    /// Its other properties.
    pub(super) facts: SessionFacts,
}

/// What a chat log contains besides messages and marks, as stored.
#[derive(Debug, Clone)]
pub(super) struct ChatDocument {
    pub(super) about: JsonTree,
    pub(super) snapshots: Vec<JsonTree>,
}

/// Whether the sessions of a format always have a title of their own.
fn is_titled(layout: &str) -> bool {
    let titled = [
        everturn_chatlog::FORMAT,
        everturn_game::FORMAT,
        everturn_linggen::FORMAT,
        everturn_campaign::FORMAT,
    ];
    titled.iter().any(|format| format.name() == layout)
}

/// Whether a format stores states.
fn has_states(layout: &str) -> bool {
    let stateful = [everturn_game::FORMAT, everturn_campaign::FORMAT, everturn_chatlog::FORMAT];
    stateful.iter().any(|format| format.name() == layout)
}

impl SourceSession {
    /// Reads a session. Reports unreadable data.
    pub(super) fn read(
        store: &Arc<dyn Store>,
        layout: &dyn SessionFormat,
        place: &SessionRef,
        branch: Option<&str>,
        report: &mut ConversionReport,
    ) -> Result<SourceSession, SessionError> {
        let summary = layout.summary(store, place)?;
        let main = layout.open(store, place)?;
        let reader = match branch {
            Some(branch) => main.open_branch(branch)?,
            None => main,
        };
        let mut reading = EntryReader::new(layout.name());
        let mut entries: Vec<SourceEntry> = Vec::new();
        let mut from_elsewhere = reader.metadata()?.value_at(&[MEMBER]);
        let mut stream = reader.entries(reader.turns()?)?;
        while let Some(entry) = stream.next() {
            let entry = entry?;
            let carried = carried_entries(&entry.raw).into_iter().next();
            if from_elsewhere.is_none() {
                let has_session = |carried: &&JsonTree| carried.value_at(&["session"]).is_some();
                from_elsewhere = carried.as_ref().filter(has_session).cloned();
            }
            entries.extend(reading.read_with_internals(entry, carried));
        }
        let findings = stream.take_findings();
        drop(stream);
        for finding in reader.findings().iter().chain(&findings) {
            // Nothing was lost by these.
            let (what, fate) = match finding.code {
                FindingCode::DanglingParent
                | FindingCode::GluedRecords
                | FindingCode::OrphanCall => (REPAIRED, Disposition::Changed),
                _ => (UNREADABLE, Disposition::Dropped),
            };
            report.note(what, fate, finding.to_string());
        }
        let branches = if branch.is_some() { Vec::new() } else { reader.branches()? };
        for branch in branches {
            let why =
                "only the main line is converted; use --branch to convert this branch".to_owned();
            report.note(format!("branch {}", branch.id), Disposition::Dropped, why);
        }
        if from_elsewhere.is_none() && entries.iter().any(|source| source.is_carried) {
            let why = "the record that contained them is missing";
            report.note(
                "the title, marks and states of the original session",
                Disposition::Dropped,
                why,
            );
        }
        let mut story = SourceSession::from_summary(&summary, from_elsewhere.as_ref());
        story.facts = SessionFacts::read(store, layout, &summary, from_elsewhere.as_ref())?;
        if layout.is_external() && story.facts.project.is_none() {
            story.facts.project = entries.iter().find_map(|source| project_of(&source.entry.raw));
        }
        if entries.iter().any(|source| !source.is_carried) {
            story.facts.updated = summary.updated;
        }
        story.entries = entries;
        story.marks = marks(&*reader, layout, from_elsewhere.as_ref(), &story.entries)?;
        story.read_states(&*reader, from_elsewhere.as_ref(), report)?;
        story.game = match &from_elsewhere {
            Some(carried) => carried.value_at(&["game"]),
            None => metadata(store, layout, place)?,
        };
        note_omitted(&*reader, layout, from_elsewhere.is_some(), report);
        story.chat = match &from_elsewhere {
            Some(carried) => ChatDocument::carried(carried),
            None if layout == everturn_chatlog::FORMAT => Some(ChatDocument::read(&*reader)?),
            None => None,
        };
        Ok(story)
    }

    fn from_summary(summary: &SessionSummary, carried: Option<&JsonTree>) -> SourceSession {
        let first = |key: &str| carried.and_then(|carried| carried.string_at(&["session", key]));
        let own = Some(summary.title.clone()).filter(|title| *title != summary.session.id);
        let title = match carried.is_some() && !is_titled(summary.layout) {
            true => first("title"),
            false => own.or_else(|| first("title")),
        };
        let created = first("created").and_then(|time| time.parse().ok());
        SourceSession {
            layout: summary.layout.to_owned(),
            id: summary.session.id.clone(),
            title: title.filter(|title| !title.trim().is_empty()),
            created: created.or(summary.created),
            entries: Vec::new(),
            marks: Vec::new(),
            state: None,
            chat: None,
            game: None,
            facts: SessionFacts::default(),
        }
    }

    /// Reads the states: those that the entries carry, or those of the session itself.
    fn read_states(
        &mut self,
        reader: &dyn SessionReader,
        carried: Option<&JsonTree>,
        report: &mut ConversionReport,
    ) -> Result<(), SessionError> {
        self.state = carried.and_then(|carried| carried.value_at(&["state"]));
        if !has_states(&self.layout) {
            return Ok(());
        }
        let (first, last) = reader.turns()?.into_inner();
        let mut by_turn: HashMap<u64, Vec<StateChange>> = HashMap::new();
        let mut stream = reader.changes(first.saturating_add(1)..=last)?;
        while let Some(change) = stream.next() {
            let change = change?;
            by_turn.entry(change.turn).or_default().push(change);
        }
        drop(stream);
        if carried.is_none() {
            match reader.state(Some(first)) {
                Ok(state) => {
                    let is_empty =
                        |(_, tree): &(String, JsonTree)| tree.len_at::<&str>(&[]) == Some(0);
                    let says_nothing = by_turn.is_empty() && state.scopes.iter().all(is_empty);
                    self.state = (!says_nothing).then(|| JsonTree::from_members(state.scopes));
                }
                Err(error) => {
                    report.note(
                        "the initial state",
                        Disposition::Dropped,
                        everturn_session::format::error_chain(&error),
                    );
                }
            }
        }
        for source in &mut self.entries {
            let own = by_turn.remove(&source.at).unwrap_or_default();
            if !source.is_carried {
                source.changes = own;
            }
        }
        let lost: usize = by_turn.values().map(Vec::len).sum();
        if lost > 0 {
            let what = format!("{lost} state changes");
            report.note(what, Disposition::Dropped, "they belong to turns without entries");
        }
        Ok(())
    }

    /// The same session with only what was said: records that a program kept for itself are carried with the entry
    /// before them, or the first one.
    pub(super) fn spoken(&self) -> SourceSession {
        let mut spoken = SourceSession { entries: Vec::new(), ..self.clone() };
        if self.entries.iter().all(SourceEntry::is_internal) {
            return self.clone();
        }
        let mut first = Vec::new();
        for source in &self.entries {
            match (source.is_internal(), spoken.entries.last_mut()) {
                (true, Some(last)) => last.after.push(source.clone()),
                (true, None) => first.push(source.clone()),
                (false, _) => {
                    let before = std::mem::take(&mut first);
                    spoken.entries.push(SourceEntry { before, ..source.clone() });
                }
            }
        }
        spoken
    }

    /// Whether every record originally had this format.
    pub(super) fn is_from(&self, layout: &str) -> bool {
        self.entries.iter().all(|source| source.from == layout)
            && self.entries.first().is_some_and(|source| source.raw.is_some())
    }

    /// The entries of each record.
    pub(super) fn records(&self) -> impl Iterator<Item = &[SourceEntry]> {
        self.entries.chunk_by(|_, next| next.raw.is_none())
    }

    /// The original records.
    pub(super) fn originals(&self) -> impl Iterator<Item = &JsonTree> {
        self.entries.iter().filter_map(|source| source.raw.as_ref())
    }

    /// The first difference from another session.
    pub(super) fn first_difference(&self, other: &SourceSession) -> Option<String> {
        if self.entries.len() != other.entries.len() {
            return Some(format!("{} entries, not {}", other.entries.len(), self.entries.len()));
        }
        for (wanted, found) in self.entries.iter().zip(&other.entries) {
            let seq = wanted.entry.seq;
            if let Some(what) = entry_difference(&wanted.entry, &found.entry) {
                return Some(format!("the {what} of entry {seq}"));
            }
            let same = |(one, other): (&StateChange, &StateChange)| one.is_same(other);
            let mut pairs = wanted.changes.iter().zip(&found.changes);
            if wanted.changes.len() != found.changes.len() || !pairs.all(same) {
                return Some(format!("the changes of entry {seq}"));
            }
        }
        if self.entries.is_empty() {
            return None;
        }
        if self.pairs() != other.pairs() {
            return Some(MISPAIRED.to_owned());
        }
        let sorted = |story: &SourceSession| {
            let mut marks = story.marks.clone();
            marks.sort_by(|one, other| one.id.cmp(&other.id));
            marks
        };
        let state =
            |story: &SourceSession| story.state.as_ref().map(everturn_value::tree::canonical_text);
        if sorted(self) != sorted(other) {
            return Some("the marks".to_owned());
        }
        if state(self) != state(other) {
            return Some("the initial state".to_owned());
        }
        if let Some(what) = self.facts.first_difference(&other.facts) {
            return Some(what.to_owned());
        }
        // Formats without titles derive them.
        let titled = is_titled(&other.layout);
        (titled && self.title != other.title).then(|| "the title".to_owned())
    }

    /// Which tool results belong to which calls.
    pub(super) fn pairs(&self) -> CallPairs {
        CallPairs::of(self.entries.iter().map(|source| (&source.entry, &source.call)))
    }

    /// Whether the session has states.
    pub(super) fn has_states(&self) -> bool {
        self.state.is_some() || self.entries.iter().any(|source| !source.changes.is_empty())
    }

    /// The index of the first entry of a turn, or of the last entry before it.
    pub(super) fn position(&self, turn: u64) -> Option<usize> {
        let first = self.entries.iter().position(|source| source.entry.turn == turn);
        first.or_else(|| self.entries.iter().rposition(|source| source.entry.turn < turn))
    }
}

impl ChatDocument {
    fn read(reader: &dyn SessionReader) -> Result<ChatDocument, SessionError> {
        let mut snapshots = Vec::new();
        let stored = reader.snapshots(reader.turns()?)?;
        if let Some(mut stored) = stored {
            while let Some(snapshot) = stored.next() {
                snapshots.push(snapshot?.1);
            }
        }
        Ok(ChatDocument { about: reader.metadata()?, snapshots })
    }

    fn carried(carried: &JsonTree) -> Option<ChatDocument> {
        let about = carried.value_at(&["chat", "about"])?;
        let snapshots = carried.value_at(&["chat", "snapshots"]).map(|list| list.children());
        let snapshots = snapshots.unwrap_or_default().into_iter().map(|(_, one)| one);
        Some(ChatDocument { about, snapshots: snapshots.collect() })
    }
}

/// The metadata of a game that are derived or counted.
const COUNTED: &[&str] = &[
    "sessionId",
    "version",
    "created",
    "lastModified",
    "status",
    "title",
    "current",
    "files",
    "deltaStats",
    "stats",
    "stateFiles",
    "lineage",
];

/// The metadata of a game that are not derived.
fn metadata(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Option<JsonTree>, SessionError> {
    if layout != everturn_game::FORMAT {
        return Ok(None);
    }
    let session = everturn_game::Session::open(Arc::clone(store), &SessionId::parse(&place.id)?)?;
    let members = session.metadata().map(|metadata| metadata.children()).unwrap_or_default();
    let said = members.into_iter().filter(|(key, _)| !COUNTED.contains(&key.as_str()));
    Ok(Some(JsonTree::from_members(said)))
}

/// Reports what agents store about their sessions and is not converted.
fn note_omitted(
    reader: &dyn SessionReader,
    layout: &dyn SessionFormat,
    is_carried: bool,
    report: &mut ConversionReport,
) {
    if ![everturn_codelia::FORMAT, everturn_linggen::FORMAT].contains(&layout) || is_carried {
        return;
    }
    // The last one is Everturn's own.
    let usual = ["id", "title", "created_at", MEMBER];
    let Ok(state) = reader.state(None) else { return };
    for (_, values) in state.scopes {
        for (key, _) in values.children().iter().filter(|(key, _)| !usual.contains(&key.as_str())) {
            let why = "it is internal data of the agent";
            report.note(format!("{key} of the session"), Disposition::Dropped, why);
        }
    }
}

/// The marks, at the turns of the original session.
fn marks(
    reader: &dyn SessionReader,
    layout: &dyn SessionFormat,
    carried: Option<&JsonTree>,
    entries: &[SourceEntry],
) -> Result<Vec<Mark>, SessionError> {
    let first =
        carried.and_then(|carried| carried.value_at(&["marks"])).map(|list| list.children());
    let first: Vec<Mark> =
        first.unwrap_or_default().iter().filter_map(|(_, mark)| parse_mark(mark)).collect();
    // Codelia has no marks, so the carried ones are complete.
    if layout == everturn_codelia::FORMAT {
        return Ok(first);
    }
    let own = reader.marks()?.into_iter().map(|mark| {
        if let Some(first) = first.iter().find(|first| first.id == mark.id) {
            return first.clone();
        }
        let at = entries.iter().find(|source| source.at == mark.turn);
        Mark { turn: at.map_or(mark.turn, |source| source.entry.turn), ..mark }
    });
    Ok(own.collect())
}

fn parse_mark(tree: &JsonTree) -> Option<Mark> {
    let text = |key: &str| tree.string_at(&[key]);
    Some(Mark {
        id: text("id")?,
        kind: MarkKind::parse(&text("kind")?),
        name: text("name")?,
        description: text("description").unwrap_or_default(),
        turn: tree.value_at(&["turn"])?.to_line().parse().ok()?,
        entry: text("entry"),
        time: text("time").and_then(|time| time.parse().ok()),
    })
}
