//! Surveys snapshots: the facts they state about themselves, and whether they follow from the changes.

use super::Survey;
use crate::error::GameError;
use crate::history::StateAt;
use crate::paths::SnapshotFile;
use crate::snapshot::{Snapshot, SnapshotFacts, SnapshotReason, read_with_facts};
use crate::state::{GameState, Scope, unstamped};
use crate::state_source::is_doubtful;
use crate::writer::SNAPSHOT_TURNS;
use everturn_json::finding::FindingCode;
use everturn_json::jsonl::LARGEST_TEXT;
use everturn_json::names::FilePath;
use everturn_value::delta::diff;
use everturn_value::tree::JsonTree;

/// How many differing paths are listed.
const MOST_PLACES: usize = 5;

/// How many changes there are in a range of turns.
struct ChangeCount {
    changes: u64,
    lines: u64,
}

impl Survey<'_> {
    /// Reads a snapshot. Returns `None` if it cannot be used.
    pub(super) fn snapshot(
        &mut self,
        file: SnapshotFile,
        path: &FilePath,
    ) -> Result<Option<(Snapshot, SnapshotFacts)>, GameError> {
        self.begin(path);
        let store = &self.session.store;
        let size =
            store.stat(path).map_err(GameError::from).map(|stat| stat.map_or(0, |stat| stat.len));
        let Some(size) = self.readable(path, size)? else { return Ok(None) };
        if size > LARGEST_TEXT {
            self.facts.bad_snapshots.push(path.clone());
            self.note(
                path,
                FindingCode::BadSnapshot,
                "the snapshot cannot be used: it is too large",
            );
            return Ok(None);
        }
        let bytes = self.session.store.read(path, 0..u64::MAX).map_err(GameError::from);
        let Some(bytes) = self.readable(path, bytes)? else { return Ok(None) };
        match read_with_facts(file, bytes) {
            Ok(read) => {
                if read.1.from.is_none() && self.facts.beginning.is_none() {
                    self.facts.beginning = Some(file.turn);
                }
                if self.facts.good_snapshots.is_empty() {
                    self.facts.first_from.clone_from(&read.1.from);
                }
                self.facts.is_own |= read.0.summed;
                if !read.0.summed {
                    self.facts.last_plain = self.facts.last_plain.max(Some(file.turn));
                }
                if self.facts.good_snapshots.is_empty() {
                    self.facts.starts_with_repair = read.1.from.is_none()
                        && read.0.reason == SnapshotReason::Other("repair".to_owned());
                }
                self.facts.good_snapshots.push((file, path.clone()));
                Ok(Some(read))
            }
            Err(reason) => {
                self.facts.bad_snapshots.push(path.clone());
                self.note(
                    path,
                    FindingCode::BadSnapshot,
                    format!("the snapshot cannot be used: {reason}"),
                );
                Ok(None)
            }
        }
    }

    /// Returns whether a snapshot is trusted: one without checksums must match the replayed state, unless it shows that
    /// changes are missing, so that the replayed state is the wrong one.
    pub(super) fn is_trusted(
        &mut self,
        path: &FilePath,
        snapshot: &Snapshot,
        facts: &SnapshotFacts,
        replayed: Option<&GameState>,
    ) -> bool {
        if snapshot.summed || !self.session.rules().logs_every_change() || self.blind {
            return true;
        }
        if let (Some(said), Some(counted)) = (facts.deltas, self.counted_changes(snapshot, facts))
            && said != counted.changes
            && said != counted.lines
        {
            return true;
        }
        let differs = replayed.map(|replayed| differences(replayed, &snapshot.state));
        let differs = differs.unwrap_or_default();
        if differs.is_empty() {
            return true;
        }
        self.facts.good_snapshots.retain(|(_, good)| good != path);
        self.facts.beginning = self.facts.beginning.filter(|turn| *turn != snapshot.turn);
        self.facts.bad_snapshots.push(path.clone());
        let message = format!(
            "the snapshot cannot be used: it has no checksums, and differs from the state that the changes produce: \
             {}",
            differs.join(", ")
        );
        self.note(path, FindingCode::BadSnapshot, message);
        false
    }

    /// Compares a snapshot with the state replayed from the previous one.
    pub(super) fn compare_snapshot(
        &mut self,
        path: &FilePath,
        snapshot: &Snapshot,
        facts: &SnapshotFacts,
        replayed: Option<&GameState>,
    ) {
        let odd = self.wrong_facts(snapshot, facts);
        for reason in &odd {
            self.note(path, FindingCode::SnapshotFacts, reason);
        }
        // A snapshot that does not claim to follow from another is independent.
        let differs = match replayed.filter(|_| facts.from.is_some() && !self.blind) {
            Some(replayed) => differences(replayed, &snapshot.state),
            None => Vec::new(),
        };
        if !differs.is_empty() {
            let message = format!(
                "it differs from the previous snapshot with the changes since then: {}",
                differs.join(", ")
            );
            self.note(path, FindingCode::SnapshotDiffers, message);
        }
        if !odd.is_empty() || !differs.is_empty() {
            self.facts.odd_snapshots.insert(snapshot.turn);
        }
    }

    fn wrong_facts(&mut self, snapshot: &Snapshot, facts: &SnapshotFacts) -> Vec<String> {
        let mut wrong = Vec::new();
        if facts.edited {
            let reason = "the file checksum does not match, although the states are intact";
            wrong.push(reason.to_owned());
        }
        if self.session.has_checksums(snapshot.turn) && !snapshot.summed {
            wrong.push("it has no checksums".to_owned());
        }
        if let (Some(own), Some(session)) = (&self.place.id, &facts.session)
            && own != session
            && !self.inherited
        {
            self.facts.other_session.get_or_insert(session.clone());
            wrong.push(format!("it belongs to session {session}"));
        }
        if self.blind {
            return wrong;
        }
        if self.facts.recount.last().is_some_and(|last| snapshot.turn > last) {
            wrong.push(format!("there is no turn {}", snapshot.turn));
        }
        let from =
            facts.from.as_ref().and_then(|from| SnapshotFile::parse(&format!("{from}.json")));
        if let Some(from) = from {
            let range = (from.turn + 1, snapshot.turn);
            if facts.range.is_some_and(|said| said != range) {
                wrong.push(format!("its changes are of turns {} to {}", range.0, range.1));
            }
        }
        if let (Some(said), Some(counted)) = (facts.deltas, self.counted_changes(snapshot, facts))
            && said != counted.changes
            && (snapshot.summed || said != counted.lines)
        {
            let counted = counted.changes;
            wrong.push(format!("it records {said} changes, but there are {counted}"));
        }
        wrong
    }

    /// Counts the changes since the snapshot that this one follows from. Other programs count single changes or lines.
    fn counted_changes(&self, snapshot: &Snapshot, facts: &SnapshotFacts) -> Option<ChangeCount> {
        let from = SnapshotFile::parse(&format!("{}.json", facts.from.as_ref()?))?.turn;
        let recount = &self.facts.recount;
        Some(ChangeCount {
            changes: recount.deltas_by_turn.sum(from, snapshot.turn),
            lines: recount.lines_by_turn.sum(from, snapshot.turn),
        })
    }

    /// Reports the turns whose states are lost: nothing is left from which they follow.
    pub(super) fn unknown_states(&mut self) -> Result<(), GameError> {
        if self.blind {
            return Ok(());
        }
        let end = self.facts.recount.last().unwrap_or(0).max(self.facts.recount.last_change);
        let first = self.session.first_turn()?;
        let dir = self.session.dir.clone();
        let known = self.facts.first_known();
        let last = match known {
            None if end > 0 => end,
            Some(known) if known > first && self.facts.starts_with_repair => known - 1,
            _ => return Ok(()),
        };
        let is_known = |moment: StateAt| !moment.findings.iter().any(is_doubtful);
        if known.is_some() && self.session.state_at(first).is_ok_and(is_known) {
            return Ok(());
        }
        let message = format!(
            "the states of turns {first} to {last} are unknown: no snapshot or state file is left that shows them"
        );
        self.note(&dir, FindingCode::UnknownState, message);
        Ok(())
    }

    /// Checks for long ranges of turns without a usable snapshot.
    pub(super) fn check_snapshot_gaps(&mut self) {
        let Some(last) = self.facts.recount.last() else { return };
        let mut turns: Vec<u64> =
            self.facts.good_snapshots.iter().map(|(file, _)| file.turn).collect();
        turns.sort_unstable();
        let first = turns.first().copied();
        let listed = self.files.snapshots.first().map(|(file, _)| file.turn);
        if let Some(from) = self.facts.first_from.clone().filter(|_| first == listed) {
            let file = SnapshotFile::parse(&format!("{from}.json"));
            let file = file.map(|file| file.path(&self.session.dir));
            let file = file.unwrap_or_else(|| SnapshotFile::dir(&self.session.dir));
            self.note(
                &file,
                FindingCode::MissingFile,
                "the snapshot that others are based on is missing",
            );
        }
        // A snapshot that follows from a missing one is not the start of the session.
        let start = if first.is_some() && first == self.facts.beginning { first } else { Some(0) };
        let points: Vec<u64> = start.into_iter().chain(turns).chain([last]).collect();
        for pair in points.windows(2) {
            let [from, to] = pair else { continue };
            if to.saturating_sub(*from) > SNAPSHOT_TURNS {
                self.facts.stretches.push((*from, *to));
                let message = format!("there is no snapshot between turns {from} and {to}");
                self.note(&SnapshotFile::dir(&self.session.dir), FindingCode::NoSnapshot, message);
            }
        }
    }
}

/// Describes where two states differ.
pub(super) fn differences(expected: &GameState, found: &GameState) -> Vec<String> {
    if expected.is_same(found) {
        return Vec::new();
    }
    let mut places = Vec::new();
    let mut more = 0;
    for scope in Scope::ALL {
        let part = |state: &GameState| state.get(scope).map_or_else(JsonTree::object, unstamped);
        for delta in diff(&part(expected), &part(found)) {
            if places.len() < MOST_PLACES {
                places.push(format!("{scope} at {}", delta.path));
            } else {
                more += 1;
            }
        }
    }
    if more > 0 {
        places.push(format!("and {more} more"));
    }
    places
}
