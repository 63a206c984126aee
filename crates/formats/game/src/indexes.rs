//! The four indexes of a game session: builds them from facts, writes and reads their texts.
//!
//! An index is derived data: it can be deleted and rebuilt from turns, scenes, deltas and snapshots, and no result
//! depends on it. Nothing here reads or writes a file.
//!
//! However long a session is, no index text exceeds 500,000 bytes, and the cost of adding a turn is constant: each list
//! has a budget (see `thinned_list`), and omitted entries are counted. Which entries a list omits depends only on the
//! order of insertions and removals. An index that was saved and read again therefore continues like one that was never
//! saved, and like one that is rebuilt.

mod counter;
mod deltas;
mod events;
mod scenes;
mod text;
mod thinned_list;
mod turns;

#[cfg(test)]
mod tests;

use std::fmt;

use thiserror::Error;

use deltas::DeltaIndex;
use events::EventIndex;
use scenes::SceneIndex;
use text::{IndexFields, IndexText};
use turns::TurnIndex;

/// The maximum size of a text that is read as an index; indexes written by Everturn are at most half as large.
const MOST_READ: usize = 1_000_000;

/// One of the four indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexKind {
    Turns,
    Scenes,
    Events,
    Deltas,
}

impl IndexKind {
    /// All indexes, in the order of [`Indexes::texts`] and [`Indexes::parse`].
    pub(crate) const ALL: [IndexKind; 4] =
        [IndexKind::Turns, IndexKind::Scenes, IndexKind::Events, IndexKind::Deltas];

    /// The name of its file inside `indexes/`.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            IndexKind::Turns => "turn-index.json",
            IndexKind::Scenes => "scene-index.json",
            IndexKind::Events => "event-index.json",
            IndexKind::Deltas => "delta-index.json",
        }
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file_name())
    }
}

/// Why a text cannot be used as an index.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum IndexError {
    /// It is larger than any index.
    #[error("{index} has {bytes} bytes, too many for an index")]
    TooLarge { index: IndexKind, bytes: usize },
    /// It is not JSON, or not UTF-8, or nested too deeply.
    #[error("{index} is not JSON: {why}")]
    NotJson { index: IndexKind, why: String },
    /// An object has the same key twice.
    #[error("{index} has a duplicate key at byte {at}")]
    DuplicateKey { index: IndexKind, at: usize },
    /// A field is missing, has the wrong type, or contradicts others.
    #[error("{index}: {field:?} is missing or invalid")]
    Field { index: IndexKind, field: String },
    /// The index belongs to another session.
    #[error("{index} belongs to session {found:?}, not to {wanted:?}")]
    Session { index: IndexKind, found: String, wanted: String },
    /// The index was saved at another turn than the turn index.
    #[error("{index} covers turns up to {found}, but turn-index.json up to {wanted}")]
    Through { index: IndexKind, found: u64, wanted: u64 },
}

/// A turn and the position of its line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnFacts<'a> {
    pub(crate) turn: u64,
    /// The name of the file in `turns/`.
    pub(crate) file: &'a str,
    /// The line number in that file, counted from 0.
    pub(crate) line: u64,
    /// The offset of the line in bytes.
    pub(crate) offset: u64,
    pub(crate) events: &'a [EventFacts<'a>],
}

/// An event of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventFacts<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) summary: &'a str,
    /// Whether the event is listed with its summary, or only counted.
    pub(crate) significant: bool,
}

/// A line of the delta log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupFacts<'a> {
    pub(crate) turn: u64,
    /// The name of the file in `deltas/`.
    pub(crate) file: &'a str,
    pub(crate) scope: &'a str,
    /// The operation of each delta of the group.
    pub(crate) ops: &'a [&'a str],
}

/// The indexes of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Indexes {
    session: String,
    /// The last turn added.
    through: u64,
    turns: TurnIndex,
    scenes: SceneIndex,
    events: EventIndex,
    deltas: DeltaIndex,
}

impl Indexes {
    /// Creates the indexes of an empty session.
    pub(crate) fn new(session: &str) -> Indexes {
        Indexes {
            session: session.to_owned(),
            through: 0,
            turns: TurnIndex::new(),
            scenes: SceneIndex::new(),
            events: EventIndex::new(),
            deltas: DeltaIndex::new(),
        }
    }

