//! Putting a damaged campaign right: a plan first, then one commit that also keeps what was there before.

mod rebuild;

use std::sync::Arc;

use jiff::Timestamp;

use super::error::CampaignError;
use super::log::{Change, Record};
use super::names::{CampaignFile, campaign_dir};
use super::session::{Campaign, read_if_there};
use super::stored::Stored;
use crate::lines::{Item, Scan};
use crate::names::{FilePath, SessionId};
use crate::repairs::{self, Action, Keeper};
use crate::store::{Store, StoreError};
use crate::tree::Tree;

/// One thing that a repair does.
#[derive(Debug, Clone)]
pub struct Mending {
    /// The file that gets another content, or goes.
    pub file: FilePath,
    /// What is done with it, and from what.
    pub what: String,
    after: Option<Vec<u8>>,
}

/// What a repair would do, or has done.
#[derive(Debug, Clone, Default)]
pub struct Repair {
    /// Everything that is done.
    pub mendings: Vec<Mending>,
    /// Where the files are kept as they were, once it is done.
    pub kept: Option<FilePath>,
}

/// What a repair would do.
pub fn plan_repair(store: &Arc<dyn Store>, id: &SessionId) -> Result<Repair, CampaignError> {
    let campaign = Campaign::open(Arc::clone(store), id)?;
    let mut mendings = Vec::new();
    for file in [CampaignFile::Log, CampaignFile::Deltas] {
        mendings.extend(mend_lines(&campaign, file)?);
    }
    for checkpoint in campaign.checkpoints()? {
        let file = checkpoint.path(&campaign.dir);
        let Some(before) = read_if_there(store, &file)? else { continue };
        if Stored::parse(&file, &before).is_err() {
            let what = "a checkpoint that cannot be read is taken away".to_owned();
            mendings.push(Mending { file, what, after: None });
        }
    }
    if campaign.stored.is_none() {
        let file = campaign.file(CampaignFile::Campaign);
        let (bytes, what) = rebuild::document(&campaign)?;
        mendings.push(Mending { file, what, after: Some(bytes) });
    }
    Ok(Repair { mendings, kept: None })
}

/// Puts a campaign right. What was there before is kept in the trash, and [`undo_repair`] puts it back.
pub fn repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<Repair, CampaignError> {
    let trash = repairs::new_place(store, id, now)?;
    let writer = store.lock(&[campaign_dir(id), trash.clone()])?;
    let mut repair = plan_repair(store, id)?;
    if repair.mendings.is_empty() {
        writer.release()?;
        return Ok(repair);
    }
    let action =
        |Mending { file, what, .. }: &Mending| Action { file: file.clone(), what: what.clone() };
    let actions: Vec<Action> = repair.mendings.iter().map(action).collect();
    let mut keeper = Keeper::new(store, &*writer, &trash, id, &actions, now);
    for Mending { file, after, .. } in &repair.mendings {
        match after {
            Some(bytes) => keeper.write(file, bytes.clone())?,
            None => keeper.discard(file),
        }
    }
    keeper.flush()?;
    writer.release()?;
    repair.kept = Some(trash);
    Ok(repair)
}

/// Takes back the newest repair of a campaign that was not taken back yet: every file is again, byte for byte, what it
/// was. If the campaign was changed since then, nothing is done.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<Repair, CampaignError> {
    let done = repairs::take_back(store, id, &[campaign_dir(id)], now)?;
    let mending = |Action { file, what }| Mending { file, what, after: None };
    Ok(Repair { mendings: done.actions.into_iter().map(mending).collect(), kept: done.kept })
}

/// A log in which every record has its own line, and nothing else stands.
fn mend_lines(campaign: &Campaign, file: CampaignFile) -> Result<Option<Mending>, CampaignError> {
    let path = campaign.file(file);
    let Some(before) = read_if_there(&campaign.store, &path)? else { return Ok(None) };
    let failed = StoreError::io("read", &path);
    let scan = Scan::new(before.as_slice(), path.clone()).largest_text(u64::MAX).forward();
    let end = if before.windows(2).any(|pair| pair == b"\r\n") { "\r\n" } else { "\n" };
    let (mut after, mut findings, mut dropped) = (String::new(), 0_usize, 0_usize);
    for item in scan.map_err(failed)? {
        match item.map_err(StoreError::io("read", &path))? {
            Item::Finding(_) => findings += 1,
            Item::Record(record) => {
                let text = record.text().unwrap_or_default();
                if file == CampaignFile::Deltas && !belongs(campaign, text) {
                    dropped += 1;
                    continue;
                }
                after.push_str(text);
                after.push_str(end);
            }
        }
    }
    if findings == 0 && dropped == 0 {
        return Ok(None);
    }
    let what = match (findings, dropped) {
        (_, 0) => "every record gets its own line, and what is none is taken away".to_owned(),
        _ => format!("{dropped} changes of turns that the log does not have are taken away"),
    };
    let after = Some(after.into_bytes()).filter(|after| !after.is_empty());
    Ok(Some(Mending { file: path, what, after }))
}

/// Whether a change is of a turn that the log has.
fn belongs(campaign: &Campaign, text: &str) -> bool {
    let Ok(tree) = Tree::parse(text) else { return false };
    let place = super::log::Place { line: None, offset: 0, length: 0 };
    Change::parse(tree, place).is_ok_and(|change| change.turn <= campaign.turn)
}
