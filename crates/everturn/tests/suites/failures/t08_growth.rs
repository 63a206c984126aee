//! T8: sessions that are resumed again and again grow by what is new, and by nothing else.

use everturn::disk::sim::SimDisk;
use everturn::store::OWN_DIR;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::kinds::{ALL, Kind, open};
use crate::failures::support::path;

fn size(disk: &SimDisk) -> usize {
    let own = path(OWN_DIR);
    let files = disk.contents().into_iter().filter(|(file, _)| !file.is_within(&own));
    files.map(|(_, bytes)| bytes.len()).sum()
}

/// Resumes, says something, and gives the session back.
fn cycle(kind: &Kind, disk: &SimDisk, turn: usize) {
    let store = open(disk).unwrap();
    kind.say(&store, &format!("Turn {turn:04}.")).unwrap();
}

#[test]
fn t08_two_hundred_resumes_grow_a_session_by_its_new_turns_only() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        kind.create(&open(&disk).unwrap()).unwrap();
        let mut sizes = vec![size(&disk)];
        for turn in 1..=200 {
            cycle(kind, &disk, turn);
            sizes.push(size(&disk));
        }
        let (first, second) = (sizes[100] - sizes[0], sizes[200] - sizes[100]);
        assert!(second * 2 <= first * 3, "{}: {first}, then {second} bytes", kind.layout);
        // Going on without saying anything adds nothing.
        let before = size(&disk);
        for _ in 0..20 {
            let store = open(&disk).unwrap();
            let place = kind.place(&store).unwrap();
            kind.layout().editable().edit(&store, &place).unwrap().release().unwrap();
        }
        assert!(size(&disk) <= before, "{}: {before}, then {}", kind.layout, size(&disk));
        let told = kind.told(&open(&disk).unwrap(), &kind.place(&open(&disk).unwrap()).unwrap());
        let expect: Vec<usize> = (1..=200).collect();
        assert_eq!(crate::failures::support::numbers(&told.unwrap()), expect, "{}", kind.layout);
    }
}
