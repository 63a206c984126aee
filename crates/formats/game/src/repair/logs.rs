//! Repairs the logs: one record per line, in the order of the turns, with no turn missing.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{self, NotedChange};
use super::plan::LARGEST_LOG;
use super::turns::{self, RecoveredTurn};
use crate::error::GameError;
use crate::paths::{LogFile, LogKind};
use crate::session::Session;
use crate::survey::SurveyResult;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_session::repair::{RepairAction, intact_records, line_end, one_record_per_line};
use everturn_store::overlay::FileChanges;
use everturn_store::{StoreError, read_optional};

/// The repaired logs.
#[derive(Default)]
pub(super) struct RepairedLogs {
    pub(super) files: FileChanges,
    pub(super) actions: Vec<RepairAction>,
}

/// A record found in a log.
pub(super) struct SurvivingRecord<R> {
    pub(super) record: R,
    pub(super) text: String,
    /// The index of its file.
    pub(super) file: usize,
}

/// A line to be written: its turn, its text, and the index of the file it comes from.
pub(super) struct PlannedLine {
    pub(super) turn: u64,
    pub(super) text: String,
    pub(super) file: Option<usize>,
}

/// Repairs both logs of a session. `kept` is the directory of the originals.
pub(super) fn repair_logs(
    session: &Session,
    facts: &SurveyResult,
    kept: &FilePath,
) -> Result<RepairedLogs, GameError> {
    let mut repaired = RepairedLogs::default();
    if !session.rules().logs_every_change() {
        repaired.split_lines(session, facts)?;
        return Ok(repaired);
    }
    if !facts.wrong_logs && super::plan::lost(facts).is_none() {
        return Ok(repaired);
    }
    let files = session.files()?;
    let (mut size, mut all) = (0, Vec::new());
    all.extend(files.turns.iter().chain(&files.deltas));
    for (_, path) in all {
        size += session.store.stat(path)?.map_or(0, |stat| stat.len);
    }
    if size > LARGEST_LOG {
        return Ok(repaired);
    }
    let turns = read(session, &files.turns, crate::turn::TurnRecord::parse)?;
    let notes = read(session, &files.deltas, crate::changes::ChangeRecord::parse)?;
    let noted: Vec<NotedChange> = changes::assign_change_turns(notes, &|turn| session.turn >= turn);
    let told: BTreeMap<u64, RecoveredTurn> = turns::assign_turn_numbers(session, turns, &noted);
    let told = turns::fill(session, facts, told, &noted, kept);
    let turn_lines = told.iter().map(|(turn, told)| told.line(*turn)).collect();
    let change_lines = changes::repair_changes(session, facts, noted, &told)?;
    repaired.write(session, LogKind::Turns, &files.turns, turn_lines)?;
    repaired.write(session, LogKind::Deltas, &files.deltas, change_lines)?;
    repaired.report_lost_turns(&told);
    Ok(repaired)
}

/// Reads the valid records of a log.
fn read<R>(
    session: &Session,
    files: &[(LogFile, FilePath)],
    parse: fn(&everturn_value::tree::TextSlice) -> Result<R, String>,
) -> Result<Vec<SurvivingRecord<R>>, GameError> {
    let mut found = Vec::new();
    for (file, (_, path)) in files.iter().enumerate() {
        let bytes = session.store.read(path, 0..u64::MAX)?;
        let parsed = |text: &str| parse(&everturn_value::tree::TextSlice::from_text(text)).ok();
        let is_record = |tree: &everturn_value::tree::JsonTree| parsed(&tree.to_line()).is_some();
        for text in intact_records(path, &bytes, is_record)?.texts {
            if let Some(record) = parsed(&text) {
                found.push(SurvivingRecord { record, text, file });
            }
        }
    }
    Ok(found)
}

/// Returns the missing file that had the changes of a turn: it has the range of the file with the turns, as far as no
/// other file of changes covers it.
fn missing_range(
    files: &[(LogFile, FilePath)],
    turns: &[(LogFile, FilePath)],
    turn: u64,
) -> LogFile {
    let ranges = |files: &[(LogFile, FilePath)]| -> Vec<(u64, u64)> {
        files.iter().filter_map(|(file, _)| file.first.zip(file.last)).collect()
    };
    let known = ranges(files);
    let before = known.iter().map(|(_, last)| *last).filter(|last| *last < turn).max();
    let after = known.iter().map(|(first, _)| *first).filter(|first| *first > turn).min();
    let own = ranges(turns).into_iter().find(|(first, last)| (first..=last).contains(&&turn));
    let (first, last) = own.unwrap_or((turn, turn));
    let first = before.map_or(first, |before| first.max(before + 1));
    LogFile::closed(first, after.map_or(last, |after| last.min(after - 1)))
}

