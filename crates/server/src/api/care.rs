//! Check, repair, and the secrets in a session.

use std::sync::Arc;

use axum::http::Method;
use everturn::check::{CheckStats, FindingSink, check_path, check_store};
use everturn::disk::{Disk, RealDisk};
use everturn::finding::Finding;
use everturn::format::{Operation, RepairMode, SessionError};
use everturn::names::FilePath;
use everturn::repair::RepairReport;
use everturn::scan::SecretRules;
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;
use crate::route::{Answer, Call, NoBody, NoQuery, Route};

/// How many findings or secrets are returned.
const MAX_FINDINGS: usize = 10_000;

/// A problem in the files of a session.
#[derive(Debug, Serialize, JsonSchema)]
struct FindingView {
    /// The file below the root.
    file: String,
    /// The line in it.
    line: Option<u64>,
    /// The offset in it.
    offset: Option<u64>,
    /// The code, as in docs/findings.md.
    code: &'static str,
    /// The description.
    message: String,
    /// `finding` or `warning`.
    severity: &'static str,
    /// What a repair does about it.
    repair: String,
}

impl From<&Finding> for FindingView {
    fn from(finding: &Finding) -> FindingView {
        FindingView {
            file: finding.file.to_string(),
            line: finding.line,
            offset: finding.offset,
            code: finding.code.as_str(),
            message: finding.message.clone(),
            severity: finding.code.severity().as_str(),
            repair: finding.code.remedy().to_string(),
        }
    }
}

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckAnswer {
    /// The number of files that were read.
    files: u64,
    /// The number of valid records.
    records: u64,
    /// The problems.
    findings: Vec<FindingView>,
    /// Whether there are more problems than were returned.
    more: bool,
}

#[derive(Default)]
struct FindingList {
    findings: Vec<Finding>,
    more: bool,
}

impl FindingSink for FindingList {
    fn finding(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more = true;
        }
    }

    fn file(&mut self, _: &FilePath) {}
}

fn check_session(call: &Call<'_>, _: NoQuery) -> Result<Answer<CheckAnswer>, Problem> {
    let found = call.session()?;
    let mut list = FindingList::default();
    let checked = if call.library.is_on_server(found.source) {
        let store = call.library.store(found.source)?;
        check_store(&store, &found.place.path, &mut list)
    } else {
        let dir = call.library.source_dir(found.source)?;
        let disk = RealDisk::open(dir).map_err(|error| Problem::not_found(error.to_string()))?;
        let disk: Arc<dyn Disk> = Arc::new(disk);
        check_path(&disk, &found.place.path, &mut list)
    };
    let checked = checked.map_err(SessionError::from)?;
    let CheckStats { files, records, .. } = checked;
    let findings = list.findings.iter().map(FindingView::from).collect();
    Ok(Answer::ok(CheckAnswer { files, records, findings, more: list.more }))
}

/// A step of a repair.
#[derive(Debug, Serialize, JsonSchema)]
struct RepairStep {
    /// The file below the root.
    file: String,
    /// What is done to it.
    action: String,
}

/// A repair, planned or made.
#[derive(Debug, Serialize, JsonSchema)]
struct RepairAnswer {
    /// The steps, in order.
    steps: Vec<RepairStep>,
    /// The problems before the repair, or those that remain after it.
    findings: Vec<FindingView>,
    /// The directory of the originals, if anything was changed.
    originals: Option<String>,
}

impl From<RepairReport> for RepairAnswer {
    fn from(report: RepairReport) -> RepairAnswer {
        let step = |(file, action): (String, String)| RepairStep { file, action };
        let steps =
            report.actions.iter().map(|action| (action.file.to_string(), action.what.clone()));
        RepairAnswer {
            steps: steps.map(step).collect(),
            findings: report.findings.iter().map(FindingView::from).collect(),
            originals: report.originals.map(|path| path.to_string()),
        }
    }
}

fn plan_repair(call: &Call<'_>, _: NoQuery) -> Result<Answer<RepairAnswer>, Problem> {
    let found = call.session()?;
    let editing = found.format.editing(Operation::Repair)?;
    let store = call.library.store(found.source)?;
    let plan = editing.repair(&store, &found.place, RepairMode::Plan, call.library.now())?;
    Ok(Answer::ok(plan.into()))
}

fn change_repair(call: &Call<'_>, mode: RepairMode) -> Result<Answer<RepairAnswer>, Problem> {
    let found = call.session()?;
    let editing = found.format.editing(Operation::Repair)?;
    let root = call.library.writable_root(found.source)?;
    call.library.release(&found)?;
    let done = editing.repair(root.store(), &found.place, mode, call.library.now())?;
    Ok(Answer::ok(done.into()))
}

fn apply_repair(call: &Call<'_>, _: NoBody) -> Result<Answer<RepairAnswer>, Problem> {
    change_repair(call, RepairMode::Apply)
}

fn undo_repair(call: &Call<'_>, _: NoBody) -> Result<Answer<RepairAnswer>, Problem> {
    change_repair(call, RepairMode::Undo)
}

/// A secret in an entry. The secret itself is not returned.
#[derive(Debug, Serialize, JsonSchema)]
struct SecretView {
    /// The turn.
    turn: u64,
    /// The position of the entry in the session.
    seq: u64,
    /// The family, such as `github-token`.
    family: &'static str,
    /// How certain it is: `possible`, `likely` or `certain`.
    certainty: &'static str,
}

/// The secrets in a session.
#[derive(Debug, Serialize, JsonSchema)]
struct ScanAnswer {
    /// The secrets, in order.
    secrets: Vec<SecretView>,
    /// Whether there are more than were returned.
    more: bool,
}

fn scan_session(call: &Call<'_>, _: NoQuery) -> Result<Answer<ScanAnswer>, Problem> {
    let reader = call.library.reader(&call.session()?, None)?;
    let rules = SecretRules::standard();
    let (mut secrets, mut more) = (Vec::new(), false);
    let mut entries = reader.entries(0..=u64::MAX)?;
    while let Some(entry) = entries.next().transpose()? {
        for hit in rules.find(&entry.raw.to_line()) {
            if secrets.len() == MAX_FINDINGS {
                more = true;
                break;
            }
            secrets.push(SecretView {
                turn: entry.turn,
                seq: entry.seq,
                family: hit.family,
                certainty: hit.certainty.as_str(),
            });
        }
    }
    Ok(Answer::ok(ScanAnswer { secrets, more }))
}

pub(super) fn routes() -> Vec<Route> {
    let repair = "/api/v1/sessions/{session}/repair";
    let undo = "/api/v1/sessions/{session}/repair/undo";
    vec![
        Route::get(
            (
                "/api/v1/sessions/{session}/check",
                "checkSession",
                "Problems in the files of a session.",
            ),
            check_session,
        ),
        Route::get((repair, "planRepair", "What a repair would do."), plan_repair),
        Route::change((Method::POST, repair, "applyRepair", "Repairs a session."), apply_repair),
        Route::change((Method::POST, undo, "undoRepair", "Undoes the last repair."), undo_repair),
        Route::get(
            ("/api/v1/sessions/{session}/scan", "scanSession", "Where a session contains secrets."),
            scan_session,
        ),
    ]
}
