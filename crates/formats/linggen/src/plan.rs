//! Plans: Markdown files with a title, a status and checklist items.
//!
//! A [`Plan`] is the text of the file. Marking an item, setting the status and adding items change just that part;
//! everything else stays, byte for byte.

mod parse;
mod slug;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::error::LinggenError;
use super::paths::{file_name, plans_dir};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::disk::FileKind;
use everturn_store::{
    Durability, FileMode, Fingerprint, Precondition, Step, Store, StoreError, read_optional,
};

pub use slug::slug;

/// The status of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanStatus {
    /// Waiting for approval.
    Planned,
    /// Approved.
    Approved,
    /// In progress.
    Executing,
    /// Done.
    Completed,
    /// An unknown status; programs treat it as executing.
    Other(String),
}

impl PlanStatus {
    /// The status with that name; unknown names are kept.
    #[must_use]
    pub fn parse(name: &str) -> PlanStatus {
        match name {
            "planned" => PlanStatus::Planned,
            "approved" => PlanStatus::Approved,
            "executing" => PlanStatus::Executing,
            "completed" => PlanStatus::Completed,
            other => PlanStatus::Other(other.to_owned()),
        }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            PlanStatus::Planned => "planned",
            PlanStatus::Approved => "approved",
            PlanStatus::Executing => "executing",
            PlanStatus::Completed => "completed",
            PlanStatus::Other(other) => other,
        }
    }
}

/// The mark of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemMark {
    /// `[ ]`
    Pending,
    /// `[~]`
    InProgress,
    /// `[x]`
    Done,
    /// `[-]`
    Skipped,
}

impl ItemMark {
    /// All marks.
    pub const ALL: [ItemMark; 4] =
        [ItemMark::Pending, ItemMark::InProgress, ItemMark::Done, ItemMark::Skipped];

    /// The character between the brackets.
    #[must_use]
    pub fn character(self) -> char {
        match self {
            ItemMark::Pending => ' ',
            ItemMark::InProgress => '~',
            ItemMark::Done => 'x',
            ItemMark::Skipped => '-',
        }
    }

    /// The name of the mark.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ItemMark::Pending => "pending",
            ItemMark::InProgress => "in_progress",
            ItemMark::Done => "done",
            ItemMark::Skipped => "skipped",
        }
    }
}

impl fmt::Display for ItemMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An item of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanItem {
    /// Its mark.
    pub mark: ItemMark,
    /// Its title.
    pub title: String,
    /// All lines of its description.
    pub description: String,
    /// The offset of its mark.
    at: usize,
    /// The range of its lines, including its description.
    lines: Range<usize>,
}

/// A plan.
///
/// ```
/// use everturn_linggen::{ItemMark, Plan, PlanStatus};
///
/// let text = "# Plan: Menu\n\n**Status:** approved\n**FileOrigin:** user\n\n- [ ] Look\n  at it\n- [ ] CopyRepair\n";
/// let mut plan = Plan::parse(text);
/// assert_eq!(plan.items()[0].description, "at it");
/// plan.mark(1, ItemMark::Done)?;
/// plan.set_status(&PlanStatus::Executing)?;
/// assert_eq!(plan.text(), text.replace("[ ] Look", "[x] Look").replace("approved", "executing"));
/// # Ok::<(), everturn_linggen::LinggenError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    text: String,
    summary: Option<String>,
    /// The status, and its position.
    status: Option<(PlanStatus, Range<usize>)>,
    origin: Option<String>,
    items: Vec<PlanItem>,
}

impl Plan {
    /// Parses a plan; every text is one.
    #[must_use]
    pub fn parse(text: &str) -> Plan {
        parse::parse(text)
    }

    /// A plan with these items, in the documented form.
    #[must_use]
    pub fn new(summary: &str, origin: &str, items: &[(&str, &str)]) -> Plan {
        let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = format!("# Plan: {summary}\n\n**Status:** planned\n**Origin:** {origin}\n\n");
        let mut plan = Plan::parse(&text);
        for (title, description) in items {
            plan.add(title, description);
        }
        plan
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The title of the plan.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        self.summary.as_deref()
    }

    /// Its status, if it has one.
    #[must_use]
    pub fn status(&self) -> Option<&PlanStatus> {
        self.status.as_ref().map(|(status, _)| status)
    }

    /// Its origin, if it has one.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// Its items.
    #[must_use]
    pub fn items(&self) -> &[PlanItem] {
        &self.items
    }

    /// Marks an item, counted from 1.
    pub fn mark(&mut self, number: usize, mark: ItemMark) -> Result<(), LinggenError> {
        let item = number.checked_sub(1).and_then(|at| self.items.get(at));
        let item = item.ok_or_else(|| {
            let count = self.items.len();
            LinggenError::input(format!("there is no item {number}: the plan has {count}"))
        })?;
        let (at, mut text) = (item.at, self.text.clone());
        text.replace_range(at..at + 1, mark.character().encode_utf8(&mut [0; 4]));
        *self = Plan::parse(&text);
        Ok(())
    }

