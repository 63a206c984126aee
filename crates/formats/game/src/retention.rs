//! Snapshot retention: which snapshots stay in place, and which are retired.

use std::sync::Arc;

use super::error::GameError;
use super::paths::{SnapshotFile, join_names};
use super::session::Session;
use super::snapshot::SnapshotReason;
use super::writer::{GameWriter, lock};
use everturn_json::names::SessionId;
use everturn_store::{Step, Store};

/// How many of the last snapshots are always kept.
const RECENT: usize = 10;

/// The maximum number of turns between two kept snapshots, if there are snapshots between them.
const SPACING: u64 = 100;

/// A snapshot of a session, without its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    pub(crate) file: SnapshotFile,
    /// Why it was taken; `None` if it cannot be read.
    pub reason: Option<SnapshotReason>,
}

impl SnapshotEntry {
    /// Returns its ID, which is its file name without the extension.
    #[must_use]
    pub fn id(&self) -> String {
        self.file.id()
    }

    /// Returns its turn.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.file.turn
    }
}

/// Why a snapshot is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepReason {
    /// It is the state before the first turn.
    Initial,
    /// A scene ended at its turn.
    SceneEnd,
    /// It is one of the last ten.
    Recent,
    /// Without it there would be more than a hundred turns between two snapshots.
    Spacing,
    /// It cannot be read, so its purpose is unknown.
    Unreadable,
}

impl KeepReason {
    /// Describes the reason.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            KeepReason::Initial => "it is the state before the first turn",
            KeepReason::SceneEnd => "a scene ended there",
            KeepReason::Recent => "it is one of the last ten",
            KeepReason::Spacing => "otherwise there would be a gap of more than 100 turns",
            KeepReason::Unreadable => "it cannot be read",
        }
    }
}

/// The retention decision for the snapshots of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotRetention {
    /// The snapshots that are kept, and why.
    pub keep: Vec<(SnapshotEntry, KeepReason)>,
    /// The snapshots that are moved to `snapshots/archived/`.
    pub retire: Vec<SnapshotEntry>,
}

impl SnapshotRetention {
    /// Decides which snapshots to keep; they are given in the order of their turns.
    ///
    /// Kept are the last ten, those of the start and of the ends of scenes, and enough others that at most a hundred
    /// turns lie between two, unless there is no snapshot between them.
    #[must_use]
    pub fn plan(snapshots: &[SnapshotEntry]) -> SnapshotRetention {
        let readable: Vec<u64> = snapshots
            .iter()
            .filter(|snapshot| snapshot.reason.is_some())
            .map(SnapshotEntry::turn)
            .collect();
        let recent = readable.len().checked_sub(RECENT).and_then(|at| readable.get(at)).copied();
        let mut plan = SnapshotRetention::default();
        let mut kept: Option<u64> = None;
        for (at, snapshot) in snapshots.iter().enumerate() {
            let turn = snapshot.turn();
            let next = snapshots.iter().skip(at + 1).find(|next| next.reason.is_some());
            let far = |next: &SnapshotEntry| {
                kept.is_none_or(|kept| next.turn().saturating_sub(kept) > SPACING)
            };
            let why = match &snapshot.reason {
                None => Some(KeepReason::Unreadable),
                Some(SnapshotReason::Initial) => Some(KeepReason::Initial),
                Some(SnapshotReason::SceneEnd) => Some(KeepReason::SceneEnd),
                Some(_) if recent.is_none_or(|first| turn >= first) => Some(KeepReason::Recent),
                Some(_) if next.is_none_or(far) => Some(KeepReason::Spacing),
                Some(_) => None,
            };
            if why.is_some_and(|why| why != KeepReason::Unreadable) {
                kept = Some(turn);
            }
            match why {
                Some(why) => plan.keep.push((snapshot.clone(), why)),
                None => plan.retire.push(snapshot.clone()),
            }
        }
        plan
    }
}

