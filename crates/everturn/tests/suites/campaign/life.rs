//! Campaigns that wait, are over, packed away, thrown away, and come back.

use std::sync::Arc;

use everturn::campaign::{
    CampaignError, CampaignStatus, CampaignWriter, NarratorOutput, NewCampaign, archive, create,
    fork, list, purge, restore, set_status, trash, trashed, unarchive,
};
use everturn::format::{self, Transition};
use everturn::game::ArchiveOptions;
use everturn::model::{NewMark, SessionRef};
use everturn::store::{Store, StoreError};

use crate::campaign::support::{at, exists, first, id, now, open, path, play, put, read, reader};
use crate::common::capabilities::KnownCapabilities;

fn played() -> Arc<dyn Store> {
    let (store, id) = first();
    let mut campaign = open(&store, &id);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    campaign.add_mark(&NewMark::bookmark("here"), now()).unwrap();
    campaign.release().unwrap();
    store
}

/// Every file of the campaign.
fn files(store: &Arc<dyn Store>) -> Vec<(String, String)> {
    let names = ["campaign.json", "turn_log.jsonl", "turn_deltas.jsonl", "everturn.marks.json"];
    let path = |name: &str| format!("campaigns/camp_0001/{name}");
    names.iter().map(|name| (path(name), read(store, &path(name)))).collect()
}

#[test]
fn a_campaign_that_rests_takes_no_turns() {
    let store = played();
    let id = id("camp_0001");
    let before = files(&store);
    for status in [CampaignStatus::Paused, CampaignStatus::Completed] {
        set_status(&store, &id, &status).unwrap();
        assert_eq!(reader(&store, &id).status().unwrap(), status);
        let refused = CampaignWriter::open(Arc::clone(&store), &id);
        assert!(matches!(refused, Err(CampaignError::NotActive { .. })));
        assert!(set_status(&store, &id, &status).is_err(), "it is so already");
    }
    set_status(&store, &id, &CampaignStatus::Active).unwrap();
    assert_eq!(files(&store), before);
    play(&mut open(&store, &id), NarratorOutput::text("Silence.")).unwrap();
}

#[test]
fn the_status_of_a_branch_keeps_its_lineage_and_is_not_inherited() {
    let store = played();
    let branch = fork(&store, &id("camp_0001"), 1, None).unwrap().id;
    let lineage = reader(&store, &branch).lineage().unwrap();
    set_status(&store, &branch, &CampaignStatus::Paused).unwrap();
    assert_eq!(reader(&store, &branch).lineage().unwrap(), lineage);
    let second = fork(&store, &branch, 1, None).unwrap().id;
    assert_eq!(reader(&store, &second).status().unwrap(), CampaignStatus::Active);
}

#[test]
fn a_status_that_cannot_be_read_is_an_error() {
    let store = played();
    put(&store, "campaigns/camp_0001/everturn.json", "{");
    let id = id("camp_0001");
    assert!(CampaignWriter::open(Arc::clone(&store), &id).is_err());
    assert!(set_status(&store, &id, &CampaignStatus::Paused).is_err());
    assert_eq!(read(&store, "campaigns/camp_0001/everturn.json"), "{");
    put(&store, "campaigns/camp_0001/everturn.json", "{\"status\": \"dormant\", \"own\": 1}");
    let dormant = CampaignStatus::Other("dormant".to_owned());
    assert_eq!(reader(&store, &id).status().unwrap(), dormant);
    set_status(&store, &id, &CampaignStatus::Active).unwrap();
    assert!(read(&store, "campaigns/camp_0001/everturn.json").contains("\"own\": 1"));
}

#[test]
fn a_campaign_comes_out_of_its_archive_as_it_was() {
    let store = played();
    let (id, how) = (id("camp_0001"), ArchiveOptions::default());
    let before = files(&store);
    let done = archive(&store, &id, &how, at(1), &mut |_| {}).unwrap();
    assert_eq!(done.file.as_str(), "archives/campaigns/camp_0001.tar.gz");
    assert!(list(&store).unwrap().is_empty());
    assert!(matches!(
        archive(&store, &id, &how, at(2), &mut |_| {}),
        Err(CampaignError::NoCampaign { .. })
    ));
    let next = create(&store, &NewCampaign::default(), now()).unwrap();
    assert_eq!(next.as_str(), "camp_0002", "an id that may come back is not given away");
    let new = NewCampaign { id: Some(id.clone()), ..NewCampaign::default() };
    assert!(matches!(create(&store, &new, now()), Err(CampaignError::Taken { .. })));
    unarchive(&store, &id, &how, at(3), &mut |_| {}).unwrap();
    assert_eq!(files(&store), before);
    assert!(!exists(&store, done.file.as_str()));
    assert!(matches!(
        unarchive(&store, &id, &how, at(4), &mut |_| {}),
        Err(CampaignError::Taken { .. })
    ));
}

