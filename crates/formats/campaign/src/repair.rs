//! Repairs campaigns: [`plan_repair`] returns a plan, [`repair()`] applies it in one commit that keeps every original.

mod logs;
mod rebuild;
mod records;
mod remains;

use std::sync::Arc;

use jiff::Timestamp;

use super::check::faults;
use super::document::CampaignDocument;
use super::error::CampaignError;
use super::paths::{CampaignFile, campaign_dir};
use super::session::{Campaign, read_optional};
use everturn_json::finding::Severity;
use everturn_json::names::{FilePath, SessionId};
use everturn_rpg::document_view::CampaignView;
use everturn_session::repair::{self, OriginalsBackup, RepairAction};
use everturn_store::{Store, trash_dir};
use everturn_value::document::JsonStyle;
use everturn_value::tree::JsonTree;

use logs::RebuiltLogs;
use records::LogLines;
use remains::DocumentRemains;

/// One action of a repair.
#[derive(Debug, Clone)]
pub struct FileRepair {
    /// The file that is changed or removed.
    pub file: FilePath,
    /// A description of the action.
    pub what: String,
    after: Option<Vec<u8>>,
}

/// A planned or applied repair.
#[derive(Debug, Clone, Default)]
pub struct CampaignRepair {
    /// The actions.
    pub actions: Vec<FileRepair>,
    /// The directory of the original files, once the repair is applied.
    pub kept: Option<FilePath>,
}

/// Plans a repair without changing anything.
pub fn plan_repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
) -> Result<CampaignRepair, CampaignError> {
    plan(store, id, &trash_dir())
}

/// Plans a repair that keeps the originals in `kept`.
fn plan(
    store: &Arc<dyn Store>,
    id: &SessionId,
    kept: &FilePath,
) -> Result<CampaignRepair, CampaignError> {
    let campaign = Campaign::open(Arc::clone(store), id)?;
    let found = campaign.check()?;
    let mut fixes = Vec::new();
    if found.iter().all(|finding| finding.code.severity() == Severity::Warning) {
        return Ok(CampaignRepair { actions: fixes, kept: None });
    }
    fixes.extend(files(&campaign, kept)?);
    for checkpoint in campaign.checkpoints()? {
        let file = checkpoint.path(&campaign.dir);
        let Some(before) = read_optional(store, &file)? else { continue };
        if CampaignDocument::parse(&file, &before).is_err() {
            let what = "an unreadable checkpoint is moved out".to_owned();
            fixes.push(FileRepair { file, what, after: None });
        }
    }
    fixes.sort_by_key(|fix| fix.file == campaign.file(CampaignFile::Campaign));
    Ok(CampaignRepair { actions: fixes, kept: None })
}

/// Repairs a campaign. The originals are kept in the trash, and [`undo_repair`] restores them.
pub fn repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<CampaignRepair, CampaignError> {
    let trash = repair::allocate_originals(store, id, now)?;
    let writer = store.lock(&[campaign_dir(id), trash.clone()])?;
    let mut repair = plan(store, id, &trash)?;
    if repair.actions.is_empty() {
        writer.release()?;
        return Ok(repair);
    }
    let action = |FileRepair { file, what, .. }: &FileRepair| RepairAction {
        file: file.clone(),
        what: what.clone(),
    };
    let actions: Vec<RepairAction> = repair.actions.iter().map(action).collect();
    let mut keeper = OriginalsBackup::new(store, &*writer, &trash, id, &actions, now);
    for FileRepair { file, after, .. } in &repair.actions {
        match after {
            Some(bytes) => keeper.write(file, bytes.clone())?,
            None => keeper.move_away(file),
        }
    }
    keeper.flush()?;
    writer.release()?;
    repair.kept = Some(trash);
    Ok(repair)
}

/// Undoes the newest repair of a campaign that was not undone yet: every file gets its original content back, byte for
/// byte. Fails if the campaign has changed since then.
pub fn undo_repair(
    store: &Arc<dyn Store>,
    id: &SessionId,
    now: Timestamp,
) -> Result<CampaignRepair, CampaignError> {
    let done = repair::revert(store, id, &[campaign_dir(id)], now)?;
    let fix = |RepairAction { file, what }| FileRepair { file, what, after: None };
    Ok(CampaignRepair {
        actions: done.actions.into_iter().map(fix).collect(),
        kept: done.originals,
    })
}