impl Session {
    /// Returns the snapshots of the session in the order of their turns. Each is read and checked.
    pub fn snapshots(&self) -> Result<Vec<SnapshotEntry>, GameError> {
        let files = self.files()?;
        let entry = |(file, path): &(SnapshotFile, everturn_json::names::FilePath)| {
            let reason = self.load_snapshot(path)?.ok().map(|snapshot| snapshot.reason);
            Ok(SnapshotEntry { file: *file, reason })
        };
        files.snapshots.iter().map(entry).collect()
    }

    /// Returns the steps that retire snapshots; a snapshot whose new name is taken stays.
    fn retire(&self, plan: &SnapshotRetention) -> Result<Vec<Step>, GameError> {
        let archived = join_names(&SnapshotFile::dir(&self.dir), &["archived"]);
        let mut steps = Vec::new();
        for snapshot in &plan.retire {
            let to = join_names(&archived, &[&snapshot.file.render()]);
            if self.store.stat(&to)?.is_none() {
                steps.push(Step::Rename { from: snapshot.file.path(&self.dir), to });
            }
        }
        Ok(steps)
    }
}

impl GameWriter {
    /// Retires the snapshots that are no longer needed, in one commit, and returns the decision.
    pub fn retain(&mut self) -> Result<SnapshotRetention, GameError> {
        let plan = SnapshotRetention::plan(&self.session.snapshots()?);
        let mut steps = self.session.retire(&plan)?;
        if steps.is_empty() {
            return Ok(plan);
        }
        if self.session.rules().defers_states() {
            for snapshot in &plan.retire {
                self.indexes()?.drop_snapshot(&snapshot.id());
            }
            steps.extend(self.index_steps()?);
        }
        self.commit(steps)?;
        self.session.invalidate_files();
        Ok(plan)
    }
}

/// Retires the snapshots of a session that are no longer needed, and returns the decision.
///
/// They are moved to `snapshots/archived/`; nothing is removed. The state at every turn remains available.
pub fn retain(store: &Arc<dyn Store>, id: &SessionId) -> Result<SnapshotRetention, GameError> {
    let writer = lock(store, id)?;
    let session = Session::open(Arc::clone(store), id)?;
    let mut game = GameWriter::with(session, writer)?;
    let plan = game.retain()?;
    game.release()?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes snapshots as `turn` or `turn:reason`, and the kept ones with the first letter of the reason.
    #[track_caller]
    fn check(snapshots: &str, kept: &str) {
        let entry = |text: &str| {
            let (turn, reason) = text.split_once(':').unwrap_or((text, "manual"));
            let file = SnapshotFile { turn: turn.parse().unwrap(), is_upstream: false };
            SnapshotEntry { file, reason: (reason != "bad").then(|| SnapshotReason::parse(reason)) }
        };
        let entries: Vec<SnapshotEntry> = snapshots.split_whitespace().map(entry).collect();
        let plan = SnapshotRetention::plan(&entries);
        let word = |(entry, why): &(SnapshotEntry, KeepReason)| {
            format!("{}{}", entry.turn(), &format!("{why:?}")[..1])
        };
        let words: Vec<String> = plan.keep.iter().map(word).collect();
        assert_eq!(words.join(" "), kept);
        assert_eq!(plan.keep.len() + plan.retire.len(), entries.len());
    }

    #[test]
    fn the_last_ten_the_ends_of_scenes_the_start_and_one_in_a_hundred_turns_stay() {
        check("", "");
        check("0:initial 5 6 7", "0I 5R 6R 7R");
        let many: Vec<String> = (1..=30).map(|n| (n * 10).to_string()).collect();
        let many = format!("0:initial {}", many.join(" "));
        check(&many, "0I 100S 200S 210R 220R 230R 240R 250R 260R 270R 280R 290R 300R");
        let ten = "901 902 903 904 905 906 907 908 909 910";
        let kept = "901R 902R 903R 904R 905R 906R 907R 908R 909R 910R";
        check(
            &format!("0:initial 40:scene_end 150 400 {ten}"),
            &format!("0I 40S 150S 400S {kept}"),
        );
        check(&format!("7 8 9 {ten}"), &format!("7S 9S {kept}"));
        check(
            &format!("0:initial 810:scene_end 820 850:bad 860 {ten}"),
            &format!("0I 810S 850U {kept}"),
        );
    }
}
