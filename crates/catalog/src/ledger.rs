//! The ledger: which sessions are in the index, and up to which entry.

use std::collections::HashMap;
use std::path::PathBuf;

use everturn::names::FilePath;

use crate::codec::{CatalogDecoder, CatalogEncoder};
use crate::summaries::{FileStamps, read_stamps, write_stamps};

/// The name of the format; another version has another name.
const NAME: &str = "everturn ledger 1";

/// The identity of a session across all sources.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    pub(crate) root: PathBuf,
    pub(crate) layout: String,
    pub(crate) path: FilePath,
}

/// A session in the index.
#[derive(Debug, Clone)]
pub(crate) struct LedgerRow {
    /// The number of its entries in the index. A session that is indexed again gets a new number.
    pub(crate) number: u64,
    /// The stamps of the files that its entries come from.
    pub(crate) stamps: FileStamps,
    /// Whether later changes of those files would change their stamps.
    pub(crate) stable: bool,
    /// Whether it is complete; otherwise indexing continues after the last entry.
    pub(crate) whole: bool,
    /// Whether damage prevented reading to its end.
    pub(crate) damaged: bool,
    /// The last entry: its turn and its position in the session.
    pub(crate) turn: u64,
    pub(crate) seq: u64,
    /// The checksum of the last bytes of the append-only file, at the time it was indexed.
    pub(crate) tail: Option<u64>,
}

/// The ledger of the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexLedger {
    pub(crate) rows: HashMap<SessionKey, LedgerRow>,
    /// The next unused session number.
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
