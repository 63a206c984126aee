//! Random archives: reading them always terminates, within the limits.

use everturn_archive::{ArchiveLimits, Unpacker, check};
use proptest::prelude::*;

use crate::support::{Tar, gzip, header, path, read, top};

const LIMITS: ArchiveLimits = ArchiveLimits {
    archive: 1 << 16,
    total: 20_000,
    entries: 8,
    file: 2000,
    names: 60,
    ratio: 200,
};

fn entry() -> impl Strategy<Value = (String, u8, Vec<u8>, u64)> {
    let name = prop_oneof![4 => "top/[ab]{1,2}(/[ab])?", 1 => "[./a\\\\topé\u{0}]{0,12}"];
    let kind = prop_oneof![
        6 => Just(b'0'),
        3 => Just(b'5'),
        3 => prop::sample::select(b"LKxg".to_vec()),
        1 => any::<u8>(),
    ];
    let content = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..1500),
        1 => "top/[ab]{1,3}\u{0}?".prop_map(String::into_bytes),
        1 => "1[0-9] (path|size)=[top/0-9]{0,8}\n".prop_map(String::into_bytes),
        2 => Just(Vec::new()),
    ];
    let claim = prop_oneof![9 => Just(0), 1 => any::<u64>(), 1 => 0_u64..3000];
    (name, kind, content, claim)
}

/// An archive with a well-formed start.
fn archive() -> impl Strategy<Value = Vec<u8>> {
    let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let entries = prop::collection::vec(entry(), 0..7);
    (entries, flips, 0..6_u8).prop_map(|(entries, flips, damage)| {
        let mut tar = Tar::new();
        for (name, kind, content, claim) in entries {
            let len = content.len() as u64;
            let size = if claim == 0 { len } else { claim };
            tar = tar.with(&header(name.as_bytes(), kind, size), &content);
        }
        let flip = |bytes: &mut Vec<u8>| {
            for (at, byte) in &flips {
                let at = at.index(bytes.len().max(1));
                bytes.iter_mut().skip(at).take(1).for_each(|old| *old ^= byte);
            }
        };
        if damage == 1 {
            flip(&mut tar.0);
        }
        let mut archive = if damage == 2 { gzip(&tar.0) } else { tar.end() };
        if damage == 3 {
            flip(&mut archive);
        }
        archive
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn reading_an_archive_ends_within_the_limits(archive in archive()) {
        let mut total = 0;
        for file in Unpacker::new(archive.as_slice(), &top(), &LIMITS) {
            let Ok((file, content)) = file else { break };
            prop_assert!(file.is_within(&path("top")) && file != path("top"));
            prop_assert!(content.len() as u64 <= LIMITS.file);
            total += content.len() as u64;
        }
        prop_assert!(total <= LIMITS.total);
        if let Ok(contents) = read(&archive, &LIMITS) {
            let entries = contents.dirs.len() + contents.files.len();
            prop_assert!(entries as u64 <= LIMITS.entries);
            let names = contents.files.iter().map(|file| file.path.as_str().len()).sum::<usize>();
            prop_assert!(names as u64 <= LIMITS.names);
            prop_assert_eq!(contents.len(), total);
        }
    }

    #[test]
    fn any_bytes_are_an_archive_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        prop_assert!(check(bytes.as_slice(), &top(), &LIMITS).is_err());
        prop_assert!(check(gzip(&bytes).as_slice(), &top(), &LIMITS).is_err());
        let behind_header = [&[31, 139, 8, 0, 0, 0, 0, 0, 0, 255], bytes.as_slice()].concat();
        prop_assert!(check(behind_header.as_slice(), &top(), &LIMITS).is_err());
    }
}