    /// Sets the status. A missing status is added after the title.
    pub fn set_status(&mut self, status: &PlanStatus) -> Result<(), LinggenError> {
        let word = status.as_str();
        if word.trim() != word || word.is_empty() || word.contains(char::is_control) {
            return Err(LinggenError::input(format!("unknown status {word:?}")));
        }
        let mut text = self.text.clone();
        match &self.status {
            Some((_, span)) => text.replace_range(span.clone(), word),
            None => {
                let end = self.line_end();
                let head =
                    self.text.split_inclusive('\n').next().filter(|_| self.summary.is_some());
                let head = head.map_or(0, str::len);
                let before =
                    if text.get(..head).is_some_and(|head| head.ends_with('\n')) || head == 0 {
                        ""
                    } else {
                        end
                    };
                text.insert_str(head, &format!("{before}{end}**Status:** {word}{end}"));
            }
        }
        *self = Plan::parse(&text);
        Ok(())
    }

    /// Adds an item after the last one.
    pub fn add(&mut self, title: &str, description: &str) {
        let end = self.line_end();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines = format!("- [ ] {title}{end}");
        for line in description.lines() {
            lines.push_str(&format!("  {}{end}", parse::escape(line.trim_end())));
        }
        let mut text = self.text.clone();
        let at = self.items.last().map_or(text.len(), |item| item.lines.end);
        let before = text.get(..at).unwrap_or_default();
        let lines = if before.is_empty() || before.ends_with('\n') {
            lines
        } else {
            format!("{end}{lines}")
        };
        text.insert_str(at, &lines);
        *self = Plan::parse(&text);
    }

    fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }
}

fn file(name: &str) -> Result<FilePath, LinggenError> {
    Ok(plans_dir().join(&file_name(name, "md")?))
}

/// The names of all plans, in listing order: the files do not record when they were written.
pub fn plans(store: &Arc<dyn Store>) -> Result<Vec<String>, LinggenError> {
    let listing = match store.list(&plans_dir()) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let names = listing.entries.iter().filter_map(|entry| entry.name.as_str().strip_suffix(".md"));
    Ok(names.map(str::to_owned).collect())
}

/// Reads the plan with this name, if it exists.
pub fn read_plan(store: &Arc<dyn Store>, name: &str) -> Result<Option<Plan>, LinggenError> {
    let file = file(name)?;
    let Some(bytes) = read_optional(store, &file)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        LinggenError::damaged(&file, format!("not UTF-8: {}", error.utf8_error()))
    })?;
    Ok(Some(Plan::parse(&text)))
}

/// Changes a plan; fails if another process changes it at the same time.
pub fn edit_plan(
    store: &Arc<dyn Store>,
    name: &str,
    change: impl FnOnce(&mut Plan) -> Result<(), LinggenError>,
) -> Result<Plan, LinggenError> {
    let file = file(name)?;
    let writer = store.lock(std::slice::from_ref(&file))?;
    let Some(mut plan) = read_plan(store, name)? else {
        return Err(LinggenError::input(format!("there is no plan {name}")));
    };
    let before = Fingerprint::of(plan.text().as_bytes());
    change(&mut plan)?;
    let bytes = plan.text().as_bytes().to_vec();
    if Fingerprint::of(&bytes) != before {
        let expect = Precondition::Content(before);
        let step = Step::Replace { file, expect, bytes, mode: FileMode::Default };
        writer.commit(vec![step], Durability::Synced)?;
    }
    writer.release()?;
    Ok(plan)
}

/// Stores a new plan under an unused name made from its summary. No other plan is ever overwritten.
pub fn create_plan(store: &Arc<dyn Store>, plan: &Plan) -> Result<String, LinggenError> {
    let stem = slug(plan.summary().unwrap_or_default());
    let stem = if file(&stem).is_ok() { stem } else { "plan".to_owned() };
    let mut number = 1_u32;
    loop {
        let name = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
        let file = file(&name)?;
        let step = super::writer::create(file.clone(), plan.text().as_bytes().to_vec());
        let writer = store.lock(&[file])?;
        match writer.commit(vec![step], Durability::Synced) {
            Err(StoreError::Taken { .. }) => number += 1,
            done => {
                done?;
                writer.release()?;
                return Ok(name);
            }
        }
    }
}

/// Whether a directory is the plans directory of a home.
pub fn is_plans_dir(store: &Arc<dyn Store>, dir: &FilePath) -> Result<bool, LinggenError> {
    let named = dir.name().is_some_and(|name| name.as_str() == "plans");
    let Some(home) = dir.parent().filter(|_| named) else { return Ok(false) };
    Ok(store.stat(&home.join_static("projects"))?.is_some())
}

/// Checks the plans in a directory.
pub fn check_plans(store: &Arc<dyn Store>, dir: &FilePath) -> Result<Vec<Finding>, LinggenError> {
    let mut findings = Vec::new();
    for entry in store.list(dir)?.entries {
        let file = dir.join(&entry.name);
        if entry.kind != FileKind::File || !entry.name.as_str().ends_with(".md") {
            continue;
        }
        let Ok(text) = String::from_utf8(store.read(&file, 0..u64::MAX)?) else {
            findings.push(Finding::new(&file, FindingCode::NotUtf8, "it is not UTF-8"));
            continue;
        };
        let plan = Plan::parse(&text);
        if plan.summary().is_none() && plan.items().is_empty() {
            let message = "it has neither the title nor the items of a plan";
            findings.push(Finding::new(&file, FindingCode::BadDocument, message));
        }
    }
    Ok(findings)
}
