//! Putting a damaged campaign right: a plan first, then one commit that also keeps what was there before.

mod rebuild;
mod records;
mod story;

use std::sync::Arc;

use jiff::Timestamp;

use super::check::faults;
use super::error::CampaignError;
use super::names::{CampaignFile, campaign_dir};
use super::session::{Campaign, read_if_there};
use super::stored::Stored;
use super::view::View;
use everturn_json::finding::Severity;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::repairs::{self, Action, Keeper};
use everturn_store::{Store, trash_dir};
use everturn_value::document::Style;
use everturn_value::tree::Tree;

use records::Lines;
use story::Story;

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
    plan(store, id, &trash_dir())
}

/// The same, if what was there before is kept in `kept`.
fn plan(store: &Arc<dyn Store>, id: &SessionId, kept: &FilePath) -> Result<Repair, CampaignError> {
    let campaign = Campaign::open(Arc::clone(store), id)?;
    let found = campaign.check()?;
    let mut mendings = Vec::new();
    if found.iter().all(|finding| finding.code.severity() == Severity::Warning) {
        return Ok(Repair { mendings, kept: None });
    }
    mendings.extend(files(&campaign, kept)?);
    for checkpoint in campaign.checkpoints()? {
        let file = checkpoint.path(&campaign.dir);
        let Some(before) = read_if_there(store, &file)? else { continue };
        if Stored::parse(&file, &before).is_err() {
            let what = "a checkpoint that cannot be read is taken away".to_owned();
            mendings.push(Mending { file, what, after: None });
        }
    }
    mendings.sort_by_key(|mending| mending.file == campaign.file(CampaignFile::Campaign));
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
    let mut repair = plan(store, id, &trash)?;
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

/// The logs and the document as they should be, where that is not what they are.
fn files(campaign: &Campaign, kept: &FilePath) -> Result<Vec<Mending>, CampaignError> {
    let log = Lines::read(campaign, CampaignFile::Log)?;
    let notes = Lines::read(campaign, CampaignFile::Deltas)?;
    let changes = records::changes(&notes, &log);
    let rows = records::rows(&log, &changes);
    let (document, what) = document(campaign)?;
    let has_changes = notes.before.is_some();
    let aside = (rows.aside, changes.aside);
    let story = story::tell(rows, changes, document, has_changes, kept)?;
    let mut mendings = Vec::new();
    let mut lines: Vec<String> = story.rows.by_turn.values().map(records::Row::line).collect();
    mendings.extend(written(&log, &lines, told_rows(&story, aside.0)));
    lines.clone_from(&story.lines);
    mendings.extend(written(&notes, &lines, told_changes(aside.1)));
    let file = campaign.file(CampaignFile::Campaign);
    let after = match &campaign.stored {
        Some(stored) if stored.tree.is_same(&story.document) && !repeats(stored, &file) => {
            return Ok(mendings);
        }
        Some(stored) if !repeats(stored, &file) => stored.with(story.document).bytes(),
        _ => story.document.to_text(&Style::PRETTY_ASCII).into_bytes(),
    };
    mendings.push(Mending { file, what, after: Some(after) });
    Ok(mendings)
}

/// The document as it should be, as far as that does not depend on the logs, and what is done to it.
fn document(campaign: &Campaign) -> Result<(Tree, String), CampaignError> {
    let Some(stored) = &campaign.stored else { return rebuild::document(campaign) };
    let is_sound = |tree: &Tree| faults(View::new(tree), &campaign.id).is_empty();
    if !is_sound(&stored.tree) || repeats(stored, &campaign.file(CampaignFile::Campaign)) {
        // What the rows alone tell is less than what is there.
        let known = rebuild::known(campaign)?;
        if let Some(known) = known.filter(|(tree, _)| is_sound(tree)) {
            return Ok(known);
        }
    }
    Ok((stored.tree.clone(), "it says what the last row and the changes say".to_owned()))
}

/// Whether an object of the document has a key twice.
fn repeats(stored: &Stored, file: &FilePath) -> bool {
    !stored.findings(file).is_empty()
}

/// What is done to a log, if anything is.
fn written(log: &Lines, lines: &[String], what: String) -> Option<Mending> {
    let after: String = lines.iter().flat_map(|line| [line.as_str(), log.end]).collect();
    let after = after.into_bytes();
    if after == log.before.as_deref().unwrap_or_default() {
        return None;
    }
    let after = Some(after).filter(|after| !after.is_empty());
    Some(Mending { file: log.file.clone(), what, after })
}

fn told_rows(story: &Story, aside: usize) -> String {
    let mut what = "every row gets its own line, in the order of the turns".to_owned();
    let mut add = |count: usize, text: &str| {
        if count > 0 {
            what.push_str(&format!("; {count} {text}"));
        }
    };
    add(aside, "places with something that is no row, or one that is there twice, are moved out");
    add(story.rows.mended, "damaged rows are put right");
    add(story.corrected, "rows say what the state says");
    add(story.lost, "turns that are lost get rows that say so");
    what
}

fn told_changes(aside: usize) -> String {
    let what = "the changes lead from turn to turn and to the document again";
    match aside {
        0 => what.to_owned(),
        _ => format!("{what}; {aside} places with something else are moved out"),
    }
}
