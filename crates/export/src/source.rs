//! Reads a session as a [`SessionOutline`], and as a [`PieceStream`].

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use everturn::delta::DeltaOp;
use everturn::document::JsonStyle as Spelling;
use everturn::finding::Finding;
use everturn::format::{self, Feature, RecordStream, SessionError, SessionReader};
use everturn::model::{
    Attachment, Entry, EntryAction, EntryExtras, Mark, MarkKind, SessionSummary, StateChange,
};
use jiff::Timestamp;

use crate::controls::{escape_controls, escape_page_controls, escape_to_one_line};
use crate::error::ExportError;
use crate::mask::TextMasker;
use crate::options::ExportOptions;
use crate::picture::take_out_data;
use crate::piece::{ChangeLine, ExportPiece, Message, SpeakerRole, TurnChanges};

/// The maximum number of speakers that are listed.
const SPEAKERS: usize = 256;

/// The maximum length of a state that is shown as text.
const LONGEST_STATE: usize = 64 << 10;

/// The state scope that holds the scene.
const SCENE: &str = "scene";

/// The metadata of a session.
#[derive(Debug, Clone)]
pub(crate) struct SessionCover {
    pub(crate) title: String,
    pub(crate) id: String,
    pub(crate) layout: &'static str,
    pub(crate) status: String,
    pub(crate) parent: Option<String>,
    pub(crate) created: Option<Timestamp>,
    pub(crate) updated: Option<Timestamp>,
    /// The series, the protagonist and the model, as far as the session names them.
    pub(crate) credits: Vec<(&'static str, String)>,
    /// The time of the export.
    pub(crate) now: Timestamp,
}

/// A speaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpeakerStats {
    pub(crate) name: String,
    pub(crate) role: SpeakerRole,
    /// The number of entries.
    pub(crate) entries: u64,
}

/// The result of a first pass: the amount of text, the speakers, and the starts of chapters and scenes.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionOutline {
    /// The marks, ordered by turn.
    pub(crate) headings: Vec<Mark>,
    pub(crate) entries: u64,
    pub(crate) turns: u64,
    /// The times of the first and the last entry.
    pub(crate) times: Option<(Timestamp, Timestamp)>,
    /// The speakers, in order of appearance.
    pub(crate) speakers: Vec<SpeakerStats>,
}

/// Whether texts are made readable or kept exactly as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextMode {
    Shown,
    /// As shown, with the direction marks that right-to-left text needs.
    Page,
    Exact,
}

/// A session to be exported, restricted to the chosen parts.
pub(crate) struct ExportSource<'s> {
    pub(crate) summary: &'s SessionSummary,
    pub(crate) reader: &'s dyn SessionReader,
    pub(crate) choices: &'s ExportOptions,
    pub(crate) masker: &'s TextMasker<'s>,
    pub(crate) turns: RangeInclusive<u64>,
    pub(crate) texts: TextMode,
}

