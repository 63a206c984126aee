//! Truncated archives, and archives with trailing data.

use everturn_archive::{ArchiveError, ArchiveLimits, check};

use crate::support::{Tar, damaged, gzip, header, read, top};

fn good() -> Tar {
    let noise: Vec<u8> =
        (0..5000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
    Tar::new().dir("top/").file("top/noise", &noise).file("top/last", b"x")
}

#[test]
fn an_archive_that_is_cut_anywhere_is_damaged() {
    let archive = good().end();
    for end in 0..archive.len() {
        let cut = check(&archive[..end], &top(), &ArchiveLimits::default());
        assert!(matches!(cut, Err(ArchiveError::Damaged { .. })), "cut at {end}: {cut:?}");
    }
    read(&archive, &ArchiveLimits::default()).unwrap();
}

#[test]
fn a_flipped_bit_is_noticed_or_changes_nothing() {
    let (archive, limits) = (good().end(), ArchiveLimits::default());
    let whole = read(&archive, &limits).unwrap();
    let mut noticed = 0;
    for at in 0..archive.len() * 8 {
        let mut archive = archive.clone();
        archive[at / 8] ^= 1 << (at % 8);
        match check(archive.as_slice(), &top(), &limits) {
            // The time in the header is meaningless, and zeros can be copied from different positions.
            Ok(contents) => assert!(contents == whole, "bit {at}"),
            Err(_) => noticed += 1,
        }
    }
    assert!(noticed >= (archive.len() - 8) * 8, "{noticed} of {} bits", archive.len() * 8);
}

#[test]
fn a_stream_that_is_cut_before_it_was_compressed_is_damaged() {
    let whole = good().0;
    for end in (0..whole.len()).step_by(256) {
        damaged(&gzip(&whole[..end]), "unexpected end");
    }
    // The end marker is two blocks, of which other programs sometimes write one.
    damaged(&gzip(&whole), "unexpected end");
    read(&gzip(&[&whole[..], &[0; 512]].concat()), &ArchiveLimits::default()).unwrap();
    damaged(&gzip(&[&whole[..], &[0; 511]].concat()), "unexpected end");
}

#[test]
fn nothing_follows_the_end() {
    let follows = "trailing data";
    for behind in [&b"x"[..], b"\0", &gzip(b""), &good().end()] {
        damaged(&[&good().end(), behind].concat(), follows);
    }
    let hidden = good().with(&header(b"", b'0', 0), b"");
    let mut stream = [&good().0[..], &[0; 1024]].concat();
    read(&gzip(&[&stream[..], &[0; 20480]].concat()), &ArchiveLimits::default()).unwrap();
    stream.extend_from_slice(&hidden.0);
    damaged(&gzip(&stream), follows);
    damaged(&gzip(&[&good().0[..], &[0; 1024], b"x"].concat()), follows);
}

#[test]
fn what_is_no_archive_is_damaged() {
    damaged(b"", "unexpected end");
    damaged(b"PK\x03\x04 not at all a gzip stream", "the compressed data is corrupt");
    damaged(&gzip(b""), "unexpected end");
    damaged(&gzip(&[b'x'; 2048]), "invalid entry header");
    damaged(&Tar::new().end(), "the archive is empty");
    damaged(&Tar::new().dir("./").end(), "the archive is empty");
    damaged(
        &good().entry("l", b'L', b"top/a\0").end(),
        "an extended header is not followed by an entry",
    );
    damaged(&good().pax(b'x', &[]).end(), "an extended header is not followed by an entry");
}

#[test]
fn a_bad_checksum_or_size_in_a_header_is_damage() {
    let mut sum = header(b"top/f", b'0', 0);
    sum.as_old_mut().name[4] = b'g';
    damaged(&good().with(&sum, b"").end(), "invalid entry header");
    let mut size = header(b"top/f", b'0', 0);
    size.as_old_mut().size = *b"not a number";
    size.set_cksum();
    damaged(&good().with(&size, b"").end(), "invalid entry size");
    let longer = header(b"top/f", b'0', 4096);
    damaged(&good().with(&longer, b"short").end(), "unexpected end");
}
