//! A session of each layout, with something to say.

use std::sync::{Arc, LazyLock};

use everturn::disk::sim::SimDisk;
use everturn::format::{self, SessionEditor, SessionError, SessionFormat};
use everturn::model::{NewSession, SessionRef};
use everturn::names::FilePath;
use everturn::store::{FileStore, LockOwner, MemoryStore, Options, Store, StoreError};
use everturn::tree::JsonTree;
use everturn_samples::{FormatSample, SAMPLES};
use jiff::Timestamp;

use crate::common::capabilities::KnownCapabilities;

/// A layout, and a sample session.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) layout: &'static str,
    pub(crate) id: &'static str,
    pub(crate) sample: &'static FormatSample,
}

pub(crate) static ALL: LazyLock<Vec<Kind>> =
    LazyLock::new(|| SAMPLES.iter().map(Kind::of).collect());

/// The kind of this name.
pub(crate) fn named(name: &str) -> &'static Kind {
    ALL.iter().find(|kind| kind.layout == name).unwrap()
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_261_600 + second).unwrap()
}

/// A token that is made here, so that it stands in no source.
pub(crate) fn token() -> String {
    format!("gsk_{}", "aB3dE5gH7jK9mN1p".repeat(4).get(..52).unwrap())
}

impl Kind {
    fn of(sample: &'static FormatSample) -> Kind {
        Kind { layout: sample.format, id: sample.id, sample }
    }

    pub(crate) fn layout(&self) -> &'static dyn SessionFormat {
        format::find(self.layout).unwrap()
    }

    pub(crate) fn create(&self, store: &Arc<dyn Store>) -> Result<(), SessionError> {
        self.create_as(store, self.id)
    }

    pub(crate) fn create_as(&self, store: &Arc<dyn Store>, id: &str) -> Result<(), SessionError> {
        let fields = JsonTree::parse(self.sample.fields).unwrap();
        let new = NewSession { fields, ..NewSession::with_id(id) };
        self.layout().editable().create(store, &new, at(0))?.release()
    }

    pub(crate) fn place_of(
        &self,
        store: &Arc<dyn Store>,
        id: &str,
    ) -> Result<Option<SessionRef>, SessionError> {
        Ok(self.layout().locate(store)?.sessions.into_iter().find(|place| place.id == id))
    }

    pub(crate) fn place(&self, store: &Arc<dyn Store>) -> Result<SessionRef, SessionError> {
        Ok(self.place_of(store, self.id)?.unwrap_or_else(|| panic!("{} is gone", self.id)))
    }

    pub(crate) fn say(&self, store: &Arc<dyn Store>, words: &str) -> Result<(), SessionError> {
        self.begin(store, words, at(1))?.release()
    }

    /// Says something, and leaves the rest to whoever has the writer.
    pub(crate) fn begin(
        &self,
        store: &Arc<dyn Store>,
        words: &str,
        now: Timestamp,
    ) -> Result<Box<dyn SessionEditor>, SessionError> {
        let mut editor = self.layout().editable().edit(store, &self.place(store)?)?;
        editor.append(&self.turn_of(words), now)?;
        Ok(editor)
    }

    /// The turn that says this.
    pub(crate) fn turn_of(&self, words: &str) -> String {
        self.sample.turn(words)
    }

    /// What the session at a place says, line by line.
    pub(crate) fn told(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<Vec<String>, SessionError> {
        let reader = self.layout().open(store, place)?;
        let mut entries = reader.entries(reader.turns()?)?;
        let mut told = Vec::new();
        while let Some(entry) = entries.next() {
            told.push(entry?.raw.to_line());
        }
        Ok(told)
    }
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

pub(crate) fn open(disk: &SimDisk) -> Result<Arc<dyn Store>, StoreError> {
    let owner = LockOwner { pid: 1, started: "2026-01-01T00:00:00Z".to_owned() };
    let options = Options { log_size: 24 << 10, max_log_size: 32 << 10, ..Options::new(owner) };
    Ok(Arc::new(FileStore::open(Arc::new(disk.process()), options)?))
}

/// The files of a disk whose bytes hold a text, compressed ones unpacked.
pub(crate) fn holding(disk: &SimDisk, text: &str) -> Vec<FilePath> {
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let holds = |path: &FilePath, bytes: &Vec<u8>| {
        if path.as_str().ends_with(".gz") {
            use std::io::Read;
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
            return has(&plain);
        }
        has(bytes)
    };
    disk.contents().into_iter().filter(|(path, bytes)| holds(path, bytes)).map(|it| it.0).collect()
}