/// Returns the repairs of the logs and the document, where they are necessary.
fn files(campaign: &Campaign, kept: &FilePath) -> Result<Vec<FileRepair>, CampaignError> {
    let log = LogLines::read(campaign, CampaignFile::Log)?;
    let notes = LogLines::read(campaign, CampaignFile::Deltas)?;
    let changes = records::changes(&notes, &log);
    let rows = records::rows(&log, &changes);
    let (document, what) = document(campaign)?;
    let has_changes = notes.before.is_some();
    let aside = (rows.aside, changes.aside);
    let story = logs::rebuild_logs(rows, changes, document, has_changes, kept)?;
    let mut fixes = Vec::new();
    let mut lines: Vec<String> =
        story.rows.by_turn.values().map(records::RecoveredRow::line).collect();
    fixes.extend(log_repair(&log, &lines, describe_rows(&story, aside.0)));
    lines.clone_from(&story.lines);
    fixes.extend(log_repair(&notes, &lines, describe_changes(aside.1)));
    let file = campaign.file(CampaignFile::Campaign);
    let after = match &campaign.stored {
        Some(stored) if stored.tree.is_same(&story.document) && !repeats(stored, &file) => {
            return Ok(fixes);
        }
        Some(stored) if !repeats(stored, &file) => stored.with(story.document).bytes(),
        _ => story.document.to_text(&JsonStyle::PRETTY_ASCII).into_bytes(),
    };
    fixes.push(FileRepair { file, what, after: Some(after) });
    Ok(fixes)
}

/// Returns the correct document, as far as it does not depend on the logs, and a description of the action.
fn document(campaign: &Campaign) -> Result<(JsonTree, String), CampaignError> {
    let remains = DocumentRemains::read(campaign)?;
    let Some(stored) = campaign.stored.as_ref().filter(|_| remains.is_whole()) else {
        return rebuild::document(campaign, &remains);
    };
    let is_sound = |tree: &JsonTree| faults(CampaignView::new(tree), &campaign.id).is_empty();
    if !is_sound(&stored.tree) || repeats(stored, &campaign.file(CampaignFile::Campaign)) {
        // The rows alone contain less than the existing document.
        let known = rebuild::known_document(campaign)?;
        if let Some(known) = known.filter(|(tree, _)| is_sound(tree)) {
            return Ok(known);
        }
    }
    Ok((remains.tree, "rewritten from the last row and the changes".to_owned()))
}

/// Returns whether the document has duplicate keys.
fn repeats(stored: &CampaignDocument, file: &FilePath) -> bool {
    !stored.findings(file).is_empty()
}

/// Returns the repair of a log, if it is necessary.
fn log_repair(log: &LogLines, lines: &[String], what: String) -> Option<FileRepair> {
    let after: String = lines.iter().flat_map(|line| [line.as_str(), log.end]).collect();
    let after = after.into_bytes();
    if after == log.before.as_deref().unwrap_or_default() {
        return None;
    }
    let after = Some(after).filter(|after| !after.is_empty());
    Some(FileRepair { file: log.file.clone(), what, after })
}

fn describe_rows(story: &RebuiltLogs, aside: usize) -> String {
    let mut what = "rewritten with one row per line, sorted by turn".to_owned();
    let mut add = |count: usize, text: &str| {
        if count > 0 {
            what.push_str(&format!("; {count} {text}"));
        }
    };
    add(aside, "ranges with duplicates or other bytes moved out");
    add(story.rows.repaired, "damaged rows fixed");
    add(story.corrected, "rows corrected from the state");
    add(story.lost, "placeholder rows added for lost turns");
    what
}

fn describe_changes(aside: usize) -> String {
    let what = "adjusted so that the changes lead from turn to turn and to the document";
    match aside {
        0 => what.to_owned(),
        _ => format!("{what}; {aside} ranges with other bytes moved out"),
    }
}
