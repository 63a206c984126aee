//! Plans a repair from the result of a survey.

use std::collections::{BTreeMap, BTreeSet};

use super::RepairAction;
use crate::error::GameError;
use crate::paths::{DocumentFile, join_names, scene_path};
use crate::session::Session;
use crate::survey::SurveyResult;
use crate::writer::SNAPSHOT_TURNS;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SceneId};
use everturn_session::marks;
use everturn_session::repair::numbering::MOST_LOST;

/// Larger logs are not rewritten: the log and its copy must fit into one commit.
pub(super) const LARGEST_LOG: u64 = 256 << 20;

/// Why a snapshot is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SnapshotPurpose {
    /// There is no snapshot for too many turns.
    Stretch,
    /// The snapshot has wrong facts about itself.
    Anew,
    /// The snapshot does not follow from the changes before it.
    Beginning,
}

/// The planned changes.
#[derive(Debug, Default)]
pub(super) struct GameRepairPlan {
    /// Files that are moved out of the session.
    pub(super) trash: BTreeSet<FilePath>,
    /// Turns for which snapshots are written.
    pub(super) fresh: BTreeMap<u64, SnapshotPurpose>,
    pub(super) scenes: BTreeSet<String>,
    /// Scene files in which keys are repeated and that do not follow from the changes.
    pub(super) repeated: BTreeSet<FilePath>,
    /// Whether the document of marks is rewritten.
    pub(super) marks: bool,
}

impl GameRepairPlan {
    pub(super) fn of(session: &Session, facts: &SurveyResult) -> Result<GameRepairPlan, GameError> {
        let mut plan = GameRepairPlan::default();
        plan.trash.extend(facts.bad_snapshots.iter().cloned());
        plan.trash.extend(facts.stale_indexes.iter().cloned());
        let rules = session.rules();
        if facts.wrong_metadata && !rules.keeps_metadata() {
            plan.trash.insert(DocumentFile::Meta.in_dir(&session.dir));
        }
        if rules.logs_every_change() {
            plan.fresh = fresh(session, facts);
            plan.scenes.clone_from(&facts.wrong_scenes);
            let rewritten: BTreeSet<FilePath> =
                plan.scenes.iter().filter_map(|id| scene_file(session, id)).collect();
            let scenes = join_names(&session.dir, &["scenes"]);
            let repeated = facts.repeated.iter().filter(|file| file.is_within(&scenes));
            let current = facts.last_scene_file(session).filter(|_| facts.wrong_states);
            plan.repeated = repeated
                .filter(|file| !rewritten.contains(*file) && current.as_ref() != Some(*file))
                .cloned()
                .collect();
        }
        plan.marks = facts.wrong_marks;
        Ok(plan)
    }

    /// Describes the plan, after the actions on the logs.
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
                "moved to the trash, to be rebuilt"
            } else {
                "moved to the trash"
            };
            add(file.clone(), what.to_owned());
        }
        for (turn, why) in &self.fresh {
            let file = session.rules().snapshot_file(*turn);
            let what = match why {
                SnapshotPurpose::Stretch => format!("created a snapshot of turn {turn}"),
                SnapshotPurpose::Anew => "rewritten with the same state".to_owned(),
                SnapshotPurpose::Beginning => {
                    format!(
                        "the state of turn {turn} becomes a new starting point, because earlier changes are lost or \
                         wrong"
                    )
                }
            };
            add(file.path(&session.dir), what);
        }
        for id in &self.scenes {
            if let Some(file) = scene_file(session, id) {
                add(file, "the scene is rewritten from the changes".to_owned());
            }
        }
        for file in &self.repeated {
            add(file.clone(), "rewritten with the last value of each repeated key".to_owned());
        }
        if self.marks {
            let file = marks::marks_file(&session.dir);
            add(file, "rewritten with the intact marks".to_owned());
        }
        let keeps_metadata = session.rules().keeps_metadata();
        if (facts.wrong_states || (session.meta.is_none() && keeps_metadata))
            && facts.restores_states(session)
        {
            let what = "the states are computed from the newest good snapshot and the changes";
            add(session.dir.clone(), what.to_owned());
        }
        let counts = has_logs || !self.fresh.is_empty() || !self.trash.is_empty();
        let states = facts.wrong_states && session.noted_states().is_some() && facts.has_state();
        if keeps_metadata && (facts.wrong_metadata || states || counts) {
            add(
                DocumentFile::Meta.in_dir(&session.dir),
                "counts recomputed; other fields kept".to_owned(),
            );
        }
        actions
    }
}

pub(super) fn scene_file(session: &Session, id: &str) -> Option<FilePath> {
    scene_path(&session.dir, &SceneId::parse(id).ok()?).ok()
}

/// Returns the turns after the last logged one that left traces elsewhere.
pub(super) fn lost(facts: &SurveyResult) -> Option<(u64, u64)> {
    let logged = facts.recount.last();
    let states = facts.stored.turn.filter(|_| facts.stored.verified).unwrap_or(0);
    let snapshots = facts.good_snapshots.iter().map(|(file, _)| file.turn).max().unwrap_or(0);
    let last = facts.recount.last_change.max(states).max(snapshots);
    let first = logged.map_or(1, |logged| logged + 1);
    (last >= first && last > 0).then(|| (first.max(last.saturating_sub(MOST_LOST - 1)), last))
}

/// Returns the first turn of the session, if its state can be computed backwards although no snapshot has it.
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
    // A snapshot that cannot be used is why it is computed.
    let harmless = |finding: &Finding| finding.code == FindingCode::BadSnapshot;
    moment.findings.iter().all(harmless).then_some(start)
}

/// Returns the snapshots to be written.
fn fresh(session: &Session, facts: &SurveyResult) -> BTreeMap<u64, SnapshotPurpose> {
    let mut fresh = BTreeMap::new();
    let stored = facts.stored.turn.filter(|_| facts.stored.verified);
    let good = facts.good_snapshots.iter().map(|(file, _)| file.turn).min();
    let mut first = good.into_iter().chain(stored).min();
    if let Some(start) = reachable(session, facts, good, first) {
        fresh.insert(start, SnapshotPurpose::Stretch);
        first = Some(start);
    }
    match first {
        // No state is known before this turn.
        Some(first) => {
            for (from, to) in &facts.stretches {
                if first >= *to && facts.good_snapshots.iter().any(|(file, _)| file.turn == *to) {
                    // Nothing is left that it could follow from.
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
        // Nothing is known from which a snapshot could be taken.
        None => return fresh,
    }
    let own = stored.filter(|_| session.noted_states().is_some());
    if let Some(stored) = own.filter(|_| good.is_none() && fresh.is_empty()) {
        fresh.insert(stored, SnapshotPurpose::Beginning);
    }
    for turn in &facts.odd_snapshots {
        // Once the logs are repaired, the changes lead to the snapshots that differ.
        let why = if facts.wrong_logs { SnapshotPurpose::Beginning } else { SnapshotPurpose::Anew };
        fresh.insert(*turn, why);
    }
    if let Some(turn) = stored.filter(|_| facts.wrong_states) {
        fresh.insert(turn, SnapshotPurpose::Beginning);
    }
    fresh
}
