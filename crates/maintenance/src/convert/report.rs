//! [`ConversionReport`]: what happened to each part of a converted session.

use std::fmt;

/// What happened to a part of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// The new session has it in the fields of its format.
    Kept,
    /// It is in the new session, but programs that know only the format read it differently.
    Changed,
    /// It is not in the new session.
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

/// The outcome of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryOutcome {
    /// Its position in the session, counted from 1.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// Its ID.
    pub id: String,
    /// What happened to it.
    pub fate: Disposition,
    /// The reasons; empty if it was kept.
    pub why: Vec<String>,
}

/// The outcome of something that belongs to no single entry: the title, a mark, the states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionNote {
    /// The part of the session.
    pub what: String,
    /// What happened to it.
    pub fate: Disposition,
    /// The reason.
    pub why: String,
}

/// The subject of notes about lost data.
pub const UNREADABLE: &str = "unreadable data";

/// The subject of notes about damage without loss.
pub(super) const REPAIRED: &str = "repaired data";

/// The outcome of every part of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversionReport {
    /// All entries, in order.
    pub entries: Vec<EntryOutcome>,
    /// Other parts that were not kept.
    pub notes: Vec<ConversionNote>,
}

impl ConversionReport {
    /// The number of entries with this outcome.
    #[must_use]
    pub fn count(&self, fate: Disposition) -> usize {
        self.entries.iter().filter(|entry| entry.fate == fate).count()
    }

    /// The number of times that each reason occurs, in order of first occurrence.
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
