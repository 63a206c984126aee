//! Sessions packed into one file, and back.

use std::sync::Arc;

use everturn::archive::{ArchiveLimits, pack};
use everturn::game::{
    ArchiveOptions, GameError, GameStatus, GameWriter, Session, archive, complete, list, unarchive,
};
use everturn::names::Name;
use everturn::store::Store;

use super::metadata::assert_true;
use super::support::{assert_states, at, files, id, memory, now, path, played, put, stores};

const NAME: &str = "session-abc123";
const FILE: &str = "sessions/archives/session-abc123.tar.gz";

fn how() -> ArchiveOptions {
    ArchiveOptions { batch: 5000, ..ArchiveOptions::default() }
}

fn pack_it(store: &Arc<dyn Store>) -> Result<(), GameError> {
    archive(store, &id(NAME), &how(), at(500), &mut |_| {}).map(drop)
}

fn unpack_it(store: &Arc<dyn Store>) -> Result<(), GameError> {
    unarchive(store, &id(NAME), &how(), at(600), &mut |_| {}).map(drop)
}

#[test]
fn a_session_comes_out_of_its_archive_as_it_went_in() {
    for store in stores() {
        let states = played(&store, NAME, 120);
        complete(&store, &id(NAME), at(400)).unwrap();
        let before = files(&store);
        pack_it(&store).unwrap();
        assert!(list(&store).unwrap().is_empty());
        let packed = files(&store);
        assert!(packed.contains_key(&path(FILE)));
        let trash = format!(".everturn/trash/20260101T100820Z-{NAME}/sessions/completed/{NAME}/");
        assert_eq!(
            packed.keys().filter(|file| file.as_str().starts_with(&trash)).count(),
            before.len()
        );
        assert_eq!(packed.len(), before.len() + 1);
        unpack_it(&store).unwrap();
        let sessions = |file: &everturn::names::FilePath| file.is_within(&path("sessions"));
        let after: Vec<_> = files(&store).into_iter().filter(|(file, _)| sessions(file)).collect();
        assert!(after == before.into_iter().collect::<Vec<_>>());
        assert_states(&store, NAME, &states);
        assert_true(&store, NAME);
        // The archive was put into the trash, so that it can be made again.
        pack_it(&store).unwrap();
    }
}

#[test]
fn an_archive_is_neither_overwritten_nor_unpacked_over_a_session() {
    for store in stores() {
        played(&store, NAME, 3);
        complete(&store, &id(NAME), at(400)).unwrap();
        put(&store, FILE, b"somebody's");
        let before = files(&store);
        assert!(matches!(pack_it(&store), Err(GameError::Taken { .. })));
        assert!(matches!(unpack_it(&store), Err(GameError::Taken { .. })));
        assert!(files(&store) == before);
    }
    for store in stores() {
        assert!(matches!(unpack_it(&store), Err(GameError::NoSession { .. })));
        played(&store, NAME, 3);
        assert!(matches!(unpack_it(&store), Err(GameError::Taken { .. })));
    }
}

/// A `tar` of one entry, not compressed by much, with a header made by hand.
fn tar(name: &str, kind: u8, link: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[108..115].copy_from_slice(b"0000000");
    header[116..123].copy_from_slice(b"0000000");
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[136..147].copy_from_slice(b"00000000000");
    header[148..156].copy_from_slice(b"        ");
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..263].copy_from_slice(b"ustar\0");
    header[263..265].copy_from_slice(b"00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut out = header.to_vec();
    out.extend_from_slice(content);
    out.resize(out.len().div_ceil(512) * 512, 0);
    out.extend_from_slice(&[0; 1024]);
    out
}

/// A gzip file that stores its content without compressing it.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = content.chunks(60_000).peekable();
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let len = u16::try_from(block.len()).unwrap();
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(block);
    }
    let mut crc = !0_u32;
    for byte in content {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    out.extend_from_slice(&(!crc).to_le_bytes());
    out.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
    out
}

#[track_caller]
fn refused(what: &str, bytes: &[u8]) {
    for store in stores() {
        put(&store, FILE, bytes);
        let before = files(&store);
        let error = unpack_it(&store).err().unwrap_or_else(|| panic!("{what} was unpacked"));
        assert!(
            matches!(error, GameError::Archive(_) | GameError::Damaged { .. }),
            "{what}: {error}"
        );
        assert!(files(&store) == before, "{what} left something behind");
    }
}

#[test]
fn what_could_do_harm_is_not_unpacked() {
    let good = gzip(&tar("session-abc123/session.meta.json", b'0', "", b"{}"));
    for store in stores() {
        put(&store, FILE, &good);
        unpack_it(&store).unwrap();
    }
    refused("climbing", &gzip(&tar("session-abc123/../../x", b'0', "", b"{}")));
    refused("absolute", &gzip(&tar("/etc/passwd", b'0', "", b"{}")));
    refused("another top", &gzip(&tar("session-other/x", b'0', "", b"{}")));
    refused("a link", &gzip(&tar("session-abc123/x", b'2', "/etc/passwd", b"")));
    refused("a hard link", &gzip(&tar("session-abc123/x", b'1', "session-abc123/y", b"")));
    refused("nothing in it", &gzip(&tar("session-abc123/", b'5', "", b"")));
    refused("cut short", &good[..good.len() - 9]);
    refused("no archive", b"hello");
}

#[test]
fn a_bomb_is_not_unpacked() {
    let maker = memory();
    put(&maker, "top/session-abc123/big.json", &vec![b' '; 12 << 20]);
    // Made with limits that let it through, so that it is as dense as it can be.
    let limits = ArchiveLimits { ratio: 2000, ..ArchiveLimits::default() };
    let top = Name::parse(NAME).unwrap();
    let packed = pack(&*maker, &path("top/session-abc123"), &top, &limits, &mut |_| {}).unwrap();
    assert!(packed.bytes.len() < 100_000);
    refused("a bomb", &packed.bytes);
}

#[test]
fn a_session_that_another_program_packed_is_completed_afterwards() {
    for store in stores() {
        let states = played(&store, NAME, 10);
        let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
        let top = Name::parse(NAME).unwrap();
        let packed =
            pack(&*store, session.dir(), &top, &ArchiveLimits::default(), &mut |_| {}).unwrap();
        everturn::game::trash(&store, &id(NAME), now()).unwrap();
        put(&store, FILE, &packed.bytes);
        unpack_it(&store).unwrap();
        let session = Session::open(Arc::clone(&store), &id(NAME)).unwrap();
        assert_eq!(session.status(), GameStatus::Completed);
        assert_states(&store, NAME, &states);
        assert_true(&store, NAME);
        assert!(GameWriter::open(Arc::clone(&store), &id(NAME)).is_err());
    }
}
