//! State files that were edited by hand become a turn, or nothing has happened.

use std::sync::Arc;

use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};
use everturn::game::{GameState, Session, adopt};
use everturn::store::{FileStore, LockOwner, Options, Store};

use super::damage::{SESSION, codes, edit, file, files, findings, good, open};
use super::support::{at, id};

fn state(disk: &SimDisk) -> GameState {
    Session::open(open(disk), &id(SESSION)).unwrap().resume().unwrap().state
}

/// A session whose files of the world and the player were edited by hand.
fn edited() -> SimDisk {
    let disk = good();
    edit(&disk, "world.state.json", |text| text.replacen('{', "{\n  \"moat\": {\"depth\": 3},", 1));
    edit(&disk, "player.state.json", |text| text.replacen('{', "{\n  \"bag\": [\"rope\"],", 1));
    disk
}

#[test]
fn edited_state_files_are_taken_over_in_one_commit_whatever_crashes() {
    let before = files(&edited());
    let turn = Session::open(open(&good()), &id(SESSION)).unwrap().turn();
    let (mut points, start) = (0, edited().changes());
    for point in start.. {
        let disk = edited();
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let holder = LockOwner { pid: 1, started: String::new() };
        let store = FileStore::open(Arc::new(disk.process()), Options::new(holder));
        let done =
            store.map(|store| adopt(&(Arc::new(store) as Arc<dyn Store>), &id(SESSION), at(1000)));
        if !disk.crashed() {
            assert_eq!(done.unwrap().unwrap().turn, turn + 1);
            let all = disk.contents().into_iter();
            let kept = all.filter(|(file, _)| file.as_str().contains("-adopt/"));
            let kept: Vec<Vec<u8>> = kept.map(|(_, bytes)| bytes).collect();
            for name in ["player.state.json", "world.state.json"] {
                assert!(kept.contains(&before[&file(name)]), "{name} as it was edited");
            }
            assert_eq!(kept.len(), 2);
            break;
        }
        points += 1;
        for (data, names) in [
            (DataSurvival::Lost, NameSurvival::Lost),
            (DataSurvival::Kept, NameSurvival::Kept),
            (DataSurvival::Prefix, NameSurvival::Prefix),
        ] {
            let disk = disk.fork();
            disk.power_cut(Survival { data, names });
            let store = open(&disk);
            let found = Session::open(Arc::clone(&store), &id(SESSION)).unwrap().turn();
            if found == turn {
                // Nothing has happened, and the edited files wait.
                assert_eq!(files(&disk), before, "crash at {point}, {data:?}");
                assert_eq!(adopt(&store, &id(SESSION), at(1001)).unwrap().turn, turn + 1);
            }
            let now = state(&disk);
            assert_eq!(now.world.text_at(&["moat", "depth"]).as_deref(), Some("3"));
            assert_eq!(now.player.text_at(&["bag", "0"]).as_deref(), Some("\"rope\""));
            assert_eq!(codes(&findings(&disk)), codes(&findings(&good())), "crash at {point}");
            // A second adoption would store the same edits again.
            assert!(adopt(&store, &id(SESSION), at(1002)).is_err(), "crash at {point}");
        }
    }
    assert!(points > 5, "{points}");
}
