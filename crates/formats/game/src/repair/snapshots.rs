//! Snapshots that are missing, or must be written anew, and scenes.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::plan::{Fresh, Plan, scene_file};
use super::replay::{Follow, follow, snapshot_id};
use crate::error::GameError;
use crate::names::SnapshotFile;
use crate::session::Session;
use crate::snapshot::{Header, Reason, write};
use crate::state::State;
use crate::survey::Facts;
use everturn_session::repairs::Keeper;
use everturn_value::document::Style;
use everturn_value::tree::Tree;

pub(super) fn mend(
    session: &Session,
    facts: &Facts,
    plan: &Plan,
    keeper: &mut Keeper<'_>,
    now: Timestamp,
) -> Result<(), GameError> {
    if plan.fresh.is_empty() && plan.scenes.is_empty() {
        return Ok(());
    }
    let wanted: BTreeSet<u64> = plan.fresh.keys().copied().collect();
    let mut taker = Taker { session, facts, plan, keeper, now };
    let known = facts.good_snapshots.iter().map(|(file, _)| file.turn);
    let known = known.chain(facts.stored.turn.filter(|_| facts.stored.verified)).min();
    // What lies before the first state that is known is worked out backwards.
    let (before, wanted): (BTreeSet<u64>, BTreeSet<u64>) =
        wanted.into_iter().partition(|turn| known.is_some_and(|known| *turn < known));
    for turn in before {
        taker.state(turn, &session.state_at(turn)?.state)?;
    }
    follow(session, facts, &wanted, &mut taker)?;
    Ok(())
}

struct Taker<'a, 'k> {
    session: &'a Session,
    facts: &'a Facts,
    plan: &'a Plan,
    keeper: &'a mut Keeper<'k>,
    now: Timestamp,
}

impl Taker<'_, '_> {
    /// The snapshot before a turn, of those that will be there.
    fn before(&self, turn: u64) -> Option<u64> {
        let good = self.facts.good_snapshots.iter().map(|(file, _)| file.turn);
        good.chain(self.plan.fresh.keys().copied()).filter(|other| *other < turn).max()
    }
}

impl Follow for Taker<'_, '_> {
    fn state(&mut self, turn: u64, state: &State) -> Result<(), GameError> {
        let file = SnapshotFile { turn, program: false };
        let from = match self.plan.fresh.get(&turn) {
            Some(Fresh::Stretch | Fresh::Anew) => self.before(turn),
            _ => None,
        };
        let header = Header {
            file,
            session: self.session.id.as_str(),
            now: self.now,
            reason: &Reason::Other("repair".to_owned()),
            from: from.map(|from| (snapshot_id(from), from)),
            deltas: from.map_or(0, |from| self.facts.recount.deltas_by_turn.sum(from, turn)),
        };
        let (text, _) = write(&header, state);
        Ok(self.keeper.write(&file.path(&self.session.dir), text.into_bytes())?)
    }

    fn scene(&mut self, scene: &Tree) -> Result<(), GameError> {
        let id = scene.string_at(&["sceneId"]).filter(|id| self.plan.scenes.contains(id));
        match id.and_then(|id| scene_file(self.session, &id)) {
            Some(path) => {
                Ok(self.keeper.write(&path, scene.to_text(&Style::PRETTY_RAW).into_bytes())?)
            }
            None => Ok(()),
        }
    }
}
