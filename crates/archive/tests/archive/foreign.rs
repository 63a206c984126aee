//! Archives of other programs.

use everturn_archive::{ArchiveLimits, Unpacker};
use tar::Header;

use crate::support::{Tar, header, path, read, top};

#[track_caller]
fn holds(archive: &[u8], dirs: &[&str], files: &[(&str, &[u8])]) {
    let contents = read(archive, &ArchiveLimits::default()).unwrap();
    assert_eq!(contents.dirs, dirs.iter().map(|dir| path(dir)).collect::<Vec<_>>());
    let found: Vec<_> =
        Unpacker::new(archive, &top(), &ArchiveLimits::default()).map(Result::unwrap).collect();
    let expect: Vec<_> =
        files.iter().map(|(file, content)| (path(file), content.to_vec())).collect();
    assert_eq!(found, expect);
}

#[test]
fn a_dot_and_a_slash_before_every_name() {
    let tar = Tar::new().dir("./").dir("./top/").file("./top/b", b"2").file("./top/a", b"1");
    holds(&tar.end(), &["top"], &[("top/b", b"2"), ("top/a", b"1")]);
    let tar = Tar::new().dir(".").dir("./top").file("././top/a", b"1");
    holds(&tar.end(), &["top"], &[("top/a", b"1")]);
}

#[test]
fn no_entries_for_directories_or_late_ones() {
    let tar = Tar::new().file("top/a/b", b"1").dir("top/a/").dir("top/");
    holds(&tar.end(), &["top", "top/a"], &[("top/a/b", b"1")]);
    holds(&Tar::new().file("top/a/b", b"1").end(), &[], &[("top/a/b", b"1")]);
}

#[test]
fn long_names_in_the_way_of_gnu() {
    let long = format!("top/{}/{}", "d".repeat(100), "f".repeat(100));
    let gnu = format!("{long}\0");
    let tar = Tar::new().entry("././@LongLink", b'L', gnu.as_bytes()).file(&long[..100], b"1");
    holds(&tar.end(), &[], &[(&long, b"1")]);
}

#[test]
fn long_names_and_other_facts_in_the_way_of_pax() {
    let long = format!("top/{}/日本語", "d".repeat(200));
    let facts = [
        ("mtime", "1700000000.123456789"),
        ("path", long.as_str()),
        ("LIBARCHIVE.creationtime", "1"),
        ("SCHILY.xattr.user.x", "two\nlines=1"),
        ("uid", "4294967296"),
    ];
    let tar = Tar::new()
        .pax(b'g', &[("comment", "0123456789abcdef")])
        .pax(b'x', &facts)
        .file(&long[..100], b"1")
        .file("top/next", b"2");
    holds(&tar.end(), &[], &[(&long, b"1"), ("top/next", b"2")]);
}

#[test]
fn long_names_in_two_parts() {
    let mut parts = Header::new_ustar();
    let ustar = parts.as_ustar_mut().unwrap();
    ustar.prefix[..7].copy_from_slice(b"top/one");
    ustar.name[..3].copy_from_slice(b"two");
    parts.set_size(1);
    parts.set_cksum();
    holds(&Tar::new().with(&parts, b"1").end(), &[], &[("top/one/two", b"1")]);
}

#[test]
fn headers_from_before_there_was_a_standard() {
    let mut old = header(b"top/old", 0, 1);
    old.as_old_mut().pad = [0; 255];
    old.set_cksum();
    holds(&Tar::new().with(&old, b"1").end(), &[], &[("top/old", b"1")]);
}
