//! The real program at the same campaign: what it writes is never lost, and never overwritten.

use std::sync::Arc;

use everturn::campaign::{
    CampaignError, CampaignWriter, Narrator, NarratorError, NarratorOutput, NarratorRequest,
    NewCampaign, Submission, create,
};
use everturn::disk::sim::SimDisk;
use everturn::names::SessionId;
use everturn::store::{FileStore, LockOwner, Options, Store, StoreError};

use crate::campaign::support::{answer, now, path, play, step, value};

const FILE: &str = "campaigns/camp_0001/campaign.json";
const LOG: &str = "campaigns/camp_0001/turn_log.jsonl";

fn campaign(disk: &SimDisk) -> (CampaignWriter, SessionId) {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let store = FileStore::open(Arc::new(disk.process()), Options::new(owner)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let id = create(&store, &NewCampaign::default(), now()).unwrap();
    (CampaignWriter::open(store, &id).unwrap(), id)
}

fn text(disk: &SimDisk, file: &str) -> String {
    String::from_utf8(disk.contents()[&path(file)].clone()).unwrap()
}

/// Replaces the document, as the program does when it has changed something.
fn hurt(disk: &SimDisk) {
    disk.put_file(
        &path(FILE),
        text(disk, FILE).replace("\"pc_002\": 10", "\"pc_002\": 4").as_bytes(),
    );
}

/// Appends a row.
fn append(disk: &SimDisk, row: &str) {
    disk.put_file(&path(LOG), format!("{}{row}\n", text(disk, LOG)).as_bytes());
}

#[test]
fn a_turn_goes_on_from_what_the_program_left() {
    let disk = SimDisk::new();
    let (mut campaign, _) = campaign(&disk);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    hurt(&disk);
    append(&disk, r#"{"turn_id": "turn_0002"}"#);
    let row = play(&mut campaign, answer("", &[step("area_001", "area_002")])).unwrap().row;
    let row = value(&row);
    assert_eq!(row["turn_id"], "turn_0003");
    assert_eq!(row["state_summary"]["hp"]["pc_002"], 4);
    assert_eq!(text(&disk, LOG).lines().count(), 3);
    assert!(text(&disk, FILE).contains("\"pc_002\": 4"));
}

/// A narrator during whose answer the program writes.
struct Slow<'a>(&'a dyn Fn());

impl Narrator for Slow<'_> {
    fn narrate(&mut self, _request: &NarratorRequest<'_>) -> Result<NarratorOutput, NarratorError> {
        (self.0)();
        Ok(answer("", &[step("area_001", "area_002")]))
    }
}

#[test]
fn a_turn_is_refused_if_the_program_wrote_meanwhile() {
    let disk = SimDisk::new();
    let (mut campaign, _) = campaign(&disk);
    play(&mut campaign, NarratorOutput::text("Silence.")).unwrap();
    let changes: [&dyn Fn(); 2] =
        [&|| hurt(&disk), &|| append(&disk, r#"{"turn_id": "turn_0002"}"#)];
    for change in changes {
        let result = campaign.submit(&Submission::new("x"), &mut Slow(change), now());
        let error = result.unwrap_err();
        let noticed = matches!(
            error,
            CampaignError::Store(StoreError::Changed { .. } | StoreError::Moved { .. })
        );
        assert!(noticed, "{error}");
    }
    // Nothing of the two turns is there, and all that the program wrote is.
    assert!(!text(&disk, LOG).contains("move"));
    assert!(text(&disk, FILE).contains("\"pc_002\": 4"));
    let row = value(&play(&mut campaign, NarratorOutput::text("Silence.")).unwrap().row);
    assert_eq!(row["turn_id"], "turn_0003");
    assert_eq!(row["state_summary"]["positions"]["pc_001"], "area_001");
}
