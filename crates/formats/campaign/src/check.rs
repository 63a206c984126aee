//! Checks campaigns: each file on its own, and whether they are consistent.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::document::CampaignDocument;
use super::error::CampaignError;
use super::log::{ChangeKind, ChangeRecord, OWN, TurnRow};
use super::paths::CampaignFile;
use super::session::{Campaign, read_optional};
use super::shape::{WrongKind, missing_parts, wrong_kinds};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_rpg::document_view::{CampaignView, CharacterFact, strings};
use everturn_rpg::summary::disagreement;
use everturn_session::finding_sink::FindingSink;
use everturn_session::marks;
use everturn_store::Store;
use everturn_value::delta::{Delta, DeltaPath, diff};
use everturn_value::tree::{JsonTree, ValueKind};

/// The parts of a row that readers show.
pub(super) const ROW_PARTS: &[(&str, ValueKind)] = &[
    ("timestamp", ValueKind::String),
    ("user_input", ValueKind::String),
    ("dialog_type", ValueKind::String),
    ("assistant_text", ValueKind::String),
    ("applied_actions", ValueKind::Array),
    ("state_summary", ValueKind::Object),
];

/// How many differing paths are listed.
const SHOWN: usize = 5;

/// The result of checking a campaign.
pub struct CampaignCheck {
    pub files: BTreeSet<FilePath>,
    /// The number of good rows and changes.
    pub records: u64,
    pub findings: Vec<Finding>,
}

/// Checks the campaign in a directory.
pub fn check_dir(
    store: &Arc<dyn Store>,
    id: &SessionId,
    dir: &FilePath,
    watch: &mut dyn FindingSink,
) -> Result<CampaignCheck, CampaignError> {
    let campaign = Campaign::open_in(Arc::clone(store), id, dir.clone())?;
    let mut files = BTreeSet::new();
    let own = [CampaignFile::Campaign, CampaignFile::Log, CampaignFile::Deltas]
        .map(|file| campaign.file(file));
    let checkpoints = campaign.checkpoints()?.into_iter().map(|one| one.path(dir));
    let marked = [marks::marks_file(dir)];
    for file in own.into_iter().chain(checkpoints).chain(marked) {
        if store.stat(&file)?.is_some() {
            watch.file(&file);
            files.insert(file);
        }
    }
    let findings = campaign.check()?;
    let records = (campaign.rows()?.count() + campaign.changes()?.count()) as u64;
    Ok(CampaignCheck { files, records, findings })
}

/// A check of a campaign.
pub(crate) struct CampaignInspection<'c> {
    campaign: &'c Campaign,
}