    /// Adds a turn and its events. Turns must be added in order.
    pub(crate) fn add_turn(&mut self, facts: &TurnFacts<'_>) {
        self.through = self.through.max(facts.turn);
        self.turns.add(facts);
        for event in facts.events {
            self.events.add(event);
        }
    }

    /// Adds a line of the delta log.
    pub(crate) fn add_group(&mut self, facts: &GroupFacts<'_>) {
        self.deltas.add(facts);
    }

    /// Records that the newest turn log file was renamed.
    pub(crate) fn rename_turns(&mut self, from: &str, to: &str) {
        self.turns.rename(from, to);
    }

    /// Records that the newest delta log file was renamed.
    pub(crate) fn rename_deltas(&mut self, from: &str, to: &str) {
        self.deltas.rename(from, to);
    }

    /// Adds a snapshot; `file` is its name in `snapshots/`.
    pub(crate) fn add_snapshot(&mut self, id: &str, turn: u64, file: &str) {
        self.deltas.add_snapshot(id, turn, file);
    }

    /// Returns the turn of the last listed snapshot.
    pub(crate) fn last_snapshot(&self) -> Option<u64> {
        self.deltas.last_snapshot()
    }

    /// Removes a snapshot that was added before.
    pub(crate) fn drop_snapshot(&mut self, id: &str) {
        self.deltas.drop_snapshot(id);
    }

    /// Adds an open scene that starts with `turn`.
    pub(crate) fn start_scene(&mut self, id: &str, kind: &str, turn: u64, location: &str) {
        self.scenes.start(id, kind, turn, location);
    }

    /// Ends a scene with `turn`, if it is listed.
    pub(crate) fn end_scene(&mut self, id: &str, turn: u64) {
        self.scenes.end(id, turn);
    }

    /// Returns whether a scene is listed.
    pub(crate) fn has_scene(&mut self, id: &str) -> bool {
        self.scenes.has(id)
    }

    /// Sets the type and location of a scene that has none.
    pub(crate) fn describe_scene(&mut self, id: &str, kind: &str, location: &str) {
        self.scenes.describe(id, kind, location);
    }

    /// Sets the last turn of a scene, or reopens it.
    pub(crate) fn set_scene_end(&mut self, id: &str, last: Option<u64>) {
        self.scenes.set_end(id, last);
    }

    /// Ends the newest open scene with `turn`.
    pub(crate) fn end_newest_scene(&mut self, turn: u64) {
        self.scenes.end_newest(turn);
    }

    /// Returns the last turn added, or 0.
    pub(crate) fn through(&self) -> u64 {
        self.through
    }

    /// Returns the contents of the four files.
    pub(crate) fn texts(&self) -> [(IndexKind, String); 4] {
        IndexKind::ALL.map(|kind| {
            let mut page = IndexText::new();
            page.text("sessionId", &self.session);
            match kind {
                IndexKind::Turns => self.turns.write(&mut page, self.through),
                IndexKind::Scenes => self.scenes.write(&mut page, self.through),
                IndexKind::Events => self.events.write(&mut page, self.through),
                IndexKind::Deltas => self.deltas.write(&mut page, self.through),
            }
            (kind, page.finish())
        })
    }

    /// Parses the texts written by [`Indexes::texts`] for `session`, in the order of [`IndexKind::ALL`].
    pub(crate) fn parse<T: AsRef<[u8]>>(
        session: &str,
        texts: &[T; 4],
    ) -> Result<Indexes, IndexError> {
        let [turns, scenes, events, deltas] = texts;
        let open = |index, text: &T| IndexFields::open(index, session, text.as_ref());
        let turn_fields = open(IndexKind::Turns, turns)?;
        let through = turn_fields.number("throughTurn")?;
        let same_turn = |fields: IndexFields| match fields.number("throughTurn")? {
            found if found == through => Ok(fields),
            found => Err(IndexError::Through { index: fields.index(), found, wanted: through }),
        };
        Ok(Indexes {
            session: session.to_owned(),
            through,
            turns: TurnIndex::read(&turn_fields, through)?,
            scenes: SceneIndex::read(&open(IndexKind::Scenes, scenes).and_then(same_turn)?)?,
            events: EventIndex::read(&open(IndexKind::Events, events).and_then(same_turn)?)?,
            deltas: DeltaIndex::read(&open(IndexKind::Deltas, deltas).and_then(same_turn)?)?,
        })
    }
}
