//! Logs in which every line is one record again, in the order of the turns, and none is missing.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{self, Noted};
use super::plan::LARGEST_LOG;
use super::turns::{self, Told};
use crate::error::GameError;
use crate::form::Form;
use crate::names::{Log, LogFile};
use crate::session::Session;
use crate::survey::Facts;
use everturn_json::lines::{Item, Scan};
use everturn_json::names::FilePath;
use everturn_session::repairs::{Action, line_end, own_lines, salvage};
use everturn_store::overlay::Changes;
use everturn_store::{StoreError, read_if_there};

/// What becomes of the logs.
#[derive(Default)]
pub(super) struct Mended {
    pub(super) files: Changes,
    pub(super) actions: Vec<Action>,
}

/// A record as it stands in a log.
pub(super) struct Found<R> {
    pub(super) record: R,
    pub(super) text: String,
    /// Which of the files has it.
    pub(super) file: usize,
}

/// A line that is to be written: its turn, its text, and the file it comes from.
pub(super) struct Line {
    pub(super) turn: u64,
    pub(super) text: String,
    pub(super) file: Option<usize>,
}

/// Mends both logs of a session. `kept` is where the damaged files are kept.
pub(super) fn mend(session: &Session, facts: &Facts, kept: &FilePath) -> Result<Mended, GameError> {
    let mut mended = Mended::default();
    if session.form == Form::Program {
        for path in &facts.bad_logs {
            if session.store.stat(path)?.is_some_and(|stat| stat.len > LARGEST_LOG) {
                continue;
            }
            let Some(bytes) = read_if_there(&session.store, path)? else { continue };
            mended.files.insert(path.clone(), Some(own_lines(path, &bytes)?));
            let what =
                "lines that are no records are moved out, and each record gets a line of its own";
            mended.actions.push(Action { file: path.clone(), what: what.to_owned() });
        }
        return Ok(mended);
    }
    if !facts.wrong_logs && super::plan::lost(facts).is_none() {
        return Ok(mended);
    }
    let files = session.files()?;
    let (mut size, mut all) = (0, Vec::new());
    all.extend(files.turns.iter().chain(&files.deltas));
    for (_, path) in all {
        size += session.store.stat(path)?.map_or(0, |stat| stat.len);
    }
    if size > LARGEST_LOG {
        return Ok(mended);
    }
    let turns = read(session, &files.turns, crate::turn::TurnRecord::parse)?;
    let notes = read(session, &files.deltas, crate::changes::Change::parse)?;
    let noted: Vec<Noted> = changes::settle(notes, &|turn| session.turn >= turn);
    let told: BTreeMap<u64, Told> = turns::settle(session, turns, &noted);
    let told = turns::fill(session, facts, told, &noted, kept);
    let turn_lines = told.iter().map(|(turn, told)| told.line(*turn)).collect();
    let change_lines = changes::follow(session, facts, noted, &told)?;
    mended.write(session, Log::Turns, &files.turns, turn_lines)?;
    mended.write(session, Log::Deltas, &files.deltas, change_lines)?;
    mended.tell(&told);
    Ok(mended)
}

/// The records of a log that are what they should be.
fn read<R>(
    session: &Session,
    files: &[(LogFile, FilePath)],
    parse: fn(&everturn_value::tree::Slice) -> Result<R, String>,
) -> Result<Vec<Found<R>>, GameError> {
    let mut found = Vec::new();
    for (file, (_, path)) in files.iter().enumerate() {
        let bytes = session.store.read(path, 0..u64::MAX)?;
        let parsed = |text: &str| parse(&everturn_value::tree::Slice::whole(text)).ok();
        let is_record = |tree: &everturn_value::tree::Tree| parsed(&tree.to_line()).is_some();
        for text in salvage(path, &bytes, is_record)?.texts {
            if let Some(record) = parsed(&text) {
                found.push(Found { record, text, file });
            }
        }
    }
    Ok(found)
}

/// Whether a file is about a turn, going by its name.
fn covers(file: LogFile, closed: u64, turn: u64) -> bool {
    match (file.first, file.last) {
        (Some(first), Some(last)) => (first..=last).contains(&turn),
        (Some(first), None) => turn >= first,
        (None, _) => turn > closed,
    }
}

impl Mended {
    /// Divides lines among the files of a log. Turns that no file is about get one of their own.
    fn write(
        &mut self,
        session: &Session,
        log: Log,
        files: &[(LogFile, FilePath)],
        lines: Vec<Line>,
    ) -> Result<(), GameError> {
        let closed = files.iter().filter_map(|(file, _)| file.last).max().unwrap_or(0);
        let is_open = files.iter().any(|(file, _)| file.last.is_none());
        let mut contents: BTreeMap<FilePath, Vec<String>> =
            files.iter().map(|(_, path)| (path.clone(), Vec::new())).collect();
        let mut homeless: Vec<Line> = Vec::new();
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
                Log::Turns if is_open || last <= closed => LogFile::closed(first, last),
                _ => LogFile::current(log, first),
            };
            contents.entry(file.path(log, &session.dir)).or_default().push(line.text);
        }
        for (path, lines) in contents {
            let before = read_if_there(&session.store, &path)?.unwrap_or_default();
            let end = line_end(&before);
            let after: String = lines.iter().flat_map(|line| [line.as_str(), end]).collect();
            // What stands between records and is none of them is no reason to write a file anew.
            if own_lines(&path, &before)? == after.as_bytes() && is_tidy(&path, &before)? {
                continue;
            }
            let what = "what is no record, or is there twice, is moved out, and each record gets a line of its own, in the order of the turns";
            self.actions.push(Action { file: path.clone(), what: what.to_owned() });
            let after = Some(after.into_bytes()).filter(|after| !after.is_empty());
            self.files.insert(path, after);
        }
        Ok(())
    }

    /// Says which turns are lost.
    fn tell(&mut self, told: &BTreeMap<u64, Told>) {
        let Some(first) = self.actions.first().map(|action| action.file.clone()) else { return };
        let lost: Vec<u64> =
            told.iter().filter(|(_, told)| told.is_new_filler()).map(|(turn, _)| *turn).collect();
        let which = match lost.as_slice() {
            [] => return,
            [turn] => format!("turn {turn}, which is lost, gets a line that says so"),
            [first, .., last] => {
                format!(
                    "{} turns that are lost, from {first} to {last}, get lines that say so",
                    lost.len()
                )
            }
        };
        self.actions.push(Action { file: first, what: which });
    }
}

/// Whether every line of a log is one record.
fn is_tidy(path: &FilePath, bytes: &[u8]) -> Result<bool, StoreError> {
    let scan = Scan::new(bytes, path.clone()).largest_text(0).forward();
    for item in scan.map_err(StoreError::io("read", path))? {
        if let Item::Finding(_) = item.map_err(StoreError::io("read", path))? {
            return Ok(false);
        }
    }
    Ok(true)
}
