//! [`ConversionPlan`]: a session that was built in memory, and how it is written.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::facts::SessionFacts;
use super::native::{self, NativeContext, NativeTarget};
use super::record::{NOTHING, RecordSource, carry_session, compare_entry, is_rounded};
use super::report::{
    ConversionNote, ConversionReport, Disposition, EntryOutcome, REPAIRED, UNREADABLE,
};
use super::source_entry::SourceEntry;
use super::source_session::SourceSession;
use super::tool_calls::{CallPairs, MISPAIRED, ToolCall};
use super::{ConvertError, OwnTarget, SessionDraft};
use everturn_json::names::FilePath;
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::model::{Entry, SessionRef};
use everturn_store::{Durability, MemoryStore, Step, Store, StoreError};

/// Requested properties of the new session.
pub(super) struct ConversionRequest<'w> {
    pub(super) id: Option<&'w str>,
    pub(super) project: Option<String>,
    pub(super) now: Timestamp,
    /// The model provider of a file for another program.
    pub(super) provider: Option<&'w str>,
}

/// A converted session, read back and found equal to the original. It is not written yet.
pub struct ConversionPlan {
    layout: &'static dyn SessionFormat,
    place: SessionRef,
    files: BTreeMap<FilePath, Vec<u8>>,
    expected: ExpectedContent,
    report: ConversionReport,
}

/// What the new session must read back as.
enum ExpectedContent {
    /// The whole original session.
    Story(Box<SourceSession>),
    /// These texts in order, and tool results that belong to these calls, counted without the opening that was added.
    Texts(Vec<String>, CallPairs, Option<String>),
}

/// An ID that is safe in file names.
pub(super) fn file_safe_id(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let id: String = id.chars().map(plain).take(100).collect();
    let id = id.trim_matches(['.', '-']);
    if id.is_empty() { "converted".to_owned() } else { id.to_owned() }
}

/// Writes the session without carried values and returns its entries, to learn what its records express.
fn write_trial(
    own: &dyn OwnTarget,
    layout: &'static dyn SessionFormat,
    story: &SourceSession,
    draft: &mut SessionDraft,
) -> Result<Vec<Entry>, ConvertError> {
    let nothing = vec![NOTHING.to_owned(); story.entries.len()];
    let mut unused = ConversionReport::default();
    let mut tried = own.write(story, RecordSource::Carrying(&nothing), draft, &mut unused);
    if tried.is_err() && draft.states {
        // Inconsistent states are carried, and the rest of the session is converted normally.
        draft.states = false;
        draft.store = empty_store().0;
        tried = own.write(story, RecordSource::Carrying(&nothing), draft, &mut unused);
    }
    Ok(entries(&draft.store, layout, &tried?)?)
}

