//! Archives that must not be unpacked, one for each kind of attack.

use everturn_archive::{ArchiveLimits, EntryRefusal};
use everturn_json::names::NameError;

use crate::support::{Tar, damaged, header, read, refused, top};

/// An archive with harmless files before and after the entry.
fn around(entry: impl FnOnce(Tar) -> Tar) -> Vec<u8> {
    let before = Tar::new().dir("top/").file("top/before", b"x");
    entry(before).file("top/after", b"x").end()
}

#[test]
fn a_harmless_archive_is_let_in() {
    let archive = around(|tar| tar.file("top/file", b"content"));
    let contents = read(&archive, &ArchiveLimits::default()).unwrap();
    let paths: Vec<&str> = contents.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["top/after", "top/before", "top/file"]);
    assert_eq!(contents.len(), 9);
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let absolute =
        |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::Name(NameError::Absolute { .. }));
    for name in ["/etc/passwd", "/top/file", "//top/file", ".//top/file"] {
        refused(&around(|tar| tar.file(name, b"x")), name, absolute);
    }
    refused(&around(|tar| tar.dir("/")), "/", absolute);
    let climbs =
        |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::Name(NameError::Climbs { .. }));
    for name in ["../x", "top/../../x", "top/..", "top/a/../b", "./../x", "top/./x", "..", "."] {
        refused(&around(|tar| tar.file(name, b"x")), name, climbs);
    }
    for name in ["../", "top/../", ".."] {
        refused(&around(|tar| tar.dir(name)), name, climbs);
    }
}

#[test]
fn names_that_cannot_be_used_are_refused() {
    let bad = |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::Name(_));
    for name in ["", "top//x", "top/x/", "top/a\\b", "..\\x", "top/nul", "top/CON.json", "top/a\nb"]
    {
        refused(&around(|tar| tar.file(name, b"x")), name, bad);
    }
    refused(&around(|tar| tar.dir("")), "", bad);
    refused(&around(|tar| tar.dir("top/sub//")), "top/sub//", bad);
    let latin = header(b"top/caf\xe9", b'0', 0);
    refused(&around(|tar| tar.with(&latin, b"")), "top/caf\u{fffd}", |refusal| {
        matches!(refusal, EntryRefusal::Name(NameError::NotUtf8 { .. }))
    });
}

#[test]
fn names_that_are_too_long_are_refused() {
    let long =
        |refusal: &EntryRefusal| matches!(refusal, EntryRefusal::Name(NameError::TooLong { .. }));
    for name in [format!("top/{}", "x".repeat(256)), format!("top/{}", "y/".repeat(1600))] {
        let gnu = format!("{name}\0");
        let archive = around(|tar| tar.entry("l", b'L', gnu.as_bytes()).file("top/f", b"x"));
        refused(&archive, &name[..200], long);
        let archive = around(|tar| tar.pax(b'x', &[("path", &name)]).file("top/f", b"x"));
        refused(&archive, &name[..200], long);
    }
    let good = format!("top/{}", "x".repeat(255));
    let archive = around(|tar| tar.pax(b'x', &[("path", &good)]).file("top/f", b"x"));
    assert_eq!(read(&archive, &ArchiveLimits::default()).unwrap().files[2].path.as_str(), good);
}

#[test]
fn long_names_are_checked_like_short_ones() {
    let archive = around(|tar| tar.entry("l", b'L', b"../../x\0").file("top/f", b"x"));
    refused(&archive, "../../x", |refusal| matches!(refusal, EntryRefusal::Name(_)));
    let archive = around(|tar| tar.pax(b'x', &[("path", "/x")]).file("top/f", b"x"));
    refused(&archive, "/x", |refusal| matches!(refusal, EntryRefusal::Name(_)));
    let archive = around(|tar| tar.entry("l", b'L', b"top/a\0b\0").file("top/f", b"x"));
    refused(&archive, "top/a\0b", |refusal| matches!(refusal, EntryRefusal::Name(_)));
}

#[test]
fn whatever_is_neither_file_nor_directory_is_refused() {
    for (kind, expect) in [
        (b'1', EntryRefusal::Link),
        (b'2', EntryRefusal::Link),
        (b'3', EntryRefusal::Special),
        (b'4', EntryRefusal::Special),
        (b'6', EntryRefusal::Special),
        (b'7', EntryRefusal::Special),
        (b'S', EntryRefusal::Sparse),
        (b'D', EntryRefusal::Special),
        (b'V', EntryRefusal::Special),
        (b'?', EntryRefusal::Special),
    ] {
        let mut odd = header(b"top/odd", kind, 0);
        odd.as_old_mut().linkname[..6].copy_from_slice(b"target");
        odd.set_cksum();
        refused(&around(|tar| tar.with(&odd, b"")), "top/odd", |refusal| *refusal == expect);
        let archive = around(|tar| tar.entry("l", b'K', b"target\0").with(&odd, b""));
        refused(&archive, "top/odd", |refusal| *refusal == expect);
    }
    let sparse = [("GNU.sparse.major", "1"), ("GNU.sparse.name", "../x")];
    let archive = around(|tar| tar.pax(b'x', &sparse).file("top/f", b"x"));
    refused(&archive, "top/f", |refusal| *refusal == EntryRefusal::Sparse);
}

