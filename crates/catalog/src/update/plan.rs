//! Plans an update: which sessions must be read, and which are gone.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use everturn::names::FilePath;
use everturn::store::Store;

use crate::catalog_dir::is_dir;
use crate::codec::sum;
use crate::ledger::{IndexLedger, LedgerRow, SessionKey};
use crate::source::{CatalogSession, SessionSource};
use crate::summaries::{FileStamps, are_stable, read_stamps_of};

/// The size classes of sessions: all sessions of one class are read before larger ones.
const SIZES: [u64; 3] = [1 << 20, 16 << 20, 128 << 20];

/// The number of bytes at the end of a file that are compared to detect that it has only grown.
const TAIL: u64 = 4096;

/// A session to be read.
pub(super) struct UpdateJob<'a> {
    /// The index of the session in the listing.
    pub(super) at: usize,
    pub(super) session: &'a CatalogSession,
    pub(super) key: SessionKey,
    /// Where to continue, if a part is already indexed.
    pub(super) from: Option<LedgerRow>,
    pub(super) stamps: FileStamps,
    pub(super) bytes: u64,
}

impl UpdateJob<'_> {
    /// Returns the size class.
    pub(super) fn size(&self) -> usize {
        SIZES.iter().position(|size| self.bytes <= *size).unwrap_or(SIZES.len())
    }
}

/// Returns the sessions of these sources that no longer exist, and those of roots that no longer exist.
pub(super) fn missing_sessions(
    ledger: &IndexLedger,
    sources: &[SessionSource],
    sessions: &[CatalogSession],
) -> Vec<SessionKey> {
    let known: HashSet<(usize, &str, &FilePath)> = sessions
        .iter()
        .map(|session| (session.source, session.summary.layout, &session.summary.session.path))
        .collect();
    let is_gone = |key: &&SessionKey| {
        let mut of_root =
            sources.iter().enumerate().filter(|(_, source)| source.root == key.root).peekable();
        if of_root.peek().is_none() {
            return !is_dir(&key.root);
        }
        of_root.any(|(number, source)| {
            source.layout(&key.layout).is_some()
                && !known.contains(&(number, key.layout.as_str(), &key.path))
        })
    };
    ledger.rows.keys().filter(is_gone).cloned().collect()
}

/// The key of a session.
pub(crate) fn key_of(source: &SessionSource, session: &CatalogSession) -> SessionKey {
    SessionKey {
        root: source.root.clone(),
        layout: session.summary.layout.to_owned(),
        path: session.summary.session.path.clone(),
    }
}

/// Returns the number of turns of a session, if the index has read it completely as it is now.
pub(crate) fn indexed_turns(
    ledger: &IndexLedger,
    sources: &[SessionSource],
    session: &CatalogSession,
) -> Option<u64> {
    let source = sources.get(session.source)?;
    let row = ledger.rows.get(&key_of(source, session))?;
    let is_current = row.whole && !row.damaged && !row.stamps.is_empty();
    let stamps = read_stamps_of(source, &session.entries);
    (is_current && row.stamps == stamps).then_some(row.turn)
}

/// Returns the work needed for a session, if any.
pub(super) fn plan_job<'a>(
    ledger: &mut IndexLedger,
    sources: &[SessionSource],
    (at, session): (usize, &'a CatalogSession),
    now: SystemTime,
) -> Option<UpdateJob<'a>> {
    let source = sources.get(session.source)?;
    let key = key_of(source, session);
    let stamps = read_stamps_of(source, &session.entries);
    let bytes = stamps.iter().filter_map(|(_, stamp)| Some((*stamp)?.len)).sum();
    let Some(row) = ledger.rows.get_mut(&key) else {
        return Some(UpdateJob { at, session, key, from: None, stamps, bytes });
    };
    if row.stamps == stamps && row.stable && row.whole && !stamps.is_empty() {
        return None;
    }
    let log = session.log.as_ref();
    let from =
        log.is_some_and(|log| has_only_grown(row, &stamps, log, source)).then(|| row.clone());
    let before: u64 = row.stamps.iter().filter_map(|(_, stamp)| Some((*stamp)?.len)).sum();
    if from.is_some() && row.whole && before == bytes {
        // Nothing was added since, and a change would be noticed by now.
        row.stable = are_stable(&stamps, now);
        row.stamps = stamps;
        return None;
    }
    let bytes = if from.is_some() && row.whole { bytes - before } else { bytes };
    Some(UpdateJob { at, session, key, from, stamps, bytes })
}

/// Returns whether files are unchanged, except that the log may have grown.
fn has_only_grown(
    row: &LedgerRow,
    stamps: &FileStamps,
    log: &FilePath,
    source: &SessionSource,
) -> bool {
    if row.stamps.len() != stamps.len() {
        return false;
    }
    let changed = row.stamps.iter().zip(stamps).filter(|(old, new)| old != new);
    let grown: Vec<_> = changed.collect();
    let same = match grown.as_slice() {
        [] => true,
        [((old, Some(before)), (new, Some(after)))] => {
            old == log && new == log && before.has_grown_to(after)
        }
        _ => false,
    };
    same && row.tail.is_some() && tail_checksum(&source.store, log, &row.stamps) == row.tail
}

/// Returns the checksum of the last bytes of a file, as of its stamp.
pub(super) fn tail_checksum(
    store: &Arc<dyn Store>,
    file: &FilePath,
    stamps: &FileStamps,
) -> Option<u64> {
    let end = stamps.iter().find(|(known, _)| known == file)?.1?.len;
    let bytes = store.read(file, end.saturating_sub(TAIL)..end).ok()?;
    (bytes.len() as u64 == end.min(TAIL)).then(|| sum(&bytes))
}