/// Builds a session in an own format: once to learn what its records express, and once with what they must carry.
pub(super) fn plan_own(
    own: &dyn OwnTarget,
    layout: &'static dyn SessionFormat,
    story: &SourceSession,
    wanted: ConversionRequest<'_>,
    mut report: ConversionReport,
) -> Result<ConversionPlan, ConvertError> {
    let ConversionRequest { id, project, now, .. } = wanted;
    let id = id.map_or_else(|| file_safe_id(&story.id), str::to_owned);
    let states = own.takes_states(story);
    let mut draft =
        SessionDraft { store: empty_store().0, id, project, now, states, carried: None };
    if story.is_from(layout.name())
        && let Some(plan) = restore_original(own, layout, story, &mut draft, &report)
    {
        return Ok(plan);
    }
    draft.store = empty_store().0;
    let whole = story;
    let story = &whole.spoken();
    let told = write_trial(own, layout, story, &mut draft)?;
    if told.len() != story.entries.len() {
        let what = format!("{} entries, not {}", told.len(), story.entries.len());
        return Err(ConvertError::Different { what });
    }
    let mut carried = Vec::new();
    for (told, wanted) in told.iter().zip(&story.entries) {
        let mut difference = compare_entry(told, &wanted.entry);
        difference.why.extend(own.misread_as(&wanted.entry).map(str::to_owned));
        carried.push(difference.carried(wanted));
        report.entries.extend(wanted.before.iter().map(internal_outcome));
        report.entries.push(difference.outcome(wanted));
        report.entries.extend(wanted.after.iter().map(internal_outcome));
    }
    let mut session = NOTHING.to_owned();
    match carried.first_mut() {
        _ if own.carries_session() => {
            carry_session(&mut session, story);
            draft.carried = Some(session);
        }
        Some(first) => carry_session(first, story),
        None => note_lost(story, draft.states, &mut report),
    }
    note_numbers(told.iter().zip(story.entries.iter().map(|told| &told.entry)), &mut report);
    if story.has_states() && !draft.states && !story.entries.is_empty() {
        let (name, again) = (layout.name(), "they are restored when the session is converted back");
        let why = match &story.state {
            Some(_) => format!("{name} cannot store them; {again}"),
            None => "the initial state is not known; the changes are preserved".to_owned(),
        };
        report.note("the states", Disposition::Changed, why);
    }
    let (store, memory) = empty_store();
    draft.store = store;
    let place = own.write(story, RecordSource::Carrying(&carried), &draft, &mut report)?;
    let place = story.facts.apply_to(&draft.store, layout, place, now)?;
    let given =
        SessionFacts::read(&draft.store, layout, &layout.summary(&draft.store, &place)?, None)?;
    let is_carried = own.carries_session() || !story.entries.is_empty();
    let why = match is_carried {
        true => (
            Disposition::Changed,
            "it is preserved, and restored when the session is converted back",
        ),
        false => (Disposition::Dropped, NO_ENTRY),
    };
    story.facts.note_differences(&given, layout.name(), why, &mut report);
    let expected = ExpectedContent::Story(Box::new(whole.clone()));
    let plan = ConversionPlan { layout, place, files: memory.contents(), expected, report };
    plan.compare(&draft.store)?;
    Ok(plan)
}

/// The outcome of a record that a program kept for itself.
fn internal_outcome(source: &SourceEntry) -> EntryOutcome {
    let Entry { seq, turn, ref id, .. } = source.entry;
    let why = vec!["it is internal data of the program, and is carried with a message".to_owned()];
    EntryOutcome { seq, turn, id: id.clone(), fate: Disposition::Changed, why }
}

/// Builds the file of another program.
pub(super) fn plan_native(
    native: &dyn NativeTarget,
    layout: &'static dyn SessionFormat,
    story: &SourceSession,
    wanted: ConversionRequest<'_>,
    mut report: ConversionReport,
) -> Result<ConversionPlan, ConvertError> {
    let first = story.entries.iter().find_map(|told| told.entry.time);
    let start = story.created.or(first).unwrap_or(wanted.now);
    let id = native.id(wanted.id, story).map_err(SessionError::request)?;
    let project = wanted.project.unwrap_or_else(|| "/".to_owned());
    let path = FilePath::parse(&native.file(&id, start)).map_err(SessionError::from)?;
    let provider = wanted.provider.map(str::to_owned);
    let context = NativeContext { id: id.clone(), project, start, provider };
    let written = native.write(story, &context);
    let lines: Vec<String> = written.lines.iter().map(Value::to_string).collect();
    let bytes = (lines.join("\n") + native.end()).into_bytes();
    native::note_lost(story, &written, &mut report);
    let opening = written.opening.map(str::to_owned);
    let texts = written.fates.iter().filter_map(|fate| fate.clone().ok());
    let texts = opening.iter().cloned().chain(texts).collect();
    let stays: Vec<bool> = written.fates.iter().map(Result::is_ok).collect();
    let (store, memory) = empty_store();
    let place = SessionRef { id, path };
    let writer = store.lock(std::slice::from_ref(&place.path))?;
    writer.commit(vec![Step::create(place.path.clone(), bytes)], Durability::Synced)?;
    writer.release()?;
    let (files, expected) =
        (memory.contents(), ExpectedContent::Texts(texts, written.pairs.among(&stays), opening));
    let mut plan = ConversionPlan { layout, place, files, expected, report };
    plan.compare(&store)?;
    let mut told = plan.visible_entries(&store)?;
    told.drain(..told.len().min(usize::from(written.opening.is_some())));
    let there = story.entries.iter().zip(&written.fates).filter(|(_, fate)| fate.is_ok());
    note_numbers(told.iter().zip(there.map(|(told, _)| &told.entry)), &mut plan.report);
    let mut told = told.iter();
    for (wanted, fate) in story.entries.iter().zip(&written.fates) {
        let outcome = match fate {
            Ok(_) => told.next().map(|told| compare_entry(told, &wanted.entry).outcome(wanted)),
            Err(why) => Some(dropped_entry(wanted, why)),
        };
        plan.report.entries.extend(outcome);
    }
    Ok(plan)
}

