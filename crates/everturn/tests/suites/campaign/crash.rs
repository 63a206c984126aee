//! Crash everywhere: a campaign is played and cut at every change of the disk. Whatever is left, state and log
//! agree, and what was acknowledged is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everturn::campaign::{
    Campaign, CampaignError, CampaignStatus, CampaignWriter, NarratorOutput, NewCampaign,
    RecordedNarrator, Submission, archive, create, fork, list, purge, repair, restore, set_status,
    trash, trashed, unarchive, undo_repair,
};
use everturn::disk::sim::SimDisk;
use everturn::format::SessionError;
use everturn::game::ArchiveOptions;
use everturn::model::NewMark;
use everturn::names::{FilePath, SessionId};
use everturn::store::{
    Durability, FileMode, FileStore, LockOwner, MemoryStore, Options, Precondition, Step, Store,
};
use serde_json::json;

use crate::campaign::crashes::{crash_everywhere, fail_everywhere};
use crate::campaign::support::{answer, at, id, open, play, step};

type Files = BTreeMap<FilePath, Vec<u8>>;
type Op = fn(&Arc<dyn Store>) -> Result<(), SessionError>;

fn on(store: &Arc<dyn Store>) -> Result<CampaignWriter, CampaignError> {
    CampaignWriter::open(Arc::clone(store), &id("camp_0001"))
}

fn turn(store: &Arc<dyn Store>, output: NarratorOutput) -> Result<(), SessionError> {
    let mut campaign = on(store)?;
    campaign.submit(&Submission::new("on"), &mut RecordedNarrator::new([output]), at(1))?;
    Ok(campaign.release()?)
}

fn checkpoints(store: &Arc<dyn Store>, count: u64) -> Result<(), SessionError> {
    let mut campaign = on(store)?;
    campaign.patch_settings(&[("rollback.max_checkpoints".to_owned(), json!(count))])?;
    Ok(campaign.release()?)
}

/// Everything that changes a campaign. Each of these changes all directories in one commit.
const OPS: &[Op] = &[
    |store| Ok(create(store, &NewCampaign::default(), at(0)).map(drop)?),
    |store| turn(store, answer("", &[step("area_001", "area_002")])),
    |store| checkpoints(store, 2),
    |store| turn(store, NarratorOutput::text("Silence.")),
    |store| turn(store, answer("", &[("map_generate", json!({"parent_area_id": "area_002"}))])),
    |store| {
        let mut campaign = on(store)?;
        campaign.select_actor("pc_002")?;
        Ok(campaign.release()?)
    },
    |store| {
        let mut campaign = on(store)?;
        let hurt = json!({"target_character_id": "pc_001", "delta": -12, "cause": "x"});
        let mut narrator = RecordedNarrator::new([answer("", &[("hp_delta", hurt)])]);
        campaign.submit(&Submission::new("on"), &mut narrator, at(2))?;
        Ok(campaign.release()?)
    },
    |store| {
        let mut campaign = on(store)?;
        campaign.undo(2, at(3))?;
        Ok(campaign.release()?)
    },
    |store| {
        let mut campaign = on(store)?;
        campaign.redo(1, at(3))?;
        Ok(campaign.release()?)
    },
    |store| {
        let mut campaign = on(store)?;
        let mut narrator = RecordedNarrator::new([NarratorOutput::text("Silence.")]);
        campaign.retell(Some("wait"), 0, &mut narrator, at(3))?;
        Ok(campaign.release()?)
    },
    |store| {
        let mut campaign = on(store)?;
        campaign.choose_version(1, at(3))?;
        Ok(campaign.release()?)
    },
    |store| {
        let mut campaign = on(store)?;
        campaign.rewind(3)?;
        Ok(campaign.release()?)
    },
    |store| turn(store, answer("", &[step("area_002", "area_001")])),
    |store| Ok(fork(store, &id("camp_0001"), 2, None).map(drop)?),
    |store| mark(store, "gate"),
    |store| checkpoints(store, 0),
    |store| turn(store, NarratorOutput::text("Silence.")),
    |store| {
        let mut campaign = on(store)?;
        campaign.rewind(0)?;
        Ok(campaign.release()?)
    },
    |store| turn(store, answer("", &[step("area_001", "area_002")])),
    |store| Ok(repair(store, &id("camp_0001"), at(4)).map(drop)?),
    |store| {
        let mut campaign = on(store)?;
        campaign.upgrade()?;
        Ok(campaign.release()?)
    },
    |store| turn(store, answer("", &[("inventory_add", json!({"item_id": "lamp"}))])),
    |store| mark(store, "stairs"),
    |store| {
        let mut campaign = on(store)?;
        campaign.remove_mark("mark-1", at(5))?;
        Ok(campaign.release()?)
    },
    |store| Ok(set_status(store, &id("camp_0001"), &CampaignStatus::Paused)?),
    |store| Ok(set_status(store, &id("camp_0001"), &CampaignStatus::Active)?),
    |store| Ok(archive(store, &id("camp_0001"), &HOW(), at(5), &mut |_| {}).map(drop)?),
    |store| Ok(unarchive(store, &id("camp_0001"), &HOW(), at(6), &mut |_| {}).map(drop)?),
    |store| Ok(trash(store, &id("camp_0001"), at(7)).map(drop)?),
    |store| {
        let last = trashed(store)?.pop().unwrap().0;
        Ok(restore(store, &last.name).map(drop)?)
    },
    |store| Ok(purge(store, &trashed(store)?)?),
    // From here on the campaign is damaged at times.
    |store| damage(store),
    |store| Ok(repair(store, &id("camp_0001"), at(8)).map(drop)?),
    |store| Ok(undo_repair(store, &id("camp_0001"), at(9)).map(drop)?),
    |store| Ok(repair(store, &id("camp_0001"), at(10)).map(drop)?),
];

