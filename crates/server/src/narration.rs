//! Who narrates campaigns: a [`NarratorMaker`] of the program, or the embedded narrator.

use std::fmt;
use std::sync::Arc;

use everturn::campaign::{EmbeddedNarrator, Narrator};

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
