//! What became of each part of a session that was converted.

use std::fmt;

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// The new session says it in the fields that its layout has for it.
    Kept,
    /// It is there, but says something else to programs that know only the layout.
    Changed,
    /// It is not there.
    Dropped,
}

impl Disposition {
    /// The name that `--json` prints.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Disposition::Kept => "kept",
            Disposition::Changed => "changed",
            Disposition::Dropped => "dropped",
        }
    }
}

impl fmt::Display for Disposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryOutcome {
    /// Its place in the session, counted from 1.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// Its id.
    pub id: String,
    /// What became of it.
    pub fate: Disposition,
    /// Why, thing by thing; nothing, if it was kept.
    pub why: Vec<String>,
}

/// What became of something that belongs to no single entry: the title, a mark, the states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionNote {
    /// What it is.
    pub what: String,
    /// What became of it.
    pub fate: Disposition,
    /// Why.
    pub why: String,
}

/// What a note is about that tells of damage.
pub const UNREADABLE: &str = "what could not be read";

/// What a note is about that tells of damage behind which nothing was lost.
pub(super) const REPAIRED: &str = "what had to be put right";

/// What became of everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversionReport {
    /// Every entry, in the order of the session.
    pub entries: Vec<EntryOutcome>,
    /// What was not kept of everything else.
    pub notes: Vec<ConversionNote>,
}

impl ConversionReport {
    /// How many entries had this fate.
    #[must_use]
    pub fn count(&self, fate: Disposition) -> usize {
        self.entries.iter().filter(|entry| entry.fate == fate).count()
    }

    /// How often each reason was given, in the order in which they came up.
    #[must_use]
    pub fn reasons(&self) -> Vec<(Disposition, &str, usize)> {
        let mut reasons: indexmap::IndexMap<(Disposition, &str), usize> = indexmap::IndexMap::new();
        for entry in &self.entries {
            for why in &entry.why {
                *reasons.entry((entry.fate, why.as_str())).or_default() += 1;
            }
        }
        reasons.into_iter().map(|((fate, why), count)| (fate, why, count)).collect()
    }

    pub(super) fn note(
        &mut self,
        what: impl Into<String>,
        fate: Disposition,
        why: impl Into<String>,
    ) {
        self.notes.push(ConversionNote { what: what.into(), fate, why: why.into() });
    }
}
