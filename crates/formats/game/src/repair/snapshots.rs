//! Writes missing and incorrect snapshots, and scenes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::plan::{GameRepairPlan, SnapshotPurpose, scene_file};
use super::replay::{StateObserver, replay_states};
use crate::error::GameError;
use crate::session::Session;
use crate::snapshot::{SnapshotHeader, SnapshotReason, write};
use crate::state::GameState;
use crate::survey::SurveyResult;
use everturn_session::repair::OriginalsBackup;
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

pub(super) fn repair_snapshots(
    session: &Session,
    facts: &SurveyResult,
    plan: &GameRepairPlan,
    keeper: &mut OriginalsBackup<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    if plan.fresh.is_empty() && plan.scenes.is_empty() {
        return Ok(());
    }
    let wanted: BTreeSet<u64> = plan.fresh.keys().copied().collect();
    let mut taker = SnapshotPicker { session, facts, plan, keeper, now };
    let known = facts.good_snapshots.iter().map(|(file, _)| file.turn);
    let known = known.chain(facts.stored.turn.filter(|_| facts.stored.verified)).min();
    // States before the first known one are computed backwards.
    let (before, wanted): (BTreeSet<u64>, BTreeSet<u64>) =
        wanted.into_iter().partition(|turn| known.is_some_and(|known| *turn < known));
    for turn in before {
        taker.state(turn, &session.state_at(turn)?.state)?;
    }
    replay_states(session, facts, &wanted, &mut taker)?;
    Ok(())
}

struct SnapshotPicker<'a, 'k> {
    session: &'a Session,
    facts: &'a SurveyResult,
    plan: &'a GameRepairPlan,
    keeper: &'a mut OriginalsBackup<'k>,
    now: Timestamp,
}

impl SnapshotPicker<'_, '_> {
    /// Returns the turn of the snapshot before a turn, counting those that will be written.
    fn before(&self, turn: u64) -> Option<u64> {
        let good = self.facts.good_snapshots.iter().map(|(file, _)| file.turn);
        good.chain(self.plan.fresh.keys().copied()).filter(|other| *other < turn).max()
    }
}

impl StateObserver for SnapshotPicker<'_, '_> {
    fn state(&mut self, turn: u64, state: &GameState) -> Result<(), GameError> {
        let rules = self.session.rules();
        let file = rules.snapshot_file(turn);
        let from = match self.plan.fresh.get(&turn) {
            Some(SnapshotPurpose::Stretch | SnapshotPurpose::Anew) => self.before(turn),
            _ => None,
        };
        let header = SnapshotHeader {
            file,
            session: self.session.id.as_str(),
            now: self.now,
            reason: &SnapshotReason::Other("repair".to_owned()),
            from: from.map(|from| (rules.snapshot_file(from).id(), from)),
            deltas: from.map_or(0, |from| self.facts.recount.deltas_by_turn.sum(from, turn)),
        };
        let (text, _) = write(&header, state);
        Ok(self.keeper.write(&file.path(&self.session.dir), text.into_bytes())?)
    }

    fn scene(&mut self, scene: &JsonTree) -> Result<(), GameError> {
        let id = scene.string_at(&["sceneId"]).filter(|id| self.plan.scenes.contains(id));
        match id.and_then(|id| scene_file(self.session, &id)) {
            Some(path) => {
                Ok(self.keeper.write(&path, scene.to_text(&JsonStyle::PRETTY_RAW).into_bytes())?)
            }
            None => Ok(()),
        }
    }
}
