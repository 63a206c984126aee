//! Which sessions are in the index, and how far.

use std::collections::HashMap;
use std::path::PathBuf;

use everturn::names::FilePath;

use crate::codec::{CatalogDecoder, CatalogEncoder};
use crate::summaries::{FileStamps, read_stamps, write_stamps};

/// What the file is; another version has another name.
const NAME: &str = "everturn ledger 1";

/// What tells one session from all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    pub(crate) root: PathBuf,
    pub(crate) layout: String,
    pub(crate) path: FilePath,
}

/// A session in the index.
#[derive(Debug, Clone)]
pub(crate) struct LedgerRow {
    /// What its entries are known by there. A session that is read anew gets another number.
    pub(crate) number: u64,
    /// The stamps of the files that its entries come from.
    pub(crate) stamps: FileStamps,
    /// Whether later changes of those files would show in their stamps.
    pub(crate) stable: bool,
    /// Whether all of it is there; otherwise its reading goes on after the last entry.
    pub(crate) whole: bool,
    /// Whether what is stored kept it from being read to its end.
    pub(crate) damaged: bool,
    /// The last entry: its turn and its place in the session.
    pub(crate) turn: u64,
    pub(crate) seq: u64,
    /// The end of the one file that grows, as it was: the checksum of its last bytes.
    pub(crate) tail: Option<u64>,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexLedger {
    pub(crate) rows: HashMap<SessionKey, LedgerRow>,
    /// The next number that no session has had.
    pub(crate) next: u64,
}

impl IndexLedger {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut encoder = CatalogEncoder::new(NAME);
        encoder.number(self.next);
        encoder.number(self.rows.len() as u64);
        for (key, row) in &self.rows {
            encoder.text(&key.root.to_string_lossy());
            encoder.text(&key.layout);
            encoder.text(key.path.as_str());
            for number in [row.number, row.turn, row.seq] {
                encoder.number(number);
            }
            let flags = [row.stable, row.whole, row.damaged];
            let flag = |(bit, is_set): (usize, &bool)| u64::from(*is_set) << bit;
            encoder.number(flags.iter().enumerate().map(flag).sum());
            encoder.option(row.tail, CatalogEncoder::number);
            write_stamps(&mut encoder, &key.path, &row.stamps);
        }
        encoder.finish()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<IndexLedger> {
        let mut decoder = CatalogDecoder::open(bytes, NAME)?;
        let next = decoder.number()?;
        let rows = decoder.list(|decoder| {
            let root = PathBuf::from(decoder.text()?);
            let layout = decoder.text()?.to_owned();
            let path = FilePath::parse(decoder.text()?).ok()?;
            let (number, turn, seq) = (decoder.number()?, decoder.number()?, decoder.number()?);
            let flags = decoder.number()?;
            let tail = decoder.option(CatalogDecoder::number)?;
            let stamps = read_stamps(decoder, &path, &mut Vec::new())?;
            let (settled, whole, damaged) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
            let row =
                LedgerRow { number, stamps, stable: settled, whole, damaged, turn, seq, tail };
            Some((SessionKey { root, layout, path }, row))
        })?;
        Some(IndexLedger { rows: rows.into_iter().collect(), next })
    }
}
