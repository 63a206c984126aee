//! Seals: a hash chain over the records of a session, stored beside it, which reveals any later change.
//!
//! The records are those of the common model: the raw record of each entry, and each change of the state. The file of a
//! record and its spelling there are not part of the chain. So the seal stays valid if a log is rotated, a session
//! moves to another directory or into an archive, or a journal is folded into its document; and later appends do not
//! break it. A scrub renews the seal, and the audit record names both chains.
//!
//! A seal has no key: anyone who can change the session and the seal can create a new one. A copy of the chain's head,
//! kept elsewhere, reveals that too.

mod chain;
mod file;
mod verify;

use std::sync::Arc;

use jiff::Timestamp;

use everturn_json::names::FilePath;
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::model::SessionRef;
use everturn_store::overlay::{FileChanges, OverlayStore};
use everturn_store::{AppendAt, Durability, Step, Store, seals_dir};

use chain::{SealChains, SessionDigests};
use file::SealLine;

pub use chain::ChainKind;
pub use verify::{DamageKind, SealDamage, SealVerdict};

/// The result of sealing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealOutcome {
    /// The head of the chain, which may be kept elsewhere.
    pub head: String,
    /// The number of sealed entries.
    pub entries: u64,
    /// The number of sealed state changes.
    pub changes: u64,
    /// The number of newly sealed records.
    pub added: u64,
    /// The file of the seal.
    pub file: FilePath,
}

/// The file of a session's seals.
pub fn seal_file(layout: &dyn SessionFormat, place: &SessionRef) -> Result<FilePath, SessionError> {
    let name = FilePath::parse(&format!("{}/{}", layout.name(), layout.stable_key(place)))?;
    Ok(seals_dir().join(&name.flat_name(".jsonl")))
}

fn read_records(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<SessionDigests, SessionError> {
    SessionDigests::read(&*layout.open(store, place)?)
}

/// Seals a session in its present state. If a sealed record has changed, nothing is done.
pub fn seal_session(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    now: Timestamp,
) -> Result<SealOutcome, SessionError> {
    layout.require_writable(place)?;
    let file = seal_file(layout, place)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let before = file::read_seals(store, &file)?;
    let records = read_records(store, layout, place)?;
    if let Some(before) = &before
        && let Some(damage) = verify::compare_chains(before, &records).first()
    {
        let what = format!("the session differs from its seal: {damage}");
        return Err(SessionError::damaged(what));
    }
    let known = before.as_ref().map_or_else(SealChains::default, |before| before.chains.clone());
    let chains = known.extended(&records);
    let added = chains.len() - known.len();
    let sealed = SealOutcome {
        head: chains.head(),
        entries: chains.entries.len(),
        changes: chains.changes.len(),
        added,
        file: file.clone(),
    };
    if added > 0 || before.is_none() {
        let line = SealLine::added(&known, &chains, now);
        let step = Step::Append { file, at: AppendAt::End, lines: line.text() };
        writer.commit(vec![step], Durability::Synced)?;
    }
    writer.release()?;
    Ok(sealed)
}

/// Verifies a session against its seal; `None` if it has none.
pub fn verify_session(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Result<Option<SealVerdict>, SessionError> {
    let Some(sealed) = file::read_seals(store, &seal_file(layout, place)?)? else {
        return Ok(None);
    };
    let records = read_records(store, layout, place)?;
    Ok(Some(SealVerdict {
        head: sealed.chains.head(),
        sealed: sealed.chains.len(),
        appended: records.len().saturating_sub(sealed.chains.len()),
        time: sealed.time,
        damages: verify::compare_chains(&sealed, &records),
    }))
}

/// Looks for an earlier head in the chain of a session: the number of records that it sealed, if the present records
/// still have this head. `None` if the chain never had it, or a scrub has changed the records since.
pub fn find_earlier_head(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    head: &str,
) -> Result<Option<u64>, SessionError> {
    let Some(sealed) = file::read_seals(store, &seal_file(layout, place)?)? else {
        return Ok(None);
    };
    let Some((_, entries, changes)) = sealed.heads.iter().find(|(known, ..)| known == head) else {
        return Ok(None);
    };
    let records = read_records(store, layout, place)?.first(*entries, *changes);
    // What the file says is not enough: the records must have this head.
    let is_right = SealChains::default().extended(&records).head() == head;
    Ok(is_right.then_some(entries + changes))
}

/// A seal that is renewed because the session is about to be changed on purpose.
pub(crate) struct SealRenewal {
    /// The file of the seals, and its new content.
    pub(crate) file: FilePath,
    pub(crate) bytes: Vec<u8>,
    /// The heads of the chain before and after.
    pub(crate) before: String,
    pub(crate) after: String,
}

/// Renews the seal of a session for changes that are about to be made. Returns `None` if it has none, or if it is
/// already broken, which a renewal would hide.
pub(crate) fn renew_seal(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
    changes: &FileChanges,
    now: Timestamp,
) -> Result<Option<SealRenewal>, SessionError> {
    let file = seal_file(layout, place)?;
    let Some(sealed) = file::read_seals(store, &file)? else { return Ok(None) };
    if !verify::compare_chains(&sealed, &read_records(store, layout, place)?).is_empty() {
        return Ok(None);
    }
    let after: Arc<dyn Store> = Arc::new(OverlayStore::new(store, changes.clone()));
    let new = read_records(&after, layout, place)?;
    // Records that were appended since stay unsealed.
    let new = new.first(sealed.chains.entries.len(), sealed.chains.changes.len());
    let chains = SealChains::default().extended(&new);
    let (before, head) = (sealed.chains.head(), chains.head());
    let line = SealLine::renewed(&before, &chains, now);
    let bytes = [store.read(&file, 0..u64::MAX)?, line.text()].concat();
    Ok(Some(SealRenewal { file, bytes, before, after: head }))
}
