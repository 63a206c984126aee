//! Two processes at one campaign: every turn is applied once, or refused as busy.

use std::collections::BTreeSet;
use std::sync::Arc;

use everturn::campaign::{
    Campaign, CampaignError, CampaignWriter, NewCampaign, RecordedNarrator, Submission, create,
};
use everturn::disk::sim::SimDisk;
use everturn::names::SessionId;
use everturn::store::{FileStore, LockOwner, Options, Store, StoreError};

use crate::campaign::support::{answer, at, now, step};

const TURNS: usize = 200;

fn store(disk: &SimDisk, pid: u32) -> Arc<dyn Store> {
    let owner = LockOwner { pid, started: "2026-01-01T00:00:00Z".to_owned() };
    Arc::new(FileStore::open(Arc::new(disk.process()), Options::new(owner)).unwrap())
}

/// Goes to the other area, wherever the actor is.
fn turn(store: &Arc<dyn Store>, id: &SessionId, input: &str) -> Result<(), CampaignError> {
    let mut campaign = CampaignWriter::open(Arc::clone(store), id)?;
    let here = campaign.state()?.string_at(&["positions", "pc_001"]).unwrap();
    let there = if here == "area_001" { "area_002" } else { "area_001" };
    let mut narrator = RecordedNarrator::new([answer("", &[step(&here, there)])]);
    campaign.submit(&Submission::new(input), &mut narrator, at(1))?;
    campaign.release()
}

/// Plays so many turns, each until it is applied; tells which, and how often the campaign was busy.
fn player(disk: &SimDisk, id: &SessionId, pid: u32) -> (Vec<String>, usize) {
    let store = store(disk, pid);
    let (mut applied, mut busy) = (Vec::new(), 0);
    while applied.len() < TURNS {
        let input = format!("player {pid}, turn {}", applied.len());
        match turn(&store, id, &input) {
            Ok(()) => applied.push(input),
            Err(CampaignError::Store(StoreError::Busy { .. })) => {
                busy += 1;
                std::thread::yield_now();
            }
            Err(error) => panic!("{input}: {error}"),
        }
    }
    (applied, busy)
}

#[test]
fn two_processes_never_lose_or_double_a_turn() {
    let disk = SimDisk::new();
    let first = store(&disk, 1);
    let id = create(&first, &NewCampaign::default(), now()).unwrap();
    drop(first);
    let played: Vec<(Vec<String>, usize)> = std::thread::scope(|scope| {
        let players: Vec<_> = [2, 3]
            .map(|pid| {
                scope.spawn({
                    let (disk, id) = (&disk, &id);
                    move || player(disk, id, pid)
                })
            })
            .into();
        players.into_iter().map(|player| player.join().unwrap()).collect()
    });
    let busy: usize = played.iter().map(|(_, busy)| busy).sum();
    let applied: Vec<String> = played.into_iter().flat_map(|(applied, _)| applied).collect();
    let campaign = Campaign::open(store(&disk, 4), &id).unwrap();
    let rows: Vec<_> = campaign.rows().unwrap().map(Result::unwrap).collect();
    let inputs: Vec<String> =
        rows.iter().map(|row| row.row.string_at(&["user_input"]).unwrap()).collect();
    assert_eq!(inputs.len(), applied.len());
    assert_eq!(inputs.iter().collect::<BTreeSet<_>>(), applied.iter().collect::<BTreeSet<_>>());
    let turns: Vec<u64> = rows.iter().map(|row| row.turn).collect();
    assert_eq!(turns, (1..=applied.len() as u64).collect::<Vec<_>>());
    assert_eq!(campaign.check().unwrap(), []);
    println!("campaigns: {} turns applied, {busy} times refused as busy", applied.len());
}