/// How many of the last operations find or leave a damaged campaign.
const DAMAGED: usize = 4;

const HOW: fn() -> ArchiveOptions = ArchiveOptions::default;

fn mark(store: &Arc<dyn Store>, name: &str) -> Result<(), SessionError> {
    let mut campaign = on(store)?;
    campaign.add_mark(&NewMark::bookmark(name), at(4))?;
    Ok(campaign.release()?)
}

/// Somebody else breaks the document and the log.
fn damage(store: &Arc<dyn Store>) -> Result<(), SessionError> {
    let dir = FilePath::parse("campaigns/camp_0001").unwrap();
    let writer = store.lock(&[dir])?;
    let put = |name: &str, text: &str| Step::Replace {
        file: FilePath::parse(&format!("campaigns/camp_0001/{name}")).unwrap(),
        expect: Precondition::Anything,
        bytes: text.as_bytes().to_vec(),
        mode: FileMode::Default,
    };
    let steps = vec![put("campaign.json", "{\"id\": "), put("everturn.json", "{}")];
    writer.commit(steps, Durability::Synced)?;
    Ok(writer.release()?)
}

/// The files before all operations, and after each of them.
fn states() -> Vec<Files> {
    let store = MemoryStore::default();
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let mut all = vec![Files::new()];
    for op in OPS {
        op(&shared).unwrap();
        all.push(store.contents());
    }
    all
}

fn open_store(disk: &SimDisk) -> Arc<dyn Store> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) };
    Arc::new(FileStore::open(Arc::new(disk.process()), options).unwrap())
}

/// The files in each campaign's directory, and those that were put aside.
fn by_campaign(files: &Files) -> BTreeMap<String, Files> {
    let mut all: BTreeMap<String, Files> = BTreeMap::new();
    for (file, bytes) in files {
        let mut names = file.as_str().split('/');
        let place = match (names.next(), names.next()) {
            (Some("campaigns"), Some(campaign)) => campaign,
            (Some("archives"), _) | (Some(".everturn"), Some("trash")) => "aside",
            _ => continue,
        };
        all.entry(place.to_owned()).or_default().insert(file.clone(), bytes.clone());
    }
    all
}

/// Plays until the disk crashes; tells how many operations were acknowledged.
fn play_until(disk: &SimDisk) -> usize {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) };
    let Ok(store) = FileStore::open(Arc::new(disk.process()), options) else { return 0 };
    let store: Arc<dyn Store> = Arc::new(store);
    OPS.iter().take_while(|op| op(&store).is_ok()).count()
}

fn verify(disk: &SimDisk, before: &Files, after: &Files, sound: bool) -> Result<(), String> {
    let store = open_store(disk);
    let found = by_campaign(&disk.contents());
    let (before, after) = (by_campaign(before), by_campaign(after));
    let names: BTreeSet<&String> = found.keys().chain(before.keys()).collect();
    for name in names {
        let here = found.get(name);
        let later = here == after.get(name);
        if !later && here != before.get(name) {
            return Err(format!("{name} is neither as before nor as after"));
        }
    }
    // A rewind is one commit: the branch is there if and only if the campaign is cut.
    if found != before && found != after {
        let ids: Vec<&String> = found.keys().collect();
        return Err(format!("only a part of the operation is done: {ids:?}"));
    }
    if !sound {
        return Ok(());
    }
    for id in list(&store).map_err(|error| error.to_string())? {
        let campaign =
            Campaign::open(Arc::clone(&store), &id).map_err(|error| error.to_string())?;
        let findings = campaign.check().map_err(|error| error.to_string())?;
        if !findings.is_empty() {
            return Err(format!("{id}: {findings:?}"));
        }
    }
    let rests = |id: &SessionId| {
        let campaign = Campaign::open(Arc::clone(&store), id);
        campaign
            .is_ok_and(|campaign| campaign.status().is_ok_and(|is| is != CampaignStatus::Active))
    };
    if found.contains_key("camp_0001") && !rests(&id("camp_0001")) {
        let mut campaign = open(&store, &id("camp_0001"));
        let turn = campaign.turn();
        play(&mut campaign, NarratorOutput::text("Silence.")).map_err(|error| error.to_string())?;
        let findings = campaign.campaign().check().map_err(|error| error.to_string())?;
        if campaign.turn() != turn + 1 || !findings.is_empty() {
            return Err(format!("after one more turn: {findings:?}"));
        }
    }
    Ok(())
}

#[test]
fn state_and_log_agree_after_every_crash() {
    let states = states();
    crash_everywhere("campaigns", OPS.len(), 200, play_until, |disk, done, _| {
        let (before, after) = (&states[done], &states[(done + 1).min(OPS.len())]);
        verify(disk, before, after, done + DAMAGED < OPS.len())
    });
}

#[test]
fn every_failure_of_the_disk_leaves_a_campaign_whole() {
    let states = states();
    fail_everywhere("campaigns", OPS.len(), 200, 7, play_until, |disk, done| {
        let (before, after) = (&states[done], &states[(done + 1).min(OPS.len())]);
        let sound = done + DAMAGED < OPS.len() || done == OPS.len();
        verify(disk, before, after, sound)
    });
}