impl<'c> CampaignInspection<'c> {
    pub(crate) fn new(campaign: &'c Campaign) -> CampaignInspection<'c> {
        CampaignInspection { campaign }
    }

    /// Returns all findings of the campaign.
    pub(crate) fn run(&self) -> Result<Vec<Finding>, CampaignError> {
        let campaign = self.campaign;
        let mut findings = campaign.findings().to_vec();
        if campaign.stored.is_some() {
            self.check_document(&mut findings)?;
        }
        let turns = self.check_log(&mut findings)?;
        self.check_changes(&turns, &mut findings)?;
        if self.campaign.stored.is_some() {
            self.check_revert(&mut findings)?;
            self.check_replay(&mut findings)?;
        }
        self.check_checkpoints(&mut findings)?;
        findings.extend(marks::check_marks(
            &self.campaign.store,
            &self.campaign.dir,
            self.campaign.turn,
        )?);
        Ok(findings)
    }

    /// Returns whether the state is the one that the last row and the changes tell.
    pub(crate) fn agrees_with_logs(&self) -> Result<bool, CampaignError> {
        let mut findings = Vec::new();
        self.check_revert(&mut findings)?;
        self.check_replay(&mut findings)?;
        Ok(findings.is_empty())
    }

    fn check_document(&self, findings: &mut Vec<Finding>) -> Result<(), CampaignError> {
        let file = self.campaign.file(CampaignFile::Campaign);
        let view = self.campaign.view()?;
        if let Some(stored) = &self.campaign.stored {
            findings.extend(stored.findings(&file));
        }
        for (code, message) in faults(view, &self.campaign.id) {
            findings.push(Finding::new(&file, code, message));
        }
        let lost = view.tree.value_at(&[OWN, "lost"]).map(|lost| strings(&lost));
        for path in lost.unwrap_or_default() {
            let message =
                format!("the value of {path} was lost; check it, then remove it from {OWN}.lost");
            findings.push(Finding::new(&file, FindingCode::LostValue, message));
        }
        Ok(())
    }

    /// Checks the log, and returns its turns.
    fn check_log(&self, findings: &mut Vec<Finding>) -> Result<BTreeSet<u64>, CampaignError> {
        let mut turns = BTreeSet::new();
        let mut rows = self.campaign.rows()?;
        let mut last: Option<u64> = None;
        for row in &mut rows {
            let row = row?;
            let mut note =
                |code: FindingCode, message: String| findings.push(self.at(&row, code, message));
            for (part, wanted) in ROW_PARTS {
                let kind = row.row.value_at(&[part]).map(|part| part.kind());
                if kind != Some(*wanted) {
                    let found = kind.map_or_else(|| "missing".to_owned(), |kind| kind.to_string());
                    note(FindingCode::BadRecord, format!("{part} is {found}, not {wanted}"));
                }
            }
            for (code, message) in repair_notes(&row) {
                note(code, message);
            }
            let (turn, before) = (row.turn, last.unwrap_or(0));
            if !turns.insert(turn) {
                note(FindingCode::DuplicateTurn, format!("duplicate turn {turn}"));
            } else if turn < before {
                note(FindingCode::TurnOrder, format!("turn {turn} comes after turn {before}"));
            } else if turn > before + 1 {
                note(
                    FindingCode::MissingTurns,
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
        let file = self.campaign.file(CampaignFile::Deltas);
        let mut changes = self.campaign.changes()?;
        let mut before: Option<ChangeRecord> = None;
        for change in &mut changes {
            let change = change?;
            for (code, message) in oddities(&change, before.as_ref(), turns) {
                findings.push(Finding::new(&file, code, message).at_offset(change.span.0));
            }
            before = Some(change);
        }
        findings.append(&mut changes.findings);
        let last = match &before {
            Some(before) => before.turn,
            // Campaigns that only another program has played have no changes.
            None if self.campaign.store.stat(&file)?.is_none() => return Ok(()),
            None => 0,
        };
        if last < self.campaign.turn {
            let message = missing_changes_message(last + 1, self.campaign.turn);
            findings.push(Finding::new(&file, FindingCode::UnexplainedChange, message));
        }
        Ok(())
    }

    /// Replays the changes from the base document, and compares the result with the state.
    fn check_replay(&self, findings: &mut Vec<Finding>) -> Result<(), CampaignError> {
        let mut state: Option<JsonTree> = None;
        let mut last = 0;
        for change in self.campaign.changes()? {
            let change = change?;
            if change.kind == ChangeKind::Base {
                state = change.deltas.first().and_then(|delta| delta.value.clone());
                last = change.turn;
                continue;
            }
            let Some(known) = &mut state else { return Ok(()) };
            if change.turn > last + u64::from(change.kind.has_row()) {
                // Another program has played in between.
                return Ok(());
            }
            last = last.max(change.turn);
            let fits = change.deltas.iter().try_for_each(|delta| delta.apply(known).map(drop));
            if let Err(error) = fits {
                let message = format!("a change cannot be applied to the state before it: {error}");
                findings.push(
                    Finding::new(
                        &self.campaign.file(CampaignFile::Deltas),
                        FindingCode::UnexplainedChange,
                        message,
                    )
                    .at_offset(change.span.0),
                );
                return Ok(());
            }
        }
        if let Some(state) = state.filter(|_| last == self.campaign.turn)
            && let places = differences(&state, self.campaign.state()?)
            && !places.is_empty()
        {
            let shown = places.iter().take(SHOWN).map(|delta| delta.path.to_string());
            let shown = shown.collect::<Vec<_>>().join(", ");
            let message = format!("it differs from the state that the changes produce: {shown}");
            let file = self.campaign.file(CampaignFile::Campaign);
            findings.push(Finding::new(&file, FindingCode::UnexplainedChange, message));
        }
        Ok(())
    }

    /// Reverts the changes as far as possible, starting from the state, and compares each row.
    fn check_revert(&self, findings: &mut Vec<Finding>) -> Result<(), CampaignError> {
        let mut state = self.campaign.state()?.clone();
        let mut changes = self.campaign.changes_back()?;
        let mut later = u64::MAX;
        for row in self.campaign.rows_back()? {
            let row = row?;
            if row.turn >= later {
                // Rows out of order are reported; their contents cannot be compared with a state.
                return Ok(());
            }
            later = row.turn;
            if let Some(name) = disagreement(CampaignView::new(&state), &row.row) {
                let message = format!("its value of {name} differs from the state");
                findings.push(self.at(&row, FindingCode::StateDiffers, message));
                return Ok(());
            }
            loop {
                let Some(change) = changes.next().transpose()? else { return Ok(()) };
                if change.kind == ChangeKind::Base
                    || change.kind.has_row() && change.turn != row.turn
                {
                    return Ok(());
                }
                if let Err(error) = change.revert(&mut state) {
                    findings.push(self.campaign.bad_change(&change, &error));
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
        for checkpoint in self.campaign.checkpoints()? {
            let file = checkpoint.path(&self.campaign.dir);
            let Some(bytes) = read_optional(&self.campaign.store, &file)? else { continue };
            if let Err(error) = CampaignDocument::parse(&file, &bytes) {
                findings.push(Finding::new(&file, FindingCode::BadSnapshot, error.to_string()));
            }
        }
        Ok(())
    }

    fn at(&self, row: &TurnRow, code: FindingCode, message: String) -> Finding {
        Finding::new(&self.campaign.file(CampaignFile::Log), code, message)
            .at_line(row.line)
            .at_offset(row.offset)
    }
}

/// Returns the changes from one document to another. The ID is ignored: the changes of a branch started under another.
pub(super) fn differences(before: &JsonTree, after: &JsonTree) -> Vec<Delta> {
    let mut deltas = diff(before, after);
    let id = DeltaPath::array(["id"]);
    deltas.retain(|delta| delta.path != id);
    deltas
}

/// Returns the problems of a document itself.
pub(super) fn faults(view: CampaignView<'_>, own: &SessionId) -> Vec<(FindingCode, String)> {
    let mut faults = Vec::new();
    let mut note = |code: FindingCode, message: String| faults.push((code, message));
    for WrongKind { path, found, wanted } in wrong_kinds(view.tree) {
        note(FindingCode::BadDocument, format!("{} is {found}, not {wanted}", path.join(".")));
    }
    for path in missing_parts(view.tree) {
        note(FindingCode::BadDocument, format!("{} is missing", path.join(".")));
    }
    if let Some(id) = view.tree.string_at(&["id"]).filter(|id| id != own.as_str()) {
        note(FindingCode::WrongPlace, format!("its id is {id:?}, but its name is {own}"));
    }
    for DanglingReference { message, .. } in dangling(view) {
        note(FindingCode::UnknownReference, message);
    }
    faults
}

/// Returns findings for the notes that a repair has left in a row.
fn repair_notes(row: &TurnRow) -> Vec<(FindingCode, String)> {
    let mut notes = Vec::new();
    let has = |key: &str| row.row.value_at(&[OWN, key]).is_some();
    if has("lost") {
        notes.push((
            FindingCode::LostTurn,
            format!("turn {} is lost; this is its placeholder", row.turn),
        ));
    }
    if has("mended") {
        notes.push((FindingCode::LostTurn, format!("a part of turn {} was lost", row.turn)));
    }
    if has("also") {
        let message = format!("turn {} has another record, which is kept in this one", row.turn);
        notes.push((FindingCode::TwinTurn, message));
    }
    notes
}

/// Returns findings about the number of a change and its position among the others.
fn oddities(
    change: &ChangeRecord,
    before: Option<&ChangeRecord>,
    turns: &BTreeSet<u64>,
) -> Vec<(FindingCode, String)> {
    let ChangeRecord { turn, named, kind, is_lost, .. } = change;
    let mut notes = Vec::new();
    let mut bad = |message: String| notes.push((FindingCode::BadChange, message));
    if kind.has_row() && !turns.contains(turn) {
        bad(format!("a change of turn {turn}, which is missing in the log"));
    }
    if let Some(named) = named.filter(|named| named != turn) {
        bad(format!("a change of turn {turn} names turn {named}"));
    }
    match before {
        None if *kind != ChangeKind::Base => {
            bad("the changes do not start with the whole document".to_owned());
        }
        None => {}
        Some(before) if change.is_same_change(before) => {
            bad(format!("duplicate change of turn {turn}"));
        }
        Some(before) if *turn < before.turn + u64::from(kind.has_row()) => {
            bad(format!("a change of turn {turn} comes after one of turn {}", before.turn));
        }
        Some(before) if *turn > before.turn + u64::from(kind.has_row()) => {
            let last = if kind.has_row() { turn - 1 } else { *turn };
            notes.push((
                FindingCode::UnexplainedChange,
                missing_changes_message(before.turn + 1, last),
            ));
        }
        Some(_) => {}
    }
    if *is_lost {
        notes.push((FindingCode::LostTurn, format!("the changes of turn {turn} were lost")));
    }
    notes
}

/// Returns the message for turns without changes.
fn missing_changes_message(first: u64, last: u64) -> String {
    match first == last {
        true => format!("turn {first} has no recorded changes"),
        false => format!("turns {first} to {last} have no recorded changes"),
    }
}

/// A reference to a missing part of the document.
pub(super) struct DanglingReference {
    pub(super) message: String,
    /// The object or array that lacks the part.
    pub(super) place: &'static [&'static str],
}

/// Returns the references to missing parts of the document.
pub(super) fn dangling(view: CampaignView<'_>) -> Vec<DanglingReference> {
    const AREAS: &[&str] = &["map", "areas"];
    let mut found = Vec::new();
    let mut note = |place, message| found.push(DanglingReference { message, place });
    let party = view.party();
    if let Some(actor) = view.active_actor().filter(|actor| !party.contains(actor)) {
        let message = format!("the active actor {actor:?} is not in the party");
        note(&["selected", "party_character_ids"], message);
    }
    let areas = view.areas();
    let known: BTreeSet<&str> = areas.iter().map(|(id, _)| id.as_str()).collect();
    for (actor, area) in view.facts(CharacterFact::Position) {
        if let Some(area) = area.as_str().filter(|area| !known.contains(area)) {
            note(AREAS, format!("{actor} is in {area:?}, which is not on the map"));
        }
    }
    let mut ends = BTreeSet::new();
    for (from, to) in view.connections() {
        ends.extend([from, to]);
    }
    if view.generation.has_one_way_roads() {
        let roads = areas.iter().filter_map(|(_, area)| area.value_at(&["reachable_area_ids"]));
        ends.extend(roads.flat_map(|roads| strings(&roads)));
    }
    for area in ends.iter().filter(|area| !known.contains(area.as_str())) {
        note(AREAS, format!("a connection leads to {area:?}, which is not on the map"));
    }
    found
}
