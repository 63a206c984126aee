//! What is to be done, from what was learned about a session.

use std::collections::{BTreeMap, BTreeSet};

use super::RepairAction;
use crate::dialect::Dialect;
use crate::error::GameError;
use crate::paths::{DocumentFile, SnapshotFile, scene_path};
use crate::session::Session;
use crate::survey::SurveyResult;
use crate::writer::SNAPSHOT_TURNS;
use everturn_json::names::{FilePath, SceneId};
use everturn_session::repair::numbering::MOST_LOST;

/// Logs that are longer than this are not rewritten: they and their copy must fit into one commit.
pub(super) const LARGEST_LOG: u64 = 256 << 20;

/// What a snapshot is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SnapshotPurpose {
    /// There is none for too long.
    Stretch,
    /// It says something about itself that is not so.
    Anew,
    /// It does not follow from the changes before it.
    Beginning,
}

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct GameRepairPlan {
    /// Files that leave the session.
    pub(super) trash: BTreeSet<FilePath>,
    /// Turns of which snapshots are written.
    pub(super) fresh: BTreeMap<u64, SnapshotPurpose>,
    pub(super) scenes: BTreeSet<String>,
}

impl GameRepairPlan {
    pub(super) fn of(session: &Session, facts: &SurveyResult) -> Result<GameRepairPlan, GameError> {
        let mut plan = GameRepairPlan::default();
        plan.trash.extend(facts.bad_snapshots.iter().cloned());
        plan.trash.extend(facts.stale_indexes.iter().cloned());
        if session.dialect == Dialect::Upstream {
            if facts.wrong_metadata {
                plan.trash.insert(DocumentFile::Meta.in_dir(&session.dir));
            }
            return Ok(plan);
        }
        plan.fresh = fresh(session, facts);
        plan.scenes.clone_from(&facts.wrong_scenes);
        Ok(plan)
    }

    /// The same in words, after what was done to the logs.
    pub(super) fn actions(
        &self,
        session: &Session,
        facts: &SurveyResult,
        logs: Vec<RepairAction>,
    ) -> Vec<RepairAction> {
        let has_logs = !logs.is_empty();
        let mut actions = logs;
        let mut add = |file: FilePath, what: String| actions.push(RepairAction { file, what });
        for file in &self.trash {
            let what = if facts.stale_indexes.contains(file) {
                "moved to the trash, to be made anew"
            } else {
                "moved to the trash"
            };
            add(file.clone(), what.to_owned());
        }
        for (turn, why) in &self.fresh {
            let file = SnapshotFile { turn: *turn, is_upstream: false };
            let what = match why {
                SnapshotPurpose::Stretch => format!("a snapshot of turn {turn} is taken"),
                SnapshotPurpose::Anew => "written anew with the same state".to_owned(),
                SnapshotPurpose::Beginning => {
                    format!(
                        "the state of turn {turn} becomes a beginning of its own, because changes before it are lost or wrong"
                    )
                }
            };
            add(file.path(&session.dir), what);
        }
        for id in &self.scenes {
            if let Some(file) = scene_file(session, id) {
                add(file, "the scene is written as the changes tell it".to_owned());
            }
        }
        if facts.wrong_states || (session.meta.is_none() && session.dialect == Dialect::Spec) {
            let what = "the states are worked out from the newest good snapshot and the changes";
            add(session.dir.clone(), what.to_owned());
        }
        let counts = has_logs || !self.fresh.is_empty() || !self.trash.is_empty();
        if session.dialect == Dialect::Spec
            && (facts.wrong_metadata || facts.wrong_states || counts)
        {
            add(
                DocumentFile::Meta.in_dir(&session.dir),
                "counted anew; other fields stay".to_owned(),
            );
        }
        actions
    }
}

pub(super) fn scene_file(session: &Session, id: &str) -> Option<FilePath> {
    scene_path(&session.dir, &SceneId::parse(id).ok()?).ok()
}

/// The turns after the last line of the log of which something else is left.
pub(super) fn lost(facts: &SurveyResult) -> Option<(u64, u64)> {
    let logged = facts.recount.last();
    let states = facts.stored.turn.filter(|_| facts.stored.verified).unwrap_or(0);
    let snapshots = facts.good_snapshots.iter().map(|(file, _)| file.turn).max().unwrap_or(0);
    let last = facts.recount.last_change.max(states).max(snapshots);
    let first = logged.map_or(1, |logged| logged + 1);
    (last >= first && last > 0).then(|| (first.max(last.saturating_sub(MOST_LOST - 1)), last))
}

/// The turn at which the session begins, if its state can be worked out backwards although no snapshot has it.
fn reachable(
    session: &Session,
    facts: &SurveyResult,
    good: Option<u64>,
    first: Option<u64>,
) -> Option<u64> {
    let begins = good.is_some() && facts.beginning == good;
    let start = session.first_turn().ok()?;
    let is_known = first.is_none_or(|first| first <= start);
    if begins || is_known || good.is_none() && facts.wrong_states {
        return None;
    }
    let moment = session.state_at(start).ok()?;
    moment.findings.is_empty().then_some(start)
}

/// The snapshots that are to be written.
fn fresh(session: &Session, facts: &SurveyResult) -> BTreeMap<u64, SnapshotPurpose> {
    let mut fresh = BTreeMap::new();
    let stored = facts.stored.turn.filter(|_| facts.stored.verified);
    let good = facts.good_snapshots.iter().map(|(file, _)| file.turn).min();
    let mut first = good.into_iter().chain(stored).min();
    if let Some(start) = reachable(session, facts, good, first) {
        fresh.insert(start, SnapshotPurpose::Stretch);
        first = Some(start);
    }
    let last = facts.recount.last().unwrap_or(session.turn);
    match first {
        // No state is known before this turn.
        Some(first) => {
            for (from, to) in &facts.stretches {
                if first >= *to && facts.good_snapshots.iter().any(|(file, _)| file.turn == *to) {
                    // Nothing is left from which it could follow.
                    fresh.insert(*to, SnapshotPurpose::Beginning);
                }
                let mut turn = (*from).max(first);
                if facts.good_snapshots.iter().all(|(file, _)| file.turn != turn) && turn < *to {
                    fresh.insert(turn, SnapshotPurpose::Stretch);
                }
                while turn + SNAPSHOT_TURNS < *to {
                    turn += SNAPSHOT_TURNS;
                    fresh.insert(turn, SnapshotPurpose::Stretch);
                }
            }
        }
        None => drop(fresh.insert(last, SnapshotPurpose::Beginning)),
    }
    if let Some(stored) = stored.filter(|_| good.is_none() && fresh.is_empty()) {
        fresh.insert(stored, SnapshotPurpose::Beginning);
    }
    for turn in &facts.odd_snapshots {
        // Those that differ are led to by the changes once the logs are mended.
        let why = if facts.wrong_logs { SnapshotPurpose::Beginning } else { SnapshotPurpose::Anew };
        fresh.insert(*turn, why);
    }
    if let Some(turn) = stored.filter(|_| facts.wrong_states) {
        fresh.insert(turn, SnapshotPurpose::Beginning);
    }
    fresh
}