impl<'s> ExportSource<'s> {
    pub(crate) fn new(
        summary: &'s SessionSummary,
        reader: &'s dyn SessionReader,
        choices: &'s ExportOptions,
        masker: &'s TextMasker<'s>,
        texts: TextMode,
    ) -> Result<ExportSource<'s>, SessionError> {
        let (first, last) = reader.turns()?.into_inner();
        let turns =
            choices.first.unwrap_or(0).max(first + 1)..=choices.last.unwrap_or(last).min(last);
        Ok(ExportSource { summary, reader, choices, masker, turns, texts })
    }

    /// Returns a text that may have several lines.
    pub(crate) fn display_text(&self, text: String) -> String {
        let masked = self.masker.mask_text(text);
        match self.texts {
            TextMode::Shown => escape_controls(&masked),
            TextMode::Page => escape_page_controls(&masked),
            TextMode::Exact => masked,
        }
    }

    /// Returns the URL of an attachment. Encoded data contain no secrets to be found, and must stay whole.
    fn display_url(&self, url: String) -> String {
        match url.starts_with("data:") && self.texts != TextMode::Exact {
            true => url,
            false => self.display_name(url),
        }
    }

    /// Returns what an entry has besides its text.
    fn display_extras(&self, extras: EntryExtras) -> EntryExtras {
        let attachments = extras.attachments.into_iter().map(|attachment| Attachment {
            kind: self.display_name(attachment.kind),
            url: self.display_url(attachment.url),
            description: self.display_name(attachment.description),
        });
        let actions = extras.actions.into_iter().map(|action| EntryAction {
            kind: self.display_name(action.kind),
            text: self.display_text(action.text),
        });
        EntryExtras {
            attachments: attachments.collect(),
            actions: actions.collect(),
            formatted_text: extras.formatted_text.map(|text| self.display_text(text)),
            avatar: extras.avatar.map(|avatar| self.display_name(avatar)),
        }
    }

    /// Returns a name.
    pub(crate) fn display_name(&self, name: String) -> String {
        self.one_line(self.masker.mask_text(name))
    }

    fn one_line(&self, text: String) -> String {
        match self.texts {
            TextMode::Shown | TextMode::Page => escape_to_one_line(&text),
            TextMode::Exact => text,
        }
    }

    /// Whether the sessions of the format have something.
    pub(crate) fn has(&self, feature: Feature) -> bool {
        format::find(self.summary.layout).is_some_and(|format| format.has(feature))
    }

    pub(crate) fn cover(&self, now: Timestamp) -> SessionCover {
        let summary = self.summary;
        SessionCover {
            title: self.one_line(self.masker.mask_title(summary.title.clone())),
            id: self.display_name(summary.session.id.clone()),
            layout: summary.layout,
            status: self.display_name(summary.status.to_string()),
            parent: summary.parent.clone().map(|parent| self.display_name(parent)),
            created: summary.created,
            updated: summary.updated,
            credits: self.credits(),
            now,
        }
    }

    /// Returns what the metadata of a chat log say about the story.
    fn credits(&self) -> Vec<(&'static str, String)> {
        // An export is useful without them.
        let Ok(metadata) = self.reader.metadata() else { return Vec::new() };
        let paths: [(&'static str, &[&str]); 3] = [
            ("Series", &["metadata", "series"]),
            ("Protagonist", &["session", "protagonist", "name"]),
            ("Model", &["session", "settings", "model"]),
        ];
        let credit = |(label, path): (&'static str, &[&str])| {
            let value = metadata.string_at(path).filter(|value| !value.trim().is_empty())?;
            Some((label, self.display_name(value)))
        };
        paths.into_iter().filter_map(credit).collect()
    }

    /// Returns whether an entry is part of the export.
    fn includes(&self, entry: &Entry) -> bool {
        let says_something = self.texts == TextMode::Exact || !entry.is_blank();
        says_something && self.choices.includes(entry)
    }

    /// Scans the whole session once.
    pub(crate) fn outline(
        &self,
        mut step: impl FnMut(u64) -> Result<(), ExportError>,
    ) -> Result<SessionOutline, ExportError> {
        let mut outline = SessionOutline::default();
        let mut entries = self.reader.entries(self.turns.clone())?;
        let mut turn = None;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            step(entry.turn)?;
            if !self.includes(&entry) {
                continue;
            }
            outline.entries += 1;
            outline.turns += u64::from(turn.replace(entry.turn) != Some(entry.turn));
            if let Some(time) = entry.time {
                let (first, last) = outline.times.unwrap_or((time, time));
                outline.times = Some((first.min(time), last.max(time)));
            }
            self.note_speaker(&mut outline.speakers, &entry);
        }
        drop(entries);
        for speaker in &mut outline.speakers {
            speaker.name = self.display_name(std::mem::take(&mut speaker.name));
        }
        outline.headings = self.headings()?;
        Ok(outline)
    }

    fn note_speaker(&self, speakers: &mut Vec<SpeakerStats>, entry: &Entry) {
        let role = SpeakerRole::of(&entry.kind);
        // Tools and thoughts are not speakers.
        if matches!(role, SpeakerRole::Answer | SpeakerRole::Call | SpeakerRole::Thought) {
            return;
        }
        let name = match self.texts {
            TextMode::Shown | TextMode::Page => escape_to_one_line(&entry.speaker),
            TextMode::Exact => entry.speaker.clone(),
        };
        if let Some(speaker) = speakers.iter_mut().find(|speaker| speaker.name == name) {
            speaker.entries += 1;
        } else if speakers.len() < SPEAKERS {
            speakers.push(SpeakerStats { name, role, entries: 1 });
        }
    }

    /// Returns the marks of the exported turns, and the scenes found in state changes.
    fn headings(&self) -> Result<Vec<Mark>, SessionError> {
        let mut headings = self.reader.marks()?;
        headings.retain(|mark| self.turns.contains(&mark.turn));
        let mut changes = self.reader.changes(self.turns.clone())?;
        while let Some(change) = changes.next() {
            let Some(scene) = scene(&change?) else { continue };
            let known = |mark: &Mark| mark.turn == scene.turn && mark.kind == MarkKind::Scene;
            if !headings.iter().any(known) {
                headings.push(scene);
            }
        }
        for mark in &mut headings {
            mark.name = self.display_name(std::mem::take(&mut mark.name));
            mark.description = self.display_text(std::mem::take(&mut mark.description));
        }
        // Of marks at the same turn, the larger unit comes first.
        let rank = |kind: &MarkKind| match kind {
            MarkKind::Chapter => 0,
            MarkKind::Scene => 1,
            _ => 2,
        };
        headings.sort_by_key(|mark| (mark.turn, rank(&mark.kind)));
        Ok(headings)
    }

    /// Returns the session piece by piece.
    pub(crate) fn pieces(&self, outline: &SessionOutline) -> Result<PieceStream<'_>, SessionError> {
        let wants_changes = self.choices.snapshots && self.choices.speaker.is_none();
        let changes = match wants_changes {
            true => Some(self.reader.changes(self.turns.clone())?),
            false => None,
        };
        Ok(PieceStream {
            source: self,
            entries: self.reader.entries(self.turns.clone())?,
            changes,
            next_change: None,
            headings: outline.headings.iter().cloned().collect(),
            turn: None,
            ready: VecDeque::new(),
            is_over: false,
            findings: Vec::new(),
        })
    }

    /// Returns the state after the last exported turn, scope by scope, as text.
    pub(crate) fn last_state(&self) -> Vec<(String, String)> {
        if !self.choices.snapshots || self.choices.speaker.is_some() {
            return Vec::new();
        }
        // Not every format has the state of every turn, and the export is useful without it.
        let Ok(state) = self.reader.state(Some(*self.turns.end())) else { return Vec::new() };
        let shown = state.scopes.into_iter().filter_map(|(name, tree)| {
            let text = tree.to_text(&Spelling::PRETTY_RAW);
            let empty = matches!(text.as_str(), "{}" | "null");
            let text = match text.len() {
                0..=LONGEST_STATE => self.display_text(text),
                long => format!("{long} bytes; print with: everturn state"),
            };
            (!empty).then(|| (self.display_name(name), text))
        });
        shown.collect()
    }
}

