//! Seals: a chain of hashes over the records of a session, kept beside it, by which any later change is found.
//!
//! The records are those of the common view: what each entry was made from, and each change of the state. Which file
//! a record stands in, and how that file spells it, is not part of the chain. So a log that is rotated, a session
//! that moves to another directory or into an archive, and a journal that is folded into its document leave the seal
//! whole; and what is appended later does not break it. A scrub that was declared renews it, and the audit record
//! names both chains.
//!
//! A seal has no key: whoever can change the session and the seal can make a new one. The head of the chain, kept
//! elsewhere, shows that too.

mod chain;
mod file;
mod verify;

use std::sync::Arc;

use jiff::Timestamp;

use everturn_json::names::FilePath;
use everturn_session::archived;
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::model::SessionRef;
use everturn_store::overlay::{FileChanges, OverlayStore};
use everturn_store::{AppendAt, Durability, Step, Store, seals_dir};

use chain::{SealChains, SessionDigests};
use file::SealLine;

pub use chain::ChainKind;
pub use verify::{DamageKind, SealDamage, SealVerdict};

/// What was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealOutcome {
    /// The head of the chain, to be kept elsewhere by those who want to.
    pub head: String,
    /// How many entries are sealed now.
    pub entries: u64,
    /// How many changes of the state are sealed now.
    pub changes: u64,
    /// How many records were sealed that were not sealed before.
    pub added: u64,
    /// Where the seal is.
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
    SessionDigests::read(&*archived::open_reader(store, layout, place)?)
}

/// Seals a session as it is. What was sealed before must be as it was: otherwise nothing is done.
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
        let what = format!("the session is not what was sealed: {damage}");
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

/// Looks whether a session is still what was sealed; nothing if it never was.
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

/// A seal that is renewed because the session is about to be changed on purpose.
pub(crate) struct SealRenewal {
    /// The file of the seals, and its new content.
    pub(crate) file: FilePath,
    pub(crate) bytes: Vec<u8>,
    /// The heads of the chain before and after.
    pub(crate) before: String,
    pub(crate) after: String,
}

/// Renews the seal of a session for the changes that are about to be made; nothing if it has none, or if it is
/// broken already, which a renewal would hide.
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
    // What was appended since stays unsealed.
    let new = new.first(sealed.chains.entries.len(), sealed.chains.changes.len());
    let chains = SealChains::default().extended(&new);
    let (before, head) = (sealed.chains.head(), chains.head());
    let line = SealLine::renewed(&before, &chains, now);
    let bytes = [store.read(&file, 0..u64::MAX)?, line.text()].concat();
    Ok(Some(SealRenewal { file, bytes, before, after: head }))
}
