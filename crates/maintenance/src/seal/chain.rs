//! Records of a session as hashes, and chains of them.

use std::fmt;

use sha2::{Digest, Sha256};

use everturn_session::layout::{LayoutError, Reader, Stream};
use everturn_value::tree::canonical;

/// The SHA-256 of something.
pub(super) type Hash = [u8; 32];

/// How many bytes of a record's hash the seal keeps, to tell which record was changed.
pub(super) const SHORT: usize = 8;

/// Which of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What was said and done.
    Entries,
    /// What it changed.
    Changes,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Entries => "entry",
            Part::Changes => "change",
        })
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) hash: Hash,
    /// The turn it belongs to.
    pub(super) turn: u64,
}

/// All records of a session, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Records {
    pub(super) entries: Vec<Record>,
    pub(super) changes: Vec<Record>,
}

fn all<T>(
    mut stream: Box<dyn Stream<Item = T> + '_>,
    record: impl Fn(T) -> (u64, String),
) -> Result<Vec<Record>, LayoutError> {
    let mut records = Vec::new();
    while let Some(item) = stream.next() {
        let (turn, text) = record(item?);
        records.push(Record { hash: Sha256::digest(text.as_bytes()).into(), turn });
    }
    Ok(records)
}

impl Records {
    pub(super) fn read(reader: &dyn Reader) -> Result<Records, LayoutError> {
        let turns = reader.turns()?;
        let entries = all(reader.entries(turns.clone())?, |it| (it.turn, canonical(&it.raw)))?;
        let change = |it: everturn_session::view::Change| {
            (it.turn, format!("{}\n{}\n{}", it.turn, it.scope, it.delta.to_line()))
        };
        Ok(Records { entries, changes: all(reader.changes(turns)?, change)? })
    }

    pub(super) fn len(&self) -> u64 {
        (self.entries.len() + self.changes.len()) as u64
    }

    /// So many of them.
    pub(super) fn first(mut self, entries: u64, changes: u64) -> Records {
        self.entries.truncate(usize::try_from(entries).unwrap_or(usize::MAX));
        self.changes.truncate(usize::try_from(changes).unwrap_or(usize::MAX));
        self
    }
}

/// A chain: its head, and the beginnings of the hashes of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) head: Hash,
    pub(super) shorts: Vec<[u8; SHORT]>,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { head: Sha256::digest(b"everturn seal 1").into(), shorts: Vec::new() }
    }
}

/// The beginning of a hash.
pub(super) fn short(hash: &Hash) -> [u8; SHORT] {
    hash.first_chunk().copied().unwrap_or_default()
}

impl Chain {
    pub(super) fn len(&self) -> u64 {
        self.shorts.len() as u64
    }

    pub(super) fn add(&mut self, record: &Record) {
        self.head = Sha256::digest([self.head, record.hash].concat()).into();
        self.shorts.push(short(&record.hash));
    }

    /// The chain with the records that come after its own.
    fn extended(mut self, records: &[Record]) -> Chain {
        let start = self.shorts.len();
        for record in records.get(start..).unwrap_or_default() {
            self.add(record);
        }
        self
    }
}

/// The two chains of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Chains {
    pub(super) entries: Chain,
    pub(super) changes: Chain,
}

impl Chains {
    pub(super) fn len(&self) -> u64 {
        self.entries.len() + self.changes.len()
    }

    pub(super) fn extended(&self, records: &Records) -> Chains {
        Chains {
            entries: self.entries.clone().extended(&records.entries),
            changes: self.changes.clone().extended(&records.changes),
        }
    }

    /// One hash for both.
    pub(super) fn head(&self) -> String {
        hex(&Sha256::digest([self.entries.head, self.changes.head].concat()))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.len().is_multiple_of(2).then_some(())?;
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.last()?)?)).collect()
}