fn dropped_entry(told: &SourceEntry, why: &str) -> EntryOutcome {
    let Entry { seq, turn, ref id, .. } = told.entry;
    EntryOutcome {
        seq,
        turn,
        id: id.clone(),
        fate: Disposition::Dropped,
        why: vec![why.to_owned()],
    }
}

/// Restores a session that had this format before, with its original records. Returns `None` if it would not read back
/// as it does now, because something was changed meanwhile.
fn restore_original(
    own: &dyn OwnTarget,
    layout: &'static dyn SessionFormat,
    story: &SourceSession,
    draft: &mut SessionDraft,
    read: &ConversionReport,
) -> Option<ConversionPlan> {
    let (store, memory) = empty_store();
    draft.store = store;
    let mut report = read.clone();
    let place =
        own.write(story, RecordSource::Original, draft, &mut ConversionReport::default()).ok()?;
    let place = story.facts.apply_to(&draft.store, layout, place, draft.now).ok()?;
    report.entries.extend(story.entries.iter().map(|told| {
        let Entry { seq, turn, ref id, .. } = told.entry;
        EntryOutcome { seq, turn, id: id.clone(), fate: Disposition::Kept, why: Vec::new() }
    }));
    let expected = ExpectedContent::Story(Box::new(story.clone()));
    let plan = ConversionPlan { layout, place, files: memory.contents(), expected, report };
    plan.compare(&draft.store).is_ok().then_some(plan)
}

fn empty_store() -> (Arc<dyn Store>, MemoryStore) {
    let memory = MemoryStore::new();
    (Arc::new(memory.clone()), memory)
}

fn entries(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Vec<Entry>, SessionError> {
    let reader = layout.open(store, place)?;
    let mut stream = reader.entries(reader.turns()?)?;
    let mut entries = Vec::new();
    while let Some(entry) = stream.next() {
        entries.push(entry?);
    }
    Ok(entries)
}

/// Why something is lost that an entry would have carried.
const NO_ENTRY: &str = "there is no entry to store it in";

/// Reports what a session without entries cannot contain.
fn note_lost(story: &SourceSession, states: bool, report: &mut ConversionReport) {
    let why = NO_ENTRY;
    if !story.marks.is_empty() {
        report.note("the marks", Disposition::Dropped, why);
    }
    if story.has_states() && !states {
        report.note("the states", Disposition::Dropped, why);
    }
}

/// Reports IDs and turns that the new format numbers differently, and times that it rounds.
fn note_numbers<'e>(
    pairs: impl Iterator<Item = (&'e Entry, &'e Entry)>,
    report: &mut ConversionReport,
) {
    let (mut ids, mut turns, mut times) = (false, false, false);
    for (told, wanted) in pairs {
        ids |= told.id != wanted.id;
        turns |= told.turn != wanted.turn;
        times |= told.time.zip(wanted.time).is_some_and(|(own, wanted)| is_rounded(own, wanted));
    }
    let notes = [
        (ids, "entry ids", "the format assigns its own ids"),
        (turns, "turn numbers", "the format numbers turns differently"),
        (times, "entry times", "the format stores times with less precision"),
    ];
    for (_, what, why) in notes.into_iter().filter(|(is_so, ..)| *is_so) {
        report.note(what, Disposition::Changed, why);
    }
}

impl ConversionPlan {
    /// The outcome of every part of the session.
    #[must_use]
    pub fn report(&self) -> &ConversionReport {
        &self.report
    }

    /// The ref of the new session.
    #[must_use]
    pub fn place(&self) -> &SessionRef {
        &self.place
    }

