//! Shared helpers: a store with files, and archives built block by block.

use std::io::Write;

use everturn_archive::{
    ArchiveContents, ArchiveError, ArchiveLimits, EntryRefusal, Unpacker, check,
};
use everturn_json::names::{FilePath, Name};
use everturn_store::{Durability, FileMode, MemoryStore, Precondition, Step, Store};
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Header;

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// The top directory of all archives made here.
pub(crate) fn top() -> Name {
    name("top")
}

pub(crate) fn write(store: &dyn Store, files: &[(&str, &[u8])]) {
    let step = |(file, bytes): &(&str, &[u8])| Step::Replace {
        file: path(file),
        expect: Precondition::Anything,
        bytes: bytes.to_vec(),
        mode: FileMode::Default,
    };
    let writer = store.lock(&[FilePath::root()]).unwrap();
    writer.commit(files.iter().map(step).collect(), Durability::Synced).unwrap();
    writer.release().unwrap();
}

pub(crate) fn memory(files: &[(&str, &[u8])]) -> MemoryStore {
    let store = MemoryStore::new();
    write(&store, files);
    store
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// A header with a valid checksum, whatever the name.
pub(crate) fn header(name: &[u8], kind: u8, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.as_old_mut().linkflag = [kind];
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// A `tar` stream under construction.
#[derive(Clone, Default)]
pub(crate) struct Tar(pub(crate) Vec<u8>);

impl Tar {
    pub(crate) fn new() -> Tar {
        Tar::default()
    }

    pub(crate) fn entry(self, name: &str, kind: u8, content: &[u8]) -> Tar {
        self.with(&header(name.as_bytes(), kind, content.len() as u64), content)
    }

    pub(crate) fn file(self, name: &str, content: &[u8]) -> Tar {
        self.entry(name, b'0', content)
    }

    pub(crate) fn dir(self, name: &str) -> Tar {
        self.entry(name, b'5', b"")
    }

    /// A pax header with these records, for the next entry.
    pub(crate) fn pax(self, kind: u8, records: &[(&str, &str)]) -> Tar {
        let content: String = records.iter().map(|(key, value)| record(key, value)).collect();
        self.entry("PaxHeaders/x", kind, content.as_bytes())
    }

    pub(crate) fn with(mut self, header: &Header, content: &[u8]) -> Tar {
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// The whole archive.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        gzip(&self.0)
    }
}

fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let digits = (1..).find(|digits| (rest + digits).to_string().len() == *digits).unwrap();
    format!("{} {key}={value}\n", rest + digits)
}

/// Checks and unpacks an archive; both must agree.
pub(crate) fn read(
    archive: &[u8],
    limits: &ArchiveLimits,
) -> Result<ArchiveContents, ArchiveError> {
    let checked = check(archive, &top(), limits);
    let mut files: Vec<(FilePath, u64)> = Vec::new();
    let mut error = None;
    for file in Unpacker::new(archive, &top(), limits) {
        assert!(error.is_none(), "something came after an error");
        match file {
            Ok((path, content)) => files.push((path, content.len() as u64)),
            Err(failure) => error = Some(failure),
        }
    }
    files.sort();
    let sums = |contents: &ArchiveContents| -> Vec<(FilePath, u64)> {
        contents.files.iter().map(|file| (file.path.clone(), file.len)).collect()
    };
    match (&checked, &error) {
        (Ok(contents), None) => assert_eq!(sums(contents), files),
        (Err(one), Some(other)) => assert_eq!(one.to_string(), other.to_string()),
        _ => panic!("checking gives {checked:?}, unpacking {error:?}"),
    }
    checked
}

/// Asserts that an archive is refused for one of its entries.
#[track_caller]
pub(crate) fn refused(archive: &[u8], entry: &str, expect: impl Fn(&EntryRefusal) -> bool) {
    match read(archive, &ArchiveLimits::default()) {
        Err(ArchiveError::Refused { name, refusal }) => {
            assert!(name == entry && expect(&refusal), "{name:?} was refused: {refusal:?}");
        }
        other => panic!("{entry:?}: {other:?}"),
    }
}

/// Asserts that an archive is damaged, with this reason.
#[track_caller]
pub(crate) fn damaged(archive: &[u8], expect: &str) {
    match read(archive, &ArchiveLimits::default()) {
        Err(ArchiveError::Damaged { reason, .. }) => assert_eq!(reason, expect),
        other => panic!("{other:?} instead of {expect:?}"),
    }
}
