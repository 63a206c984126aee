//! Who narrates campaigns: a [`NarratorMaker`] of the program, or the embedded narrator; and what players ask them.

use std::fmt;
use std::sync::Arc;

use everturn::campaign::{EmbeddedNarrator, Narrator};
use schemars::JsonSchema;
use serde::Deserialize;

/// Where a turn is played with a stream as the answer.
pub(crate) const PLAY_STREAM: &str = "/api/v1/sessions/{session}/play/stream";

/// Receives the text of an answer as far as it has arrived, each time from its beginning.
pub type NarrationSink = Box<dyn FnMut(&str)>;

type MakeNarrator = dyn Fn(u64, NarrationSink) -> Result<Box<dyn Narrator>, String> + Send + Sync;

/// Makes narrators from a seed and a receiver of the text.
#[derive(Clone)]
pub struct NarratorMaker {
    name: String,
    make: Arc<MakeNarrator>,
}

impl NarratorMaker {
    /// Creates a maker. `name` is shown to players; an error says why there is no narrator.
    pub fn new(
        name: impl Into<String>,
        make: impl Fn(u64, NarrationSink) -> Result<Box<dyn Narrator>, String> + Send + Sync + 'static,
    ) -> NarratorMaker {
        NarratorMaker { name: name.into(), make: Arc::new(make) }
    }

    /// The embedded narrator, which needs no model.
    #[must_use]
    pub fn embedded() -> NarratorMaker {
        NarratorMaker::new("embedded", |seed, _| Ok(Box::new(EmbeddedNarrator::new(seed))))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn make(&self, seed: u64, sink: NarrationSink) -> Result<Box<dyn Narrator>, String> {
        (self.make)(seed, sink)
    }
}

impl fmt::Debug for NarratorMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NarratorMaker").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What the player does.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "do")]
pub(crate) enum PlayRequest {
    /// Plays a turn. An empty line lets the story go on; in a new campaign it opens the first scene.
    Say {
        /// What the player says or does.
        line: String,
        /// The party member who acts; by default the active one.
        actor: Option<String>,
    },
    /// Has the last turn narrated again. The earlier versions are kept.
    Retry {},
    /// Replaces the last line, and has it answered again. The earlier versions are kept.
    Edit {
        /// The new line.
        line: String,
    },
    /// Chooses a version of the last turn.
    Choose {
        /// The number of the version, counted from 1.
        version: u64,
    },
    /// Takes back the last turns of the story.
    Undo {
        /// The number of turns.
        turns: u64,
    },
    /// Brings back the turns that were undone last.
    Redo {
        /// The number of turns.
        turns: u64,
    },
    /// Makes a party member the active one.
    Actor {
        /// The party member.
        id: String,
    },
}
