//! What is wrong with a campaign: its files one by one, and where they contradict each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::CampaignError;
use super::log::{Change, ChangeKind, TurnRow};
use super::names::CampaignFile;
use super::session::{Campaign, read_if_there};
use super::stored::Stored;
use super::summary::disagreement;
use super::view::{Fact, View};
use crate::check::Watch;
use crate::finding::{Code, Finding};
use crate::marks;
use crate::names::{FilePath, SessionId};
use crate::store::Store;
use crate::tree::Kind;

/// The parts of the document that nothing works without.
const PARTS: &[(&[&str], Kind)] = &[
    (&["id"], Kind::String),
    (&["selected"], Kind::Object),
    (&["selected", "party_character_ids"], Kind::Array),
    (&["selected", "active_actor_id"], Kind::String),
    (&["settings_snapshot"], Kind::Object),
    (&["settings_revision"], Kind::Number),
    (&["allowlist"], Kind::Array),
    (&["map"], Kind::Object),
    (&["map", "areas"], Kind::Object),
    (&["map", "connections"], Kind::Array),
];

/// The parts of a row that readers show.
const ROW_PARTS: &[(&str, Kind)] = &[
    ("timestamp", Kind::String),
    ("user_input", Kind::String),
    ("dialog_type", Kind::String),
    ("assistant_text", Kind::String),
    ("applied_actions", Kind::Array),
    ("state_summary", Kind::Object),
];

/// What was looked at, and what is wrong with it.
pub(crate) struct Checked {
    pub(crate) files: BTreeSet<FilePath>,
    /// How many good rows and changes there are.
    pub(crate) records: u64,
    pub(crate) findings: Vec<Finding>,
}

/// Checks the campaign in a directory.
pub(crate) fn check_dir(
    store: &Arc<dyn Store>,
    id: &SessionId,
    dir: &FilePath,
    watch: &mut dyn Watch,
) -> Result<Checked, CampaignError> {
    let campaign = Campaign::open_in(Arc::clone(store), id, dir.clone())?;
    let mut files = BTreeSet::new();
    let own = [CampaignFile::Campaign, CampaignFile::Log, CampaignFile::Deltas]
        .map(|file| campaign.file(file));
    let checkpoints = campaign.checkpoints()?.into_iter().map(|one| one.path(dir));
    let marked = [marks::file(dir)];
    for file in own.into_iter().chain(checkpoints).chain(marked) {
        if store.stat(&file)?.is_some() {
            watch.file(&file);
            files.insert(file);
        }
    }
    let findings = campaign.check()?;
    let records = (campaign.rows()?.count() + campaign.changes()?.count()) as u64;
    Ok(Checked { files, records, findings })
}

impl Campaign {
    /// Everything that is wrong with the campaign.
    pub fn check(&self) -> Result<Vec<Finding>, CampaignError> {
        let mut findings = self.findings().to_vec();
        if self.stored.is_some() {
            self.check_document(&mut findings)?;
        }
        let turns = self.check_log(&mut findings)?;
        self.check_changes(&turns, &mut findings)?;
        if self.stored.is_some() {
            self.check_way_back(&mut findings)?;
        }
        self.check_checkpoints(&mut findings)?;
        findings.extend(marks::findings(&self.store, &self.dir, self.turn)?);
        Ok(findings)
    }

    fn check_document(&self, findings: &mut Vec<Finding>) -> Result<(), CampaignError> {
        let file = self.file(CampaignFile::Campaign);
        let view = self.view()?;
        if let Some(stored) = &self.stored {
            findings.extend(stored.findings(&file));
        }
        let mut note = |code: Code, message: String| findings.push(about(&file, code, message));
        for (path, wanted) in PARTS {
            match view.tree.at(path).map(|part| part.kind()) {
                Some(kind) if kind == *wanted => {}
                Some(kind) => {
                    note(Code::BadDocument, format!("{} is {kind}, not {wanted}", path.join(".")));
                }
                None => note(Code::BadDocument, format!("{} is missing", path.join("."))),
            }
        }
        if let Some(id) = view.tree.string_at(&["id"]).filter(|id| id != self.id.as_str()) {
            note(
                Code::WrongPlace,
                format!("it says that it is {id:?}, in the place of {}", self.id),
            );
        }
        for message in dangling(view) {
            note(Code::UnknownReference, message);
        }
        Ok(())
    }