#[test]
fn a_name_is_there_once() {
    for (name, again) in [("top/x", "top/x"), ("top/x", "./top/x"), ("top/x/y", "top/x/y")] {
        let archive = around(|tar| tar.file(name, b"1").file(again, b"2"));
        refused(&archive, again, |refusal| *refusal == EntryRefusal::Twice);
    }
    refused(&around(|tar| tar.dir("top")), "top", |refusal| *refusal == EntryRefusal::Twice);
}

#[test]
fn nothing_is_both_a_file_and_a_directory() {
    let both = |refusal: &EntryRefusal| *refusal == EntryRefusal::FileAndDirectory;
    refused(&around(|tar| tar.file("top/before/x", b"x")), "top/before/x", both);
    refused(&around(|tar| tar.file("top/before/x/y", b"x")), "top/before/x/y", both);
    refused(&around(|tar| tar.dir("top/before/")), "top/before/", both);
    refused(&around(|tar| tar.dir("top/before/x")), "top/before/x", both);
    refused(&around(|tar| tar.dir("top/a").file("top/a", b"x")), "top/a", both);
    let below_first = |tar: Tar| tar.file("top/a/b", b"").file("top/a-", b"").file("top/a", b"x");
    refused(&around(below_first), "top/a", both);
    let apart = |tar: Tar| tar.file("top/a/b", b"").dir("top/a").file("top/a.", b"").dir("top/a-");
    assert_eq!(read(&around(apart), &ArchiveLimits::default()).unwrap().files.len(), 4);
}

#[test]
fn everything_is_in_the_one_directory_that_is_expected() {
    let outside = |refusal: &EntryRefusal| *refusal == EntryRefusal::Outside { top: top() };
    for name in ["other/file", "file", "top2/file", "Top/file", "to/p", "./x"] {
        refused(&around(|tar| tar.file(name, b"x")), name, outside);
    }
    refused(&around(|tar| tar.dir("other/")), "other/", outside);
    refused(&Tar::new().file("elsewhere/x", b"").end(), "elsewhere/x", outside);
    let archive = Tar::new().file("top", b"x").end();
    refused(&archive, "top", |refusal| *refusal == EntryRefusal::NotADirectory);
}

#[test]
fn headers_that_programs_would_understand_differently_are_refused() {
    let archive = around(|tar| tar.pax(b'x', &[("size", "512")]).file("top/f", b"x"));
    damaged(&archive, "invalid entry size");
    let archive = around(|tar| tar.pax(b'x', &[("size", "1")]).file("top/f", b"x"));
    read(&archive, &ArchiveLimits::default()).unwrap();
    damaged(&around(|tar| tar.entry("top/d", b'5', b"x")), "invalid entry size");
    let mut binary = header(b"top/f", b'0', 1);
    binary.as_old_mut().size = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    binary.set_cksum();
    damaged(&around(|tar| tar.with(&binary, b"x")), "invalid entry size");
    for key in ["path", "size", "GNU.sparse.map"] {
        let archive = around(|tar| tar.pax(b'g', &[(key, "1")]).file("top/f", b"x"));
        damaged(&archive, "invalid global header");
    }
    let two_names = |tar: Tar| tar.entry("l", b'L', b"top/a\0").pax(b'x', &[("path", "top/b")]);
    damaged(&around(|tar| two_names(tar).file("top/f", b"x")), "an entry has two long names");
    for kind in [b'L', b'K'] {
        let twice = |tar: Tar| tar.entry("l", kind, b"top/a\0").entry("l", kind, b"top/b\0");
        damaged(&around(|tar| twice(tar).file("top/f", b"")), "duplicate extended header");
    }
    let twice = |tar: Tar| tar.pax(b'x', &[("path", "top/a")]).pax(b'x', &[("path", "top/b")]);
    damaged(&around(|tar| twice(tar).file("top/f", b"")), "duplicate extended header");
    let archive = around(|tar| tar.entry("x", b'x', b"9 path=\n").file("top/f", b"x"));
    damaged(&archive, "invalid extended header");
}