/// Returns the scene that a change starts, if it replaces the whole scene.
fn scene(change: &StateChange) -> Option<Mark> {
    let whole = change.delta.op == DeltaOp::Set && change.delta.path.segments().is_empty();
    let value = change.delta.value.as_ref().filter(|_| whole && change.scope == SCENE)?;
    let id = value.string_at(&["sceneId"])?;
    let named = |path: &[&str]| value.string_at(path).filter(|name| !name.trim().is_empty());
    let name = named(&["location", "name"]).or_else(|| named(&["name"]));
    Some(Mark {
        name: name.unwrap_or_else(|| id.clone()),
        id,
        kind: MarkKind::Scene,
        description: named(&["location", "description"]).unwrap_or_default(),
        turn: change.turn,
        entry: None,
        time: None,
    })
}

/// A stream of the pieces of a session.
pub(crate) struct PieceStream<'s> {
    source: &'s ExportSource<'s>,
    entries: Box<dyn RecordStream<Item = Entry> + 's>,
    changes: Option<Box<dyn RecordStream<Item = StateChange> + 's>>,
    /// A change that was read ahead and belongs to a later turn.
    next_change: Option<StateChange>,
    /// The marks that are not reached yet.
    headings: VecDeque<Mark>,
    turn: Option<u64>,
    ready: VecDeque<ExportPiece>,
    is_over: bool,
    /// The findings so far.
    pub(crate) findings: Vec<Finding>,
}