    /// Looks through the log, and tells which turns it has.
    fn check_log(&self, findings: &mut Vec<Finding>) -> Result<BTreeSet<u64>, CampaignError> {
        let mut turns = BTreeSet::new();
        let mut rows = self.rows()?;
        let mut last: Option<u64> = None;
        for row in &mut rows {
            let row = row?;
            let mut note =
                |code: Code, message: String| findings.push(self.at(&row, code, message));
            for (part, wanted) in ROW_PARTS {
                let kind = row.row.at(&[part]).map(|part| part.kind());
                if kind != Some(*wanted) {
                    let found = kind.map_or_else(|| "missing".to_owned(), |kind| kind.to_string());
                    note(Code::BadRecord, format!("{part} is {found}, not {wanted}"));
                }
            }
            let (turn, before) = (row.turn, last.unwrap_or(0));
            if !turns.insert(turn) {
                note(Code::DuplicateTurn, format!("turn {turn} is there already"));
            } else if turn < before {
                note(Code::TurnOrder, format!("turn {turn} comes after turn {before}"));
            } else if turn > before + 1 {
                note(
                    Code::MissingTurns,
                    format!("turns {} to {} are missing", before + 1, turn - 1),
                );
            }
            last = Some(turn);
        }
        findings.append(&mut rows.findings);
        Ok(turns)
    }

    fn check_changes(
        &self,
        turns: &BTreeSet<u64>,
        findings: &mut Vec<Finding>,
    ) -> Result<(), CampaignError> {
        let mut changes = self.changes()?;
        for change in &mut changes {
            let Change { turn, kind, span: (offset, _), .. } = change?;
            if kind.has_row() && !turns.contains(&turn) {
                let (file, code) = (self.file(CampaignFile::Deltas), Code::BadChange);
                let message = format!("a change of turn {turn}, which the log does not have");
                findings.push(Finding { file, line: None, offset: Some(offset), code, message });
            }
        }
        findings.append(&mut changes.findings);
        Ok(())
    }

    /// Goes back from the state as far as the changes lead, and compares what each row says.
    fn check_way_back(&self, findings: &mut Vec<Finding>) -> Result<(), CampaignError> {
        let mut state = self.state()?.clone();
        let mut changes = self.changes_back()?;
        let mut later = u64::MAX;
        for row in self.rows_back()? {
            let row = row?;
            if row.turn >= later {
                // Rows in another order than their turns are reported; what they say follows from nothing.
                return Ok(());
            }
            later = row.turn;
            if let Some(name) = disagreement(View::new(&state), &row.row) {
                let message = format!("what it says about {name} is not what the state says");
                findings.push(self.at(&row, Code::StateDiffers, message));
                return Ok(());
            }
            loop {
                let Some(change) = changes.next().transpose()? else { return Ok(()) };
                if change.kind == ChangeKind::Base
                    || change.kind.has_row() && change.turn != row.turn
                {
                    return Ok(());
                }
                if let Err(error) = change.take_back(&mut state) {
                    findings.push(self.bad_change(&change, &error));
                    return Ok(());
                }
                if change.kind.has_row() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn check_checkpoints(&self, findings: &mut Vec<Finding>) -> Result<(), CampaignError> {
        for checkpoint in self.checkpoints()? {
            let file = checkpoint.path(&self.dir);
            let Some(bytes) = read_if_there(&self.store, &file)? else { continue };
            if let Err(error) = Stored::parse(&file, &bytes) {
                findings.push(about(&file, Code::BadSnapshot, error.to_string()));
            }
        }
        Ok(())
    }

    fn at(&self, row: &TurnRow, code: Code, message: String) -> Finding {
        let file = self.file(CampaignFile::Log);
        Finding { file, line: row.line, offset: Some(row.offset), code, message }
    }
}

fn about(file: &FilePath, code: Code, message: String) -> Finding {
    Finding { file: file.clone(), line: None, offset: None, code, message }
}

/// What the document names and does not have.
fn dangling(view: View<'_>) -> Vec<String> {
    let mut messages = Vec::new();
    let party = view.party();
    if let Some(actor) = view.active_actor().filter(|actor| !party.contains(actor)) {
        messages.push(format!("the active actor {actor:?} is not in the party"));
    }
    for (actor, area) in view.facts(Fact::Position) {
        if let Some(area) = area.as_str().filter(|area| !view.has_area(area)) {
            messages.push(format!("{actor} is in {area:?}, which the map does not have"));
        }
    }
    let mut ends = BTreeSet::new();
    for (from, to) in view.connections() {
        ends.extend([from, to]);
    }
    for (area, _) in view.areas() {
        if view.generation.has_one_way_roads() {
            ends.extend(view.roads(&area));
        }
    }
    for area in ends.iter().filter(|area| !view.has_area(area)) {
        messages.push(format!("a way leads to {area:?}, which the map does not have"));
    }
    messages
}
