//! Decompression bombs, and all other limits.

use everturn_archive::{ArchiveError, ArchiveLimits, EntryRefusal, LimitKind};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

use crate::support::{Tar, header, read, refused};

#[track_caller]
fn too_much(archive: &[u8], limits: &ArchiveLimits, expect: LimitKind) {
    match read(archive, limits) {
        Err(ArchiveError::LimitExceeded { excess, .. }) => assert_eq!(excess, expect),
        other => panic!("{other:?} instead of {expect:?}"),
    }
}

/// Three files and a directory; 512 + 3 * 1024 + 1024 bytes, and 19 in their names.
fn small() -> Vec<u8> {
    Tar::new().dir("top/").file("top/1", b"1").file("top/2", b"22").file("top/3", b"333").end()
}

#[test]
fn limits_are_kept_to_the_byte() {
    let (archive, limits) = (small(), ArchiveLimits::default());
    let len = archive.len() as u64;
    read(
        &archive,
        &ArchiveLimits { total: 4608, entries: 4, names: 18, file: 3, archive: len, ratio: 200 },
    )
    .unwrap();
    too_much(&archive, &ArchiveLimits { total: 4607, ..limits }, LimitKind::TotalBytes);
    too_much(&archive, &ArchiveLimits { entries: 3, ..limits }, LimitKind::Entries);
    too_much(&archive, &ArchiveLimits { names: 17, ..limits }, LimitKind::NameBytes);
    too_much(&archive, &ArchiveLimits { archive: len / 2, ..limits }, LimitKind::ArchiveBytes);
    match read(&archive, &ArchiveLimits { file: 2, ..limits }) {
        Err(ArchiveError::Refused { name, refusal: EntryRefusal::TooLarge { most: 2 } }) => {
            assert_eq!(name, "top/3");
        }
        other => panic!("{other:?}"),
    }
}

/// A file of zeros, with the best possible compression.
fn zeros(len: u64) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(header(b"top/zeros", b'0', len).as_bytes()).unwrap();
    let block = vec![0; 1 << 20];
    let mut left = len.next_multiple_of(512) + 1024;
    while left > 0 {
        let size = left.min(block.len() as u64);
        gzip.write_all(&block[..usize::try_from(size).unwrap()]).unwrap();
        left -= size;
    }
    gzip.finish().unwrap()
}

#[test]
fn a_bomb_is_noticed_by_its_ratio() {
    let limits = ArchiveLimits::default();
    too_much(&zeros(11 << 20), &limits, LimitKind::Ratio);
    too_much(&zeros(200 << 20), &limits, LimitKind::Ratio);
    read(&zeros(9 << 20), &limits).unwrap();
    read(&zeros(11 << 20), &ArchiveLimits { ratio: 1100, ..limits }).unwrap();
}

#[test]
fn zeros_behind_the_end_can_be_a_bomb_too() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&Tar::new().file("top/x", b"x").0).unwrap();
    gzip.write_all(&vec![0; 12 << 20]).unwrap();
    too_much(&gzip.finish().unwrap(), &ArchiveLimits::default(), LimitKind::Ratio);
}

#[test]
fn many_small_entries_are_counted() {
    let mut tar = Tar::new();
    for number in 0..50 {
        tar = tar.file(&format!("top/{number}"), b"").pax(b'g', &[("comment", "x")]);
    }
    let archive = tar.end();
    read(&archive, &ArchiveLimits { entries: 100, ..ArchiveLimits::default() }).unwrap();
    too_much(
        &archive,
        &ArchiveLimits { entries: 99, ..ArchiveLimits::default() },
        LimitKind::Entries,
    );
}

#[test]
fn a_size_that_is_only_claimed_is_refused_or_found_missing() {
    let claim = |size| Tar::new().with(&header(b"top/f", b'0', size), b"").end();
    let large = |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::TooLarge { .. });
    refused(&claim((256 << 20) + 1), "top/f", large);
    refused(&claim(8_589_934_591), "top/f", large);
    assert!(matches!(
        read(&claim(256 << 20), &ArchiveLimits::default()),
        Err(ArchiveError::Damaged { .. })
    ));
    for kind in [b'L', b'K', b'x', b'g'] {
        let archive = Tar::new().with(&header(b"ext", kind, (1 << 20) + 1), b"").end();
        refused(&archive, "ext", |refusal| *refusal == EntryRefusal::TooLarge { most: 1 << 20 });
    }
}