impl PieceStream<'_> {
    /// Returns the next piece.
    pub(crate) fn next(&mut self) -> Option<Result<ExportPiece, SessionError>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(Ok(piece));
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.read() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
    }

    fn read(&mut self) -> Result<(), SessionError> {
        let entry = loop {
            let entry = self.entries.next().transpose()?;
            self.findings.append(&mut self.entries.take_findings());
            match entry {
                Some(entry) if !self.source.includes(&entry) => {}
                other => break other,
            }
        };
        let Some(entry) = entry else {
            self.is_over = true;
            self.changes_through(u64::MAX)?;
            self.ready.extend(self.headings.drain(..).map(ExportPiece::Heading));
            return Ok(());
        };
        if self.turn != Some(entry.turn) {
            if let Some(turn) = self.turn {
                self.changes_through(turn)?;
            }
            self.changes_through(entry.turn.saturating_sub(1))?;
            self.turn = Some(entry.turn);
            self.headings_of(&entry);
            self.ready.push_back(ExportPiece::Turn { number: entry.turn, time: entry.time });
        } else {
            self.headings_of(&entry);
        }
        let source = self.source;
        let mut entry = entry;
        let lifted =
            if source.texts == TextMode::Exact { None } else { take_out_data(&entry.text) };
        if let Some((text, pictures)) = lifted {
            entry.text = text;
            entry.extras.attachments.splice(0..0, pictures);
        }
        let extras = source.display_extras(entry.extras);
        let words = source.display_text(entry.text);
        let actions = EntryExtras { actions: extras.actions.clone(), ..EntryExtras::default() };
        let spoken = actions.follow(&words).into_owned();
        let text = match source.texts {
            TextMode::Shown | TextMode::Page => extras.follow(&words).into_owned(),
            TextMode::Exact => words,
        };
        self.ready.push_back(ExportPiece::Message(Box::new(Message {
            seq: entry.seq,
            turn: entry.turn,
            id: entry.id,
            time: entry.time,
            speaker: source.display_name(entry.speaker),
            kind: entry.kind,
            text,
            spoken,
            extras,
            raw: entry.raw,
        })));
        Ok(())
    }

    /// Adds the marks before an entry: those of earlier turns, of its turn, and its own.
    fn headings_of(&mut self, entry: &Entry) {
        let mut later = Vec::new();
        while let Some(mark) = self.headings.pop_front_if(|mark| mark.turn <= entry.turn) {
            let of_another = mark.turn == entry.turn
                && mark.entry.as_ref().is_some_and(|id| *id != entry.id)
                && mark.entry.as_deref() != Some("");
            match of_another {
                true => later.push(mark),
                false => self.ready.push_back(ExportPiece::Heading(mark)),
            }
        }
        for mark in later.into_iter().rev() {
            self.headings.push_front(mark);
        }
    }

    /// Adds the changes up to and including a turn, one piece per turn.
    fn changes_through(&mut self, last: u64) -> Result<(), SessionError> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        let mut group: Option<TurnChanges> = None;
        loop {
            let change = match self.next_change.take() {
                Some(change) => Some(change),
                None => changes.next().transpose()?,
            };
            self.findings.append(&mut changes.take_findings());
            let Some(change) = change else { break };
            if change.turn > last {
                self.next_change = Some(change);
                break;
            }
            if group.as_ref().is_some_and(|group| group.turn != change.turn) {
                self.ready.extend(group.take().map(ExportPiece::Changes));
            }
            let turn = change.turn;
            let group =
                group.get_or_insert(TurnChanges { turn, lines: Vec::new(), raw: Vec::new() });
            let mut line = ChangeLine::of(&change);
            line.place = self.source.display_name(line.place);
            line.before = line.before.map(|text| self.source.display_name(text));
            line.after = line.after.map(|text| self.source.display_name(text));
            line.cause = line.cause.map(|text| self.source.display_name(text));
            if self.source.has(Feature::Regeneration)
                && let Some(earlier) = group.lines.iter_mut().find(|one| one.place == line.place)
            {
                // A regeneration took the earlier change back, or the message changed the value twice.
                earlier.after = line.after;
                earlier.cause = line.cause;
                group.lines.retain(|line| line.before != line.after);
                group.raw.push(change);
                continue;
            }
            // The start of a scene is a heading already, and an unchanged value is not shown.
            if scene(&change).is_none() && (line.op != DeltaOp::Set || line.before != line.after) {
                group.lines.push(line);
            }
            group.raw.push(change);
        }
        self.ready.extend(group.map(ExportPiece::Changes));
        Ok(())
    }
}
