//! The four indexes of a game session: facts in, texts out, and back.
//!
//! An index is derived data: it can be deleted and made again from turns, scenes, deltas and snapshots, and no
//! answer depends on it. Nothing here reads or writes a file.
//!
//! However long a session is, no text grows beyond 500,000 bytes, and adding a turn costs the same: each list has
//! a budget (see `thinned`), and what is left out is counted. What a list leaves out depends only on what was
//! added to it and taken out of it, in which order. So an index that was saved and read again goes on like one that
//! was never saved, and like one that is made anew.

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

/// The most bytes a text may have to be read as an index; no index that we write has half as many.
const MOST_READ: usize = 1_000_000;

/// Which of the four indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexKind {
    Turns,
    Scenes,
    Events,
    Deltas,
}

impl IndexKind {
    /// All of them, in the order in which [`Indexes::texts`] gives and [`Indexes::parse`] takes them.
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

/// Why a text is of no use as an index.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum IndexError {
    /// It is larger than any index.
    #[error("{index} has {bytes} bytes, more than any index")]
    TooLarge { index: IndexKind, bytes: usize },
    /// It is not JSON, or not UTF-8, or nested too deeply.
    #[error("{index} is not JSON: {why}")]
    NotJson { index: IndexKind, why: String },
    /// An object has the same key twice.
    #[error("{index} has a key twice, at byte {at}")]
    DuplicateKey { index: IndexKind, at: usize },
    /// A field is not there, is of another type, or contradicts others.
    #[error("{index}: {field:?} is missing, or not what it should be")]
    Field { index: IndexKind, field: String },
    /// It is the index of another session.
    #[error("{index} is of session {found:?}, not of {wanted:?}")]
    Session { index: IndexKind, found: String, wanted: String },
    /// It was saved at another turn than the index of turns.
    #[error("{index} covers turns up to {found}, but turn-index.json up to {wanted}")]
    Through { index: IndexKind, found: u64, wanted: u64 },
}

/// A turn, and where its line is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnFacts<'a> {
    pub(crate) turn: u64,
    /// The name of the file inside `turns/`.
    pub(crate) file: &'a str,
    /// The line in that file, counted from 0.
    pub(crate) line: u64,
    /// The byte at which the line starts.
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

/// A line of deltas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupFacts<'a> {
    pub(crate) turn: u64,
    /// The name of the file inside `deltas/`.
    pub(crate) file: &'a str,
    pub(crate) scope: &'a str,
    /// The operation of each delta of the group.
    pub(crate) ops: &'a [&'a str],
}

/// The indexes of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Indexes {
    session: String,
    /// The last turn that was added.
    through: u64,
    turns: TurnIndex,
    scenes: SceneIndex,
    events: EventIndex,
    deltas: DeltaIndex,
}

impl Indexes {
    /// The indexes of a session in which nothing has happened.
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

    /// Adds a turn and its events. Turns come in their order.
    pub(crate) fn add_turn(&mut self, facts: &TurnFacts<'_>) {
        self.through = self.through.max(facts.turn);
        self.turns.add(facts);
        for event in facts.events {
            self.events.add(event);
        }
    }

    /// Adds a line of deltas.
    pub(crate) fn add_group(&mut self, facts: &GroupFacts<'_>) {
        self.deltas.add(facts);
    }

    /// The newest file of turns has another name now.
    pub(crate) fn rename_turns(&mut self, from: &str, to: &str) {
        self.turns.rename(from, to);
    }

    /// The newest file of deltas has another name now.
    pub(crate) fn rename_deltas(&mut self, from: &str, to: &str) {
        self.deltas.rename(from, to);
    }

    /// Adds a snapshot; `file` is its name inside `snapshots/`.
    pub(crate) fn add_snapshot(&mut self, id: &str, turn: u64, file: &str) {
        self.deltas.add_snapshot(id, turn, file);
    }

    /// The turn of the last snapshot that is listed.
    pub(crate) fn last_snapshot(&self) -> Option<u64> {
        self.deltas.last_snapshot()
    }

    /// Takes out a snapshot that was added before.
    pub(crate) fn drop_snapshot(&mut self, id: &str) {
        self.deltas.drop_snapshot(id);
    }

    /// Adds a scene that starts with `turn` and goes on.
    pub(crate) fn start_scene(&mut self, id: &str, kind: &str, turn: u64, location: &str) {
        self.scenes.start(id, kind, turn, location);
    }

    /// The scene ends with `turn`. One that is not listed stays so.
    pub(crate) fn end_scene(&mut self, id: &str, turn: u64) {
        self.scenes.end(id, turn);
    }

    /// The newest scene that goes on ends with `turn`.
    pub(crate) fn end_newest_scene(&mut self, turn: u64) {
        self.scenes.end_newest(turn);
    }

    /// The last turn that was added, or 0.
    pub(crate) fn through(&self) -> u64 {
        self.through
    }

    /// What the four files should hold.
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

    /// Reads what [`Indexes::texts`] wrote for `session`, in the order of [`IndexKind::ALL`].
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
