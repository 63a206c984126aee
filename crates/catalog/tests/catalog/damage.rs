//! Damages every file of the catalog in every way; the results stay the same.

use std::fs;
use std::path::{Path, PathBuf};

use everturn_catalog::SortOrder;

use crate::support::{World, later};

/// All files below a directory.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = (entry.as_ref().unwrap().path(), entry.unwrap().file_name());
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

/// A root whose index has several segments and deletions.
fn world() -> World {
    let world = World::new();
    let place = world.session("game", "tale", &["The dragon sleeps.", "The old tower falls."]);
    world.session("codelia", "one", &["Look at the dragon_scale", "日本語のテキスト"]);
    world.update();
    world.session("linggen", "sess-1", &["A dragon in a project"]);
    world.update();
    world.say("game", &place, "Another dragon comes.");
    world.session("chatlog", "chat", &["dragon", "tower"]);
    world.update();
    world
}

const QUERIES: [&str; 5] = ["dragon", "\"old tower\"", "日本", "tow*", "speaker:gm"];

fn answers(world: &World) -> Vec<Vec<String>> {
    let mut catalog = world.catalog();
    QUERIES.iter().map(|query| world.find_with(&mut catalog, query, SortOrder::Date)).collect()
}

#[test]
fn a_file_that_is_cut_flipped_emptied_or_gone_changes_no_answer() {
    let world = world();
    let expect = answers(&world);
    assert!(expect.iter().all(|found| !found.is_empty()), "{expect:?}");
    let good = world.place.path().join("good");
    copy(&world.cache(), &good);
    let names: Vec<PathBuf> =
        files(&good).iter().map(|file| file.strip_prefix(&good).unwrap().to_owned()).collect();
    assert!(names.len() > 20, "{names:?}");
    let mut damages = 0;
    for name in &names {
        let bytes = fs::read(good.join(name)).unwrap();
        let flipped = |at: usize| {
            let mut bytes = bytes.clone();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x10;
            }
            Some(bytes)
        };
        let ways = [
            None,
            Some(Vec::new()),
            Some(bytes[..bytes.len() / 2].to_vec()),
            Some(bytes[..bytes.len().saturating_sub(1)].to_vec()),
            flipped(0),
            flipped(bytes.len() / 3),
            flipped(bytes.len() / 2),
            flipped(bytes.len().saturating_sub(1)),
        ];
        for way in ways {
            fs::remove_dir_all(world.cache()).unwrap();
            copy(&good, &world.cache());
            match &way {
                Some(bytes) => fs::write(world.cache().join(name), bytes).unwrap(),
                None => fs::remove_file(world.cache().join(name)).unwrap(),
            }
            assert_eq!(answers(&world), expect, "{} as {way:?}", name.display());
            // The next update has nothing to repair.
            let updated = world.update();
            assert_eq!((updated.read, updated.rebuilt), (0, None), "{}", name.display());
            damages += 1;
        }
    }
    println!("damage suite: {damages} damages of {} files", names.len());
}

#[test]
fn what_is_damaged_is_said_and_mended_once() {
    let world = world();
    let postings = files(&world.cache().join("index"));
    let postings = postings.iter().find(|file| file.extension().is_some_and(|end| end == "idx"));
    let postings = postings.unwrap();
    let mut bytes = fs::read(postings).unwrap();
    bytes[10] ^= 1;
    fs::write(postings, bytes).unwrap();
    let (_, notes) = world.find("dragon");
    assert_eq!(notes, ["the index was damaged and is being rebuilt: checksum mismatch"]);
    let (_, notes) = world.find("dragon");
    assert_eq!(notes, Vec::<String>::new());
}

#[test]
fn an_index_with_other_fields_is_made_anew() {
    let world = world();
    let expect = answers(&world);
    let file = world.cache().join("index/meta.sealed");
    let bytes = fs::read(&file).unwrap();
    let text = std::str::from_utf8(&bytes[..bytes.len() - 8]).unwrap();
    let other = text.replace("\"parts\"", "\"pieces\"");
    assert_ne!(text, other);
    let sum = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, other.as_bytes());
    fs::write(&file, [other.as_bytes(), &sum.to_le_bytes()].concat()).unwrap();
    let (_, notes) = world.find("dragon");
    assert_eq!(
        notes,
        ["the index was damaged and is being rebuilt: it was created by another version"]
    );
    assert_eq!(answers(&world), expect);
}

#[test]
fn a_damaged_index_that_may_not_be_mended_is_passed_over() {
    let world = world();
    let expect = answers(&world);
    for file in files(&world.cache().join("index")) {
        fs::write(file, "garbage").unwrap();
    }
    // Without an update the sessions themselves are read, and existing files are left alone.
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, everturn_catalog::SummaryDetail::All, later());
    let query = everturn_catalog::Query::parse("dragon", crate::support::at(0)).unwrap();
    let found = catalog.search(&sources, &sessions, &query, (100, SortOrder::Date));
    assert_eq!(crate::support::shown(&sources, &sessions, &found), expect[0]);
    let notes = catalog.take_notes();
    assert!(
        notes[0].starts_with("the index cannot be used, so the sessions are searched directly"),
        "{notes:?}"
    );
}

#[test]
fn while_one_process_changes_the_index_others_ask_what_is_there() {
    let world = world();
    let (mut one, sources) = (world.catalog(), world.sources());
    let sessions = one.sessions(&sources, everturn_catalog::SummaryDetail::All, later());
    one.update(&sources, &sessions, later(), &mut |_| {});
    let (found, notes) = world.find("dragon");
    assert_eq!((found.len(), notes), (5, Vec::new()));
    assert!(world.update().is_busy);
    drop(one);
    assert!(!world.update().is_busy);
}