#[test]
fn a_damaged_archive_leaves_everything_as_it_is() {
    let store = played();
    let (id, how) = (id("camp_0001"), ArchiveOptions::default());
    let done = archive(&store, &id, &how, at(1), &mut |_| {}).unwrap();
    put(&store, done.file.as_str(), "no archive");
    assert!(matches!(
        unarchive(&store, &id, &how, at(2), &mut |_| {}),
        Err(CampaignError::Archive(_))
    ));
    assert!(exists(&store, done.file.as_str()) && list(&store).unwrap().is_empty());
}

#[test]
fn what_is_thrown_away_comes_back_or_is_gone_for_good() {
    let store = played();
    let id = id("camp_0001");
    let before = files(&store);
    let gone = trash(&store, &id, at(1)).unwrap();
    assert_eq!(gone.name.to_string(), "20260114T160501Z-camp_0001");
    assert!(list(&store).unwrap().is_empty());
    assert!(matches!(trash(&store, &id, at(2)), Err(CampaignError::NoCampaign { .. })));
    restore(&store, &gone.name).unwrap();
    assert_eq!(files(&store), before);
    let gone = trash(&store, &id, at(3)).unwrap();
    let next = create(&store, &NewCampaign::default(), now()).unwrap();
    assert_eq!(next.as_str(), "camp_0002", "an id that may come back is not given away");
    let looked_at = trashed(&store).unwrap();
    assert_eq!(looked_at.len(), 1);
    let inside = format!(".everturn/trash/{}/campaigns/camp_0001/new.txt", gone.name);
    put(&store, &inside, "x");
    assert!(purge(&store, &looked_at).is_err(), "it has changed since");
    purge(&store, &trashed(&store).unwrap()).unwrap();
    assert!(trashed(&store).unwrap().is_empty());
    assert!(restore(&store, &gone.name).is_err());
}

#[test]
fn nobody_takes_a_campaign_away_while_it_is_played() {
    let store = played();
    let id = id("camp_0001");
    let campaign = open(&store, &id);
    let busy = |result: Result<(), CampaignError>| {
        assert!(matches!(result, Err(CampaignError::Store(StoreError::Busy { .. }))));
    };
    busy(trash(&store, &id, at(1)).map(drop));
    busy(set_status(&store, &id, &CampaignStatus::Paused));
    busy(archive(&store, &id, &ArchiveOptions::default(), at(1), &mut |_| {}).map(drop));
    campaign.release().unwrap();
}

#[test]
fn the_common_view_knows_every_stage() {
    let store = played();
    let layout = format::find("campaign").unwrap();
    let place = || -> SessionRef { layout.locate(&store).unwrap().sessions.remove(0) };
    let status = || layout.summary(&store, &place()).unwrap().status;
    let go = |stage: Transition| {
        layout.movable().transition(&store, &place(), stage, at(1), &mut |_| {}).unwrap()
    };
    for (stage, expect) in [
        (Transition::Pause, "paused"),
        (Transition::Resume, "active"),
        (Transition::Complete, "completed"),
        (Transition::Archive, "archived"),
        (Transition::Unarchive, "completed"),
        (Transition::Resume, "active"),
    ] {
        let staged = go(stage);
        assert_eq!((status().as_str(), staged.session), (expect, place()), "{stage:?}");
        if stage == Transition::Archive {
            assert!(layout.open(&store, &place()).is_ok());
            assert!(layout.editable().edit(&store, &place()).is_err());
        }
    }
    let gone = go(Transition::Trash).trashed.unwrap();
    assert!(layout.locate(&store).unwrap().sessions.is_empty());
    let names: Vec<String> =
        layout.movable().list_trash(&store).unwrap().into_iter().map(|item| item.name).collect();
    assert!(names.contains(&gone), "{names:?}");
    assert_eq!(layout.movable().restore(&store, &gone).unwrap().path, path("campaigns/camp_0001"));
    assert_eq!(status().as_str(), "active");
    let rest = layout.movable().list_trash(&store).unwrap();
    layout.movable().purge(&store, &rest).unwrap();
    assert!(layout.movable().list_trash(&store).unwrap().is_empty());
}
