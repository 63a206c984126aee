//! Hashes of a session's records ([`SessionDigests`]), and the chains of them ([`SealChains`]).

use std::fmt;

use sha2::{Digest, Sha256};

use everturn_session::format::{RecordStream, SessionError, SessionReader};
use everturn_value::tree::canonical_text;

/// A SHA-256 hash.
pub(super) type RecordHash = [u8; 32];

/// The number of bytes of a record's hash that the seal stores, to identify changed records.
pub(super) const SHORT: usize = 8;

/// One of the two chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainKind {
    /// The entries.
    Entries,
    /// The changes of the state.
    Changes,
}

impl fmt::Display for ChainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChainKind::Entries => "entry",
            ChainKind::Changes => "change",
        })
    }
}

/// The hash of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordDigest {
    pub(super) hash: RecordHash,
    /// The turn it belongs to.
    pub(super) turn: u64,
}

/// The hashes of all records of a session, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionDigests {
    pub(super) entries: Vec<RecordDigest>,
    pub(super) changes: Vec<RecordDigest>,
}

fn collect_digests<T>(
    mut stream: Box<dyn RecordStream<Item = T> + '_>,
    record: impl Fn(T) -> (u64, String),
) -> Result<Vec<RecordDigest>, SessionError> {
    let mut records = Vec::new();
    while let Some(item) = stream.next() {
        let (turn, text) = record(item?);
        records.push(RecordDigest { hash: Sha256::digest(text.as_bytes()).into(), turn });
    }
    Ok(records)
}

impl SessionDigests {
    pub(super) fn read(reader: &dyn SessionReader) -> Result<SessionDigests, SessionError> {
        let turns = reader.turns()?;
        let entries = collect_digests(reader.entries(turns.clone())?, |it| {
            (it.turn, canonical_text(&it.raw))
        })?;
        let change = |it: everturn_session::model::StateChange| {
            (it.turn, format!("{}\n{}\n{}", it.turn, it.scope, it.delta.to_line()))
        };
        Ok(SessionDigests { entries, changes: collect_digests(reader.changes(turns)?, change)? })
    }

    pub(super) fn len(&self) -> u64 {
        (self.entries.len() + self.changes.len()) as u64
    }

    /// Truncates both lists to these lengths.
    pub(super) fn first(mut self, entries: u64, changes: u64) -> SessionDigests {
        self.entries.truncate(usize::try_from(entries).unwrap_or(usize::MAX));
        self.changes.truncate(usize::try_from(changes).unwrap_or(usize::MAX));
        self
    }
}

/// A chain: its head, and the truncated hashes of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HashChain {
    pub(super) head: RecordHash,
    pub(super) shorts: Vec<[u8; SHORT]>,
}

impl Default for HashChain {
    fn default() -> HashChain {
        HashChain { head: Sha256::digest(b"everturn seal 1").into(), shorts: Vec::new() }
    }
}

/// A truncated hash.
pub(super) fn short_hash(hash: &RecordHash) -> [u8; SHORT] {
    hash.first_chunk().copied().unwrap_or_default()
}

impl HashChain {
    pub(super) fn len(&self) -> u64 {
        self.shorts.len() as u64
    }

    pub(super) fn add(&mut self, record: &RecordDigest) {
        self.head = Sha256::digest([self.head, record.hash].concat()).into();
        self.shorts.push(short_hash(&record.hash));
    }

    /// The chain extended with the records after its own.
    fn extended(mut self, records: &[RecordDigest]) -> HashChain {
        let start = self.shorts.len();
        for record in records.get(start..).unwrap_or_default() {
            self.add(record);
        }
        self
    }
}

/// The two chains of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SealChains {
    pub(super) entries: HashChain,
    pub(super) changes: HashChain,
}

impl SealChains {
    pub(super) fn len(&self) -> u64 {
        self.entries.len() + self.changes.len()
    }

    pub(super) fn extended(&self, records: &SessionDigests) -> SealChains {
        SealChains {
            entries: self.entries.clone().extended(&records.entries),
            changes: self.changes.clone().extended(&records.changes),
        }
    }

    /// One hash for both chains.
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