/// Returns whether a file covers a turn, judged by its name.
fn covers(file: LogFile, closed: u64, turn: u64) -> bool {
    match (file.first, file.last) {
        (Some(first), Some(last)) => (first..=last).contains(&turn),
        (Some(first), None) => turn >= first,
        (None, _) => turn > closed,
    }
}

impl RepairedLogs {
    /// Rewrites files with one record per line. Turns and changes stay as they are.
    fn split_lines(&mut self, session: &Session, facts: &SurveyResult) -> Result<(), GameError> {
        for path in &facts.bad_logs {
            if session.store.stat(path)?.is_some_and(|stat| stat.len > LARGEST_LOG) {
                continue;
            }
            let Some(bytes) = read_optional(&session.store, path)? else { continue };
            self.files.insert(path.clone(), Some(one_record_per_line(path, &bytes)?));
            let what = "rewritten with one record per line; other lines moved out";
            self.actions.push(RepairAction { file: path.clone(), what: what.to_owned() });
        }
        Ok(())
    }

    /// Distributes lines over the files of a log. Turns that no file covers get a file of their own.
    fn write(
        &mut self,
        session: &Session,
        log: LogKind,
        files: &[(LogFile, FilePath)],
        lines: Vec<PlannedLine>,
    ) -> Result<(), GameError> {
        let closed = files.iter().filter_map(|(file, _)| file.last).max().unwrap_or(0);
        let is_open = files.iter().any(|(file, _)| file.last.is_none());
        let mut contents: BTreeMap<FilePath, Vec<String>> =
            files.iter().map(|(_, path)| (path.clone(), Vec::new())).collect();
        let mut homeless: Vec<PlannedLine> = Vec::new();
        for line in lines {
            let own = line.file.and_then(|file| files.get(file));
            let own = own.filter(|(file, _)| covers(*file, closed, line.turn));
            let other = || files.iter().find(|(file, _)| covers(*file, closed, line.turn));
            let stays = || line.file.and_then(|file| files.get(file));
            match own.or_else(other).or_else(stays) {
                Some((_, path)) => contents.entry(path.clone()).or_default().push(line.text),
                None => homeless.push(line),
            }
        }
        let turns_files = &session.files()?.turns;
        let turns: BTreeSet<u64> = homeless.iter().map(|line| line.turn).collect();
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for turn in turns {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == turn => *last = turn,
                _ => runs.push((turn, turn)),
            }
        }
        for line in homeless {
            let run = runs.iter().find(|(first, last)| (first..=last).contains(&&line.turn));
            let (first, last) = run.copied().unwrap_or((line.turn, line.turn));
            let file = match log {
                LogKind::Turns if is_open || last <= closed => LogFile::closed(first, last),
                LogKind::Deltas if line.turn <= closed => {
                    missing_range(files, turns_files, line.turn)
                }
                _ => LogFile::current(log, first),
            };
            contents.entry(file.path(log, &session.dir)).or_default().push(line.text);
        }
        for (path, lines) in contents {
            let before = read_optional(&session.store, &path)?.unwrap_or_default();
            let end = line_end(&before);
            let after: String = lines.iter().flat_map(|line| [line.as_str(), end]).collect();
            // Anything harmless between records is no reason to rewrite a file.
            if one_record_per_line(&path, &before)? == after.as_bytes()
                && is_well_formed(&path, &before)?
            {
                continue;
            }
            let what = "rewritten with one record per line, sorted by turn; duplicates and other bytes moved out";
            self.actions.push(RepairAction { file: path.clone(), what: what.to_owned() });
            let after = Some(after.into_bytes()).filter(|after| !after.is_empty());
            self.files.insert(path, after);
        }
        Ok(())
    }

    /// Reports the lost turns.
    fn report_lost_turns(&mut self, told: &BTreeMap<u64, RecoveredTurn>) {
        let Some(first) = self.actions.first().map(|action| action.file.clone()) else { return };
        let lost: Vec<u64> =
            told.iter().filter(|(_, told)| told.is_new_filler()).map(|(turn, _)| *turn).collect();
        let which = match lost.as_slice() {
            [] => return,
            [turn] => format!("added a placeholder for the lost turn {turn}"),
            [first, .., last] => {
                format!("added placeholders for {} lost turns, from {first} to {last}", lost.len())
            }
        };
        self.actions.push(RepairAction { file: first, what: which });
    }
}

/// Returns whether every line of a log is one record.
fn is_well_formed(path: &FilePath, bytes: &[u8]) -> Result<bool, StoreError> {
    let scan = JsonlScan::new(bytes, path.clone()).largest_text(0).forward();
    for item in scan.map_err(StoreError::io("read", path))? {
        if let ScanItem::Finding(_) = item.map_err(StoreError::io("read", path))? {
            return Ok(false);
        }
    }
    Ok(true)
}