    /// The format of the new session.
    #[must_use]
    pub fn layout(&self) -> &'static dyn SessionFormat {
        self.layout
    }

    /// The files that will be written, with their lengths.
    pub fn files(&self) -> impl Iterator<Item = (&FilePath, usize)> {
        self.files.iter().map(|(path, bytes)| (path, bytes.len()))
    }

    /// Writes the session in one commit and reads it back. Existing files are not changed.
    pub fn write(&self, store: &Arc<dyn Store>) -> Result<SessionRef, ConvertError> {
        let places = self.layout.locate(store)?.sessions;
        if let Some(place) = places.into_iter().find(|place| place.id == self.place.id) {
            return Err(already_taken(place.id, place.path));
        }
        let mut scopes = self.layout.session_files(store, &self.place)?.scopes;
        let mut steps = Vec::new();
        for (file, bytes) in &self.files {
            let is_own = scopes.iter().any(|scope| file.is_within(scope));
            if !is_own && store.stat(file)?.is_some() {
                // A file that is shared with other sessions, such as the project, exists already.
                continue;
            }
            if !is_own {
                scopes.push(file.clone());
            }
            steps.push(Step::create(file.clone(), bytes.clone()));
        }
        let writer = store.lock(&scopes)?;
        for scope in &scopes {
            if store.stat(scope)?.is_some() {
                return Err(already_taken(self.place.id.clone(), scope.clone()));
            }
        }
        let done = writer.commit(steps, Durability::Synced);
        let released = writer.release();
        match done {
            Err(StoreError::Taken { path }) => {
                return Err(already_taken(self.place.id.clone(), path));
            }
            done => drop(done?),
        }
        released?;
        let settled = match (super::own_target(self.layout.name()), &self.expected) {
            (Some(own), ExpectedContent::Story(story)) => {
                own.register(store, &self.place, story).map_err(ConvertError::from)
            }
            _ => Ok(()),
        };
        // From here on the session exists, even if a later step fails.
        settled.and_then(|()| self.compare(store)).map_err(|error| ConvertError::Left {
            path: self.place.path.clone(),
            source: Box::new(error),
        })?;
        Ok(self.place.clone())
    }

    /// The file for another program, if the target is one.
    #[must_use]
    pub fn file(&self) -> Option<&[u8]> {
        let is_file = matches!(self.expected, ExpectedContent::Texts(..));
        self.files.get(&self.place.path).filter(|_| is_file).map(Vec::as_slice)
    }

    /// The readable entries of the new session, without records for the program's internal use.
    fn visible_entries(&self, store: &Arc<dyn Store>) -> Result<Vec<Entry>, ConvertError> {
        let mut told = entries(store, self.layout, &self.place)?;
        told.retain(|entry| !entry.kind.is_bookkeeping());
        Ok(told)
    }

    /// Reads the session back and compares it with the original.
    pub fn compare(&self, store: &Arc<dyn Store>) -> Result<(), ConvertError> {
        let found = match &self.expected {
            ExpectedContent::Story(story) => {
                let mut notes = ConversionReport::default();
                let found = SourceSession::read(store, self.layout, &self.place, None, &mut notes)?;
                let is_damage =
                    |note: &ConversionNote| [UNREADABLE, REPAIRED].contains(&note.what.as_str());
                let damage = notes.notes.into_iter().find(is_damage).map(|note| note.why);
                damage.or_else(|| story.first_difference(&found))
            }
            ExpectedContent::Texts(texts, pairs, opening) => {
                let told = self.visible_entries(store)?;
                let differs = |(told, text): (&Entry, &String)| told.text != *text;
                let first = told.iter().zip(texts).position(differs);
                let count = (told.len() != texts.len()).then(|| told.len().min(texts.len()));
                let text = first.or(count).map(|at| format!("entry {} of the new file", at + 1));
                let told = told.get(usize::from(opening.is_some())..).unwrap_or_default();
                let calls: Vec<ToolCall> =
                    told.iter().map(|entry| ToolCall::of(entry, &entry.raw)).collect();
                let is_same = || CallPairs::of(told.iter().zip(&calls)) == *pairs;
                text.or_else(|| (!is_same()).then(|| MISPAIRED.to_owned()))
            }
        };
        match found {
            Some(what) => Err(ConvertError::Different { what }),
            None => Ok(()),
        }
    }
}

fn already_taken(id: String, path: FilePath) -> ConvertError {
    ConvertError::Layout(SessionError::Taken { id, path })
}
