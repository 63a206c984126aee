//! The file of a session's seals: one line for each seal or renewal.
//!
//! ```text
//! {"seal":1,"time":"…","why":"seal","before":"…","head":"…","entries":{"from":0,"head":"…","records":"…"},"changes":{…}}
//! ```
//!
//! `records` are the truncated hashes of the records that the line adds, 16 digits each.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::chain::{HashChain, SHORT, SealChains, hex, unhex};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_store::{Store, read_optional};

const VERSION: u64 = 1;

/// The part of a line for one chain.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ChainUpdate {
    /// The previous number of records.
    from: u64,
    head: String,
    records: String,
}

impl ChainUpdate {
    fn since(known: &HashChain, chain: &HashChain) -> ChainUpdate {
        let start = known.shorts.len();
        let records = chain.shorts.get(start..).unwrap_or_default().concat();
        ChainUpdate { from: known.len(), head: hex(&chain.head), records: hex(&records) }
    }

    /// Extends a chain with the records of the line.
    fn apply_to(&self, chain: &mut HashChain) -> Option<()> {
        (chain.len() == self.from).then_some(())?;
        let records = unhex(&self.records)?;
        let (shorts, rest) = records.as_chunks::<SHORT>();
        rest.is_empty().then_some(())?;
        chain.shorts.extend_from_slice(shorts);
        chain.head = unhex(&self.head)?.try_into().ok()?;
        Some(())
    }
}

/// A line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SealLine {
    seal: u64,
    time: String,
    why: String,
    /// The previous head.
    before: String,
    head: String,
    entries: ChainUpdate,
    changes: ChainUpdate,
}

impl SealLine {
    /// A line for a new seal.
    pub(super) fn added(known: &SealChains, chains: &SealChains, now: Timestamp) -> SealLine {
        SealLine {
            seal: VERSION,
            time: now.to_string(),
            why: "seal".to_owned(),
            before: known.head(),
            head: chains.head(),
            entries: ChainUpdate::since(&known.entries, &chains.entries),
            changes: ChainUpdate::since(&known.changes, &chains.changes),
        }
    }

    /// A line for a renewal: the session was scrubbed, and its records have new hashes.
    pub(super) fn renewed(before: &str, chains: &SealChains, now: Timestamp) -> SealLine {
        let line = SealLine::added(&SealChains::default(), chains, now);
        SealLine { why: "scrub".to_owned(), before: before.to_owned(), ..line }
    }

    pub(super) fn text(&self) -> Vec<u8> {
        // Strings and numbers can always be serialized.
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

/// The combined state of a session's seals.
pub(super) struct SealState {
    pub(super) chains: SealChains,
    pub(super) time: Option<Timestamp>,
    /// The heads since the session was last scrubbed, with the numbers of entries and changes.
    pub(super) heads: Vec<(String, u64, u64)>,
}

/// Reads the seals of a session; `None` if it was never sealed.
pub(super) fn read_seals(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Option<SealState>, SessionError> {
    let Some(bytes) = read_optional(store, file)? else { return Ok(None) };
    let mut seals = SealState { chains: SealChains::default(), time: None, heads: Vec::new() };
    if bytes.trim_ascii().is_empty() {
        return Err(SessionError::damaged(format!("{file}: the seal was emptied")));
    }
    let bad = |number: usize| {
        SessionError::damaged(format!("{file}, line {}: the seal is damaged", number + 1))
    };
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let line: SealLine = serde_json::from_slice(line).map_err(|_| bad(number))?;
        if line.seal != VERSION {
            return Err(bad(number));
        }
        let before = seals.chains.head();
        if line.why == "scrub" {
            seals.chains = SealChains::default();
            seals.heads.clear();
        }
        let put = line.entries.apply_to(&mut seals.chains.entries);
        let put = put.and_then(|()| line.changes.apply_to(&mut seals.chains.changes));
        if put.is_none() || line.before != before || line.head != seals.chains.head() {
            return Err(bad(number));
        }
        seals.time = line.time.parse().ok();
        seals.heads.push((line.head, seals.chains.entries.len(), seals.chains.changes.len()));
    }
    Ok(Some(seals))
}
